"""The whole way over HTTP: what init and render make, the bridge, the front, a repository, and the audit's word."""

import getpass
import http.client
import json
import socket
import unittest

import long_work_test
from bridge_case import BridgeCase
from crash_case import wait_until
from harness import PATIENCE, error_of
from http_case import Answer, LocalConnection, McpHttp, modern, request

GATE = {"name": "run_repo_action", "arguments": {"workdir": "app", "action": "gate"}}


class OverHttp(BridgeCase):
    @classmethod
    def prepare(cls, host):
        reader = host.out / "reader.token"
        reader.write_text("r" * 40 + "\n")
        reader.chmod(0o600)
        host.settings |= {
            "REPOBRIDGE_FRONT_TOKEN_FILES": f"writer={host.out / 'front.token'}",
            "REPOBRIDGE_FRONT_READ_ONLY_TOKEN_FILES": f"reader={reader}",
        }

    def setUp(self):
        super().setUp()
        self.socket = self.host.out / "front" / "mcp.sock"
        options = ("--http", "127.0.0.1:0", "--unix", self.socket, "--metrics", "127.0.0.1:0")
        self.front = McpHttp(self.host.out / "front.json", *options)
        self.addCleanup(self.front.kill)
        self.repo.save(**{"a.txt": "one\n"})
        self.repo.write("a.txt", "two\n")

    def ask(self, connection, tool, token=None, **arguments):
        self.addCleanup(connection.close)
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {(self.host.out / token).read_text().strip()}"
        body = json.dumps(request("tools/call", name=tool, arguments=arguments))
        connection.request("POST", "/mcp", body, headers)
        answer = Answer(connection.getresponse())
        self.assertEqual(answer.status, 200, answer.body)
        self.assertNotIn(self.host.host_words, answer.body)
        return answer.json()["result"]

    def network(self):
        return http.client.HTTPConnection(*self.front.http, timeout=PATIENCE)

    def begun(self):
        """The audit's line about the latest call that began."""
        return [line for line in self.host.audit() if line.get("event") == "begin" or "caller" in line][-1]

    def test_a_token_commits_under_its_name(self):
        commit = {"workdir": "app", "paths": ["a.txt"], "message": "over HTTP"}

        result = self.ask(self.network(), "commit_repo_changes", "front.token", **commit)

        self.assertEqual(result["structuredContent"]["identity"], {"login": "writer", "mode": "token", "sudo": None})
        self.assertEqual(result["structuredContent"]["data"]["commit"], self.repo.head())
        self.assertEqual(self.begun()["caller"], {"login": "writer", "mode": "token"})

    def test_a_reading_token_looks_and_does_not_commit(self):
        status = self.ask(self.network(), "inspect_repo", "reader.token", workdir="app", view="status")
        self.assertFalse(status["structuredContent"]["data"]["clean"])
        before = self.repo.head()
        commit = {"workdir": "app", "paths": ["a.txt"], "message": "over HTTP"}
        refused = self.ask(self.network(), "commit_repo_changes", "reader.token", **commit)
        self.assertEqual(error_of(refused)["code"], "CALLER_READ_ONLY")
        self.assertEqual(self.repo.head(), before)

    def test_the_local_socket_is_for_this_user(self):
        result = self.ask(LocalConnection(self.socket), "inspect_repo", workdir="app", view="status")
        identity = {"login": getpass.getuser(), "mode": "unix"}
        self.assertEqual(result["structuredContent"]["identity"], {**identity, "sudo": None})
        self.assertEqual(self.begun()["caller"], identity)

    def test_readiness_asks_the_bridge_and_leaves_no_trace(self):
        calls, log = len(self.host.audit()), self.host.log()
        connection = http.client.HTTPConnection(*self.front.status, timeout=PATIENCE)
        self.addCleanup(connection.close)
        for _ in range(3):
            connection.request("GET", "/readyz")
            answer = Answer(connection.getresponse())
            self.assertEqual((answer.status, answer.json()["bridge"]), (200, "ok"))
        # A call that comes behind the questions, so that what the bridge says of those is said.
        self.ask(self.network(), "inspect_repo", "front.token", workdir="app", view="status")
        self.assertEqual(self.host.log(), log)
        self.assertLessEqual(len(self.host.audit()), calls + 2)


class CancelledOverHttp(long_work_test.LongWorkCase):
    """Runs that their clients cancel, each kind in its way. The caller is the same over the local socket as over
    stdio, so that view run finds what became of them."""

    settings = {"REPOBRIDGE_CALL_WAIT_SECONDS": "20"}

    def setUp(self):
        super().setUp()
        self.socket = self.host.out / "front" / "mcp.sock"
        front = McpHttp(self.host.out / "front.json", "--unix", self.socket)
        self.addCleanup(front.kill)

    def post(self, message, **headers):
        """A connection on which it was sent."""
        connection = LocalConnection(self.socket)
        self.addCleanup(connection.close)
        headers = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        connection.request("POST", "/mcp", json.dumps(message), headers)
        return connection

    def assert_cancelled(self):
        wait_until("the run has ended", lambda: self.view()["state"] != "running")
        self.assertEqual((self.view()["state"], self.view()["reason"]), ("killed", "cancelled"))

    def test_by_a_legacy_client_under_its_session(self):
        greeting = request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
        session = {"Mcp_Session_Id": self.post(greeting).getresponse().headers["Mcp-Session-Id"]}
        call = self.post(request("tools/call", id=7, **GATE), **session)
        self.wait_until_begun()
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        self.assertEqual(self.post(cancelled, **session).getresponse().status, 202)

        self.assert_cancelled()
        result = Answer(call.getresponse()).json()["result"]
        self.assertEqual(result["structuredContent"]["data"]["reason"], "cancelled")

    def test_by_a_modern_client_that_leaves(self):
        headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "run_repo_action"}
        call = self.post(modern("tools/call", **GATE), **headers)
        self.wait_until_begun()
        call.close()

        self.assert_cancelled()

    def test_not_by_a_client_that_has_said_all_it_will(self):
        headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "run_repo_action"}
        call = self.post(modern("tools/call", **GATE), **headers)
        call.sock.shutdown(socket.SHUT_WR)
        self.wait_until_begun()
        self.gate.open()

        result = Answer(call.getresponse()).json()["result"]
        self.assertEqual(result["structuredContent"]["data"]["exit_code"], 0)


if __name__ == "__main__":
    unittest.main()
