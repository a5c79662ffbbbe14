"""An MCP server with canned answers, for the tests of the demo's client. argv[1] names its misbehaviour."""

import json
import sys

MISBEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else ""
COMMIT = "1234567890abcdef" * 2 + "12345678"

ANSWERS = {
    "workdirs": {"workdirs": [{"alias": "demo", "description": "", "read_only": False}]},
    "actions": {"actions": [{"name": "check", "kind": "command", "argument": "none", "mutates": False,
                             "timeout_seconds": 40, "pins": {"count": 1, "state": "ok"}}]},
    "status": {"head": {"branch": "main", "oid": COMMIT, "unborn": False}, "clean": False,
               "entries": [{"path": "notes.txt", "index": "unmodified", "worktree": "modified"}]},
    "diff": {"files": [{"path": "notes.txt", "additions": 1, "deletions": 0,
                        "patch": "--- a/notes.txt\n+++ b/notes.txt\n@@ -2 +2,2 @@\n two\n+th\x1b[2Jree\n"}]},
    "run_repo_action": {"state": "finished", "exit_code": 0, "stdout": "all well\n"},
    "commit_repo_changes": {"commit": COMMIT, "branch": "main", "paths": ["notes.txt"], "insertions": 1,
                            "deletions": 0},
    "push_repo": {"result": "pushed", "ref": "refs/heads/main", "from": None, "to": COMMIT},
}


def answer(message):
    method = message["method"]
    if method == "initialize":
        return {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "0"}}
    if method == "tools/list":
        return {"tools": [{"name": "inspect_repo"}]}
    call = message["params"]
    name = call["arguments"].get("view", call["name"])
    if MISBEHAVIOUR == f"refuse {name}":
        error = {"error": {"status": 423, "kind": "busy", "code": "WORKDIR_BUSY", "message": "someone works there"}}
        return {"isError": True, "content": [{"type": "text", "text": json.dumps(error)}]}
    data = dict(ANSWERS[name])
    if MISBEHAVIOUR == "failing action" and name == "run_repo_action":
        data["exit_code"] = 1
    if MISBEHAVIOUR == "other commit" and name == "push_repo":
        data["to"] = "0" * 40
    if MISBEHAVIOUR == "other shape" and name == "push_repo":
        del data["to"]
    return {"content": [{"type": "text", "text": json.dumps({"status": 200, "data": data})}]}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if MISBEHAVIOUR == "end" and message["method"] == "tools/call":
            return
        if MISBEHAVIOUR == "noise" and message["method"] == "tools/call":
            print("hello", flush=True)
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)


main()
