#!/usr/bin/env python3
"""A small MCP client: one stdio session that looks, runs an action, and gets a commit pushed.

    demo_client.py --workdir demo --action check --file notes.txt [--commit-to FILE] -- repobridge-mcp ...

Each answer is shown briefly, with the time it took. Exit code 0: all steps went well; 1: one did not.
"""

import argparse
import json
import os
import selectors
import subprocess
import sys
import time

PROTOCOL = "2025-11-25"
ANSWER_LIMIT_SECONDS = 60
MOST_BYTES = 8 << 20


class Failed(Exception):
    """The session cannot go on; the text says why."""


class Session:
    """JSON-RPC over a child's stdin and stdout, one message a line."""

    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.child.stdout, selectors.EVENT_READ)
        self.buffer = b""
        self.last_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        try:
            self.child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        self.selector.close()

    def send(self, message):
        try:
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            raise Failed("the front has ended") from None

    def read_line(self, until):
        while b"\n" not in self.buffer:
            if not self.selector.select(max(0.0, until - time.monotonic())):
                raise Failed(f"no answer within {ANSWER_LIMIT_SECONDS} seconds")
            chunk = os.read(self.child.stdout.fileno(), 65536)
            if not chunk:
                raise Failed("the front has ended")
            self.buffer += chunk
            if len(self.buffer) > MOST_BYTES:
                raise Failed("the answer is too large")
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def request(self, method, params):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        until = time.monotonic() + ANSWER_LIMIT_SECONDS
        while True:
            line = self.read_line(until)
            try:
                message = json.loads(line)
            except ValueError:
                raise Failed("the front wrote a line that is not JSON") from None
            if message.get("id") != self.last_id:
                continue  # a notification
            if "error" in message:
                raise Failed(f"{method}: {message['error'].get('message')}")
            return message["result"]

    def start(self):
        result = self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {},
                                             "clientInfo": {"name": "repobridge-demo", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def call(self, tool, **arguments):
        """The answer's data; a refusal is raised with its code."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        answer = json.loads(result["content"][0]["text"])
        if result.get("isError"):
            error = answer["error"]
            raise Failed(f"{error['code']}: {error['message']}")
        return answer["data"]


def shown(value):
    """Text from elsewhere, with control characters visible."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


class Steps:
    """Prints a line for each step as it ends."""

    def __init__(self, out):
        self.out = out

    def __call__(self, name, work, brief):
        print(f"  {name:<10}", end="", file=self.out, flush=True)
        began = time.monotonic()
        answer = work()
        took = (time.monotonic() - began) * 1000
        lines = [shown(line) for line in brief(answer)] or [""]
        print(f"{took:7.0f} ms  {lines[0]}", file=self.out)
        for line in lines[1:]:
            print(f"{'':<24}{line}", file=self.out)
        return answer


def brief_workdirs(data):
    return [f"{one['alias']} ({'read-only' if one['read_only'] else 'read and write'})" for one in data["workdirs"]]


def brief_actions(data):
    return [f"{one['name']}: {one.get('description', one['kind'])} "
            f"({one['pins']['count']} pinned, {one['pins']['state']})" for one in data["actions"]]


def brief_status(data):
    changed = [f"{one['path']} {one['worktree']}" for one in data["entries"]]
    return [f"branch {data['head']['branch']}, {'clean' if data['clean'] else ', '.join(changed)}"]


def brief_run(data):
    return [f"{data['state']}, exit code {data['exit_code']}", *data["stdout"].splitlines()[:5]]


def brief_diff(data):
    lines = []
    for one in data["files"]:
        lines.append(f"{one['path']}: +{one['additions']} -{one['deletions']}")
        patch = one["patch"].splitlines()
        lines += [line for line in patch if line[:1] in "+-" and line[:3] not in ("+++", "---")][:5]
    return lines


def brief_commit(data):
    return [f"{data['commit'][:12]} on {data['branch']}: +{data['insertions']} -{data['deletions']}, "
            f"{', '.join(data['paths'])}"]


def brief_push(data):
    before = data["from"][:12] if data["from"] else "nothing"
    return [f"{data['result']}: {data['ref']} from {before} to {data['to'][:12]}"]


def walk(session, options, out=sys.stdout):
    """The acceptance sequence; returns the id of the commit that was pushed."""
    step = Steps(out)
    workdir = {"workdir": options.workdir}
    step("connect", session.start, lambda result: [f"{result['serverInfo']['name']}, "
                                                   f"MCP {result['protocolVersion']}"])
    step("tools", lambda: session.request("tools/list", {}),
         lambda result: [", ".join(tool["name"] for tool in result["tools"])])
    step("workdirs", lambda: session.call("inspect_repo", view="workdirs"), brief_workdirs)
    step("actions", lambda: session.call("inspect_repo", view="actions", **workdir), brief_actions)
    step("status", lambda: session.call("inspect_repo", view="status", **workdir), brief_status)
    run = step("run", lambda: session.call("run_repo_action", action=options.action, **workdir), brief_run)
    if run["exit_code"] != 0:
        raise Failed("the action did not succeed")
    step("diff", lambda: session.call("inspect_repo", view="diff", paths=[options.file], **workdir), brief_diff)
    message = f"Add to {options.file}"
    commit = step("commit", lambda: session.call("commit_repo_changes", paths=[options.file], message=message,
                                                 **workdir), brief_commit)
    push = step("push", lambda: session.call("push_repo", **workdir), brief_push)
    if push["to"] != commit["commit"]:
        raise Failed("what was pushed is not the commit that was made")
    return commit["commit"]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--action", required=True)
    parser.add_argument("--file", required=True, help="the changed file to commit")
    parser.add_argument("--commit-to", help="a file for the id of the commit")
    parser.add_argument("front", nargs="+", help="the front's command line, after --")
    options = parser.parse_args(arguments)
    try:
        with Session(options.front) as session:
            commit = walk(session, options)
    except Failed as failed:
        print(f"\ndemo_client: {shown(failed)}", file=sys.stderr)
        return 1
    except OSError as fault:
        print(f"demo_client: the front cannot be started or reached: {fault.strerror}", file=sys.stderr)
        return 1
    except (KeyError, TypeError, ValueError, IndexError) as fault:
        print(f"\ndemo_client: an answer of another shape than expected: {fault!r}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.commit_to:
        with open(options.commit_to, "w", encoding="ascii") as file:
            file.write(commit + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
