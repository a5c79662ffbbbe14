"""MCP over HTTP: what each request is answered with, status and code, and who may ask."""

import base64
import json
import signal
import unittest

from front_case import envelope
from harness import LEGACY_REVISIONS, error_of, modern_meta
from http_case import Answer, HttpTestCase, LocalConnection, modern, modern_headers, read_answer, request

MIB = 1 << 20
CALL = {"name": "inspect_repo", "arguments": {"workdir": "app", "view": "status"}}
PUSH = {"name": "push_repo", "arguments": {"workdir": "app"}}


def encoded(text):
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


class Ladder(HttpTestCase):
    """One row for each rung of mcp/http_ladder.cc, in its order, and beside it what passes."""

    def setUp(self):
        super().setUp()
        self.front = self.run_http()

    def check(self, rows):
        for name, message, headers, status, code in rows:
            with self.subTest(name):
                answer = self.post(self.connect(self.front), message, headers)
                self.assertEqual((answer.status, answer.code()), (status, code), answer.body)

    def test_the_door(self):
        ping = request("ping")
        self.check(
            [
                ("foreign host", ping, {"Host": "evil.test"}, 403, -32600),
                ("foreign host with our port", ping, {"Host": f"evil.test:{self.front.http[1]}"}, 403, -32600),
                ("a host that only begins like ours", ping, {"Host": "localhost.evil.test"}, 403, -32600),
                ("no host that can be read", ping, {"Host": "local host"}, 403, -32600),
                ("localhost", ping, {"Host": "LOCALHOST:1"}, 200, None),
                ("address of version 6", ping, {"Host": "[::1]:80"}, 200, None),
                ("foreign origin", ping, {"Origin": "https://evil.test"}, 403, -32600),
                ("origin null", ping, {"Origin": "null"}, 403, -32600),
                ("origin with a user", ping, {"Origin": "http://localhost@evil.test"}, 403, -32600),
                ("loopback origin", ping, {"Origin": "http://localhost:6274"}, 200, None),
                ("before it is asked who calls", ping, {"Host": "e.test", "Authorization": None}, 403, -32600),
            ]
        )

    def test_paths(self):
        for path in ("/", "/mcpx", "/mcp/x", "/.well-known/oauth-protected-resource", "/mcp%2f"):
            with self.subTest(path):
                connection = self.connect(self.front)
                connection.request("GET", path)
                answer = Answer(connection.getresponse())
                self.assertEqual((answer.status, answer.code()), (404, -32600))
        for path in ("/mcp", "/mcp/", "/mcp?x=1"):
            with self.subTest(path):
                self.assertEqual(self.post(self.connect(self.front), request("ping"), path=path).status, 200)

    def test_the_head(self):
        ping = request("ping")
        self.check(
            [
                ("no content type", ping, {"Content-Type": None}, 415, -32600),
                ("text", ping, {"Content-Type": "text/plain"}, 415, -32600),
                ("almost json", ping, {"Content-Type": "application/jsonp"}, 415, -32600),
                ("json with a parameter", ping, {"Content-Type": "Application/JSON; charset=utf-8"}, 200, None),
                ("encoded", ping, {"Content-Encoding": "gzip"}, 415, -32600),
                ("accepts nothing of ours", ping, {"Accept": "text/html"}, 406, -32600),
                ("accepts json not", ping, {"Accept": "application/json;q=0"}, 406, -32600),
                ("no accept", ping, {"Accept": None}, 200, None),
                ("accepts anything", ping, {"Accept": "*/*"}, 200, None),
                ("accepts json", ping, {"Accept": "application/json"}, 200, None),
                ("expects more", ping, {"Expect": "a miracle"}, 417, -32600),
                ("announces too much", ping, {"Content-Length": str(2 * MIB)}, 413, -32600),
            ]
        )

    def test_methods(self):
        for method in ("GET", "DELETE", "PUT", "OPTIONS", "PATCH"):
            with self.subTest(method):
                connection = self.connect(self.front)
                connection.request(method, "/mcp", headers=self.headers(Accept="text/event-stream"))
                answer = Answer(connection.getresponse())
                self.assertEqual((answer.status, answer.headers["Allow"], answer.code()), (405, "POST", -32600))

    def test_the_body(self):
        deep = b'{"a":' * 40 + b"1" + b"}" * 40
        self.check(
            [
                ("empty", b"", {}, 400, -32700),
                ("not json", b"{", {}, 400, -32700),
                ("not utf-8", b'"\xff"', {}, 400, -32700),
                ("too deep", deep, {}, 400, -32700),
                ("a key twice", b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}', {}, 400, -32700),
                ("no message", {}, {}, 400, -32600),
                ("id null", {"jsonrpc": "2.0", "id": None, "method": "ping"}, {}, 400, -32600),
                ("a response", {"jsonrpc": "2.0", "id": 1, "result": {}}, {}, 400, -32600),
                ("a batch", [request("ping")], {}, 400, -32600),
                ("a modern batch", [modern("tools/list")], modern_headers("tools/list"), 400, -32600),
            ]
        )

    def test_legacy(self):
        listing = request("tools/list")
        unknown = {"MCP-Protocol-Version": "1999-01-01"}
        self.check(
            [
                ("header alone is modern", listing, modern_headers("tools/list"), 400, -32602),
                ("a made-up revision counts as modern", listing, {"MCP-Protocol-Version": "v999"}, 400, -32602),
                ("unknown legacy revision", listing, unknown, 400, -32600),
                ("no header", listing, {}, 200, None),
                ("header of a later method alone", listing, {"Mcp-Method": "tools/list"}, 200, None),
                ("unknown method", request("made/up"), {}, 200, -32601),
                ("discover", request("server/discover"), {}, 200, -32601),
                ("unknown tool", request("tools/call", name="nope"), {}, 200, -32602),
                ("ping", request("ping"), {}, 200, None),
            ]
        )
        for revision in LEGACY_REVISIONS:
            self.check([(revision, listing, {"MCP-Protocol-Version": revision}, 200, None)])

    def test_initialize(self):
        for asked, answered in [(one, one) for one in LEGACY_REVISIONS] + [
            ("1999-01-01", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
        ]:
            for headers in ({}, {"MCP-Protocol-Version": asked, "Mcp-Session-Id": "gone", "Mcp-Method": "initialize"}):
                with self.subTest(asked=asked, headers=headers):
                    message = request(
                        "initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "t", "version": "1"}
                    )
                    answer = self.post(self.connect(self.front), message, headers)
                    self.assertEqual(answer.status, 200)
                    self.assertEqual(answer.json()["result"]["protocolVersion"], answered)
                    self.assertNotIn("Mcp-Session-Id", answer.headers)

    def test_modern(self):
        listing = modern("tools/list")
        fit = modern_headers("tools/list")
        bare = request("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
        later = request("tools/list", _meta={**modern_meta(), "io.modelcontextprotocol/protocolVersion": "2099-01-01"})
        older = request("tools/list", _meta={**modern_meta(), "io.modelcontextprotocol/protocolVersion": "2025-11-25"})
        call = modern("tools/call", **CALL)
        named = modern_headers("tools/call")
        self.check(
            [
                ("malformed envelope", bare, fit, 400, -32602),
                ("malformed envelope comes first", bare, {"Mcp-Method": "x"}, 400, -32602),
                ("other version in the header", listing, {**fit, "MCP-Protocol-Version": "2025-11-25"}, 400, -32020),
                ("other method in the header", listing, {**fit, "Mcp-Method": "tools/call"}, 400, -32020),
                ("method in other letters", listing, {**fit, "Mcp-Method": "Tools/List"}, 400, -32020),
                ("revision not served", later, {**fit, "MCP-Protocol-Version": "2099-01-01"}, 400, -32022),
                ("a legacy revision in the envelope", older, {"Mcp-Method": "tools/list"}, 400, -32022),
                ("no version in the header", listing, {"Mcp-Method": "tools/list"}, 400, -32020),
                ("no method in the header", listing, {"MCP-Protocol-Version": "2026-07-28"}, 400, -32020),
                ("no name in the header", call, named, 400, -32020),
                ("other name in the header", call, {**named, "Mcp-Name": "push_repo"}, 400, -32020),
                ("name in broken base64", call, {**named, "Mcp-Name": "=?base64?aW5z?cGVj?="}, 400, -32020),
                ("base64 of another name", call, {**named, "Mcp-Name": encoded("push_repo")}, 400, -32020),
                ("name in base64", call, {**named, "Mcp-Name": encoded("inspect_repo")}, 200, None),
                ("blanks around the name", call, {**named, "Mcp-Name": "  inspect_repo\t"}, 200, None),
                ("unknown method", modern("made/up"), modern_headers("made/up"), 404, -32601),
                ("ping", modern("ping"), modern_headers("ping"), 404, -32601),
                ("initialize", modern("initialize"), modern_headers("initialize"), 404, -32601),
                ("logging", modern("logging/setLevel"), modern_headers("logging/setLevel"), 404, -32601),
                ("name of a prompt", modern("prompts/get", name="x"), modern_headers("prompts/get"), 400, -32020),
                ("prompts", modern("prompts/get", name="x"), modern_headers("prompts/get", "x"), 404, -32601),
                ("unknown tool", modern("tools/call", name="nope"), modern_headers("tools/call", "nope"), 200, -32602),
                ("tools", listing, fit, 200, None),
                ("json alone", listing, {**fit, "Accept": "application/json"}, 200, None),
            ]
        )

    def test_modern_refusals_say_what_is_served(self):
        later = request("tools/list", _meta={**modern_meta(), "io.modelcontextprotocol/protocolVersion": "2099-01-01"})

        answer = self.post(self.connect(self.front), later, {"MCP-Protocol-Version": "2099-01-01"})

        self.assertEqual(answer.json()["error"]["data"], {"supported": ["2026-07-28"], "requested": "2099-01-01"})
        self.assertEqual(answer.json()["id"], 1)

    def test_discover(self):
        answer = self.post(self.connect(self.front), modern("server/discover"), modern_headers("server/discover"))

        result = answer.json()["result"]
        self.assertEqual(result["supportedVersions"], ["2026-07-28"])
        self.assertEqual(result["resultType"], "complete")

    def test_notifications_are_taken(self):
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        in_envelope = {**cancelled, "params": {"requestId": 1, "_meta": modern_meta()}}
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for message, headers in (
            (initialized, {}),
            (initialized, {"MCP-Protocol-Version": "2025-06-18"}),
            (cancelled, {}),
            (in_envelope, {}),
            (in_envelope, modern_headers("notifications/cancelled")),
        ):
            answer = self.post(self.connect(self.front), message, headers)
            self.assertEqual((answer.status, answer.body), (202, b""))


class Callers(HttpTestCase):
    def ask(self, front, authorization):
        return self.post(self.connect(front), request("ping"), {"Authorization": authorization})

    def test_need_a_token(self):
        front = self.run_http()
        for authorization in (None, "", "Bearer", "Bearer ", "Basic " + self.token, self.token, "Bearer nope",
                              f"Bearer {self.token}x", f"Bearer {self.token[:-1]}", f"Bearer {self.token} x"):
            with self.subTest(authorization):
                answer = self.ask(front, authorization)
                self.assertEqual(answer.status, 401)
                self.assertEqual(answer.json()["error"], "invalid_token")
                self.assertTrue(answer.headers["WWW-Authenticate"].startswith("Bearer "))
        for authorization in (f"Bearer {self.token}", f"bearer {self.token}", f"BEARER   {self.token}"):
            self.assertEqual(self.ask(front, authorization).status, 200)

    def test_are_asked_before_anything_is_read(self):
        connection = self.connect(self.run_http())
        for method in ("GET", "DELETE", "POST"):
            connection.request(method, "/mcp", b"{")
            self.assertEqual(Answer(connection.getresponse()).status, 401)
            connection.close()

    def test_are_told_apart_by_their_tokens(self):
        other = self.new_token("other.one")
        self.write_policy(tokens=[self.token_entry("tester"), self.token_entry("other.one")])
        bridge = self.run_bridge()
        front = self.run_http()
        for token, login in ((self.token, "tester"), (other, "other.one")):
            headers = {"Authorization": f"Bearer {token}"}
            client = self.start_post(front, request("tools/call", **CALL), headers)
            call = bridge.expect_request()
            self.assertEqual(call["caller"], {"login": login, "mode": "token"})
            bridge.succeed(call, envelope("inspect_repo", {}))
            self.assertEqual(read_answer(client).status, 200)
            bridge.expect("closed")

    def test_with_a_reading_token_may_look_and_not_write(self):
        self.write_policy(tokens=[self.token_entry("tester", read_only=True)])
        bridge = self.run_bridge()
        front = self.run_http()
        connection = self.connect(front)
        writers = (
            PUSH,
            {"name": "run_repo_action", "arguments": {"workdir": "app", "action": "check"}},
            {"name": "commit_repo_changes", "arguments": {"workdir": "app", "paths": ["a"], "message": "m"}},
        )
        for call in writers:
            answer = self.post(connection, request("tools/call", **call))
            self.assertEqual(error_of(answer.json()["result"])["code"], "CALLER_READ_ONLY")
        client = self.start_post(front, request("tools/call", **CALL))
        bridge.succeed(bridge.expect_request(), envelope("inspect_repo", {}))
        self.assertFalse(read_answer(client).json()["result"]["isError"])

    def test_keep_or_lose_access_with_the_file(self):
        front = self.run_http()
        path = self.place.path / "tester.token"
        old = self.token

        self.token = self.new_token("tester")
        self.assertEqual(self.ask(front, f"Bearer {old}").status, 401)
        self.assertEqual(self.ask(front, f"Bearer {self.token}").status, 200)

        path.chmod(0o644)
        answer = self.ask(front, f"Bearer {self.token}")
        self.assertEqual((answer.status, answer.json()["error"]), (503, "temporarily_unavailable"))
        self.assertIn("TOKEN_FILE_UNUSABLE", front.stderr())

    def test_may_be_anybody_only_when_that_is_said(self):
        self.write_policy(tokens=[], allow_unauthenticated=True)
        bridge = self.run_bridge()
        front = self.run_http()
        self.start_post(front, request("tools/call", **CALL), {"Authorization": ""})
        self.assertEqual(bridge.expect_request()["caller"], {"login": "anonymous", "mode": "open"})
        self.assertIn("REPOBRIDGE_FRONT_ALLOW_UNAUTHENTICATED", front.stderr())

    def test_of_the_local_socket_are_this_user(self):
        path = self.place.path / "front" / "mcp.sock"
        self.write_policy(tokens=[])
        bridge = self.run_bridge()
        self.run_http("--unix", path)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        connection = LocalConnection(path)
        self.addCleanup(connection.close)

        headers = {"Content-Type": "application/json", "Host": "whatever.tunnel.example"}
        connection.request("POST", "/mcp", json.dumps(request("tools/call", **CALL)), headers)
        call = bridge.expect_request()
        bridge.succeed(call, envelope("inspect_repo", {}))

        self.assertEqual(Answer(connection.getresponse()).status, 200)
        self.assertEqual(call["caller"]["mode"], "unix")

    def test_secrets_are_not_logged(self):
        front = self.run_http()
        self.ask(front, "Bearer some-secret-that-is-wrong")
        self.post(self.connect(front), request("tools/call", **CALL))  # no bridge, which is logged
        self.assertIn("BRIDGE_UNAVAILABLE", front.stderr())
        self.assertNotIn("some-secret", front.stderr())
        self.assertNotIn(self.token, front.stderr())


class Calls(HttpTestCase):
    def setUp(self):
        super().setUp()
        self.bridge = self.run_bridge()
        self.front = self.run_http()

    def test_are_answered_with_json(self):
        client = self.start_post(self.front, modern("tools/call", **CALL), modern_headers("tools/call", CALL["name"]))
        self.bridge.succeed(self.bridge.expect_request(), envelope("inspect_repo", {"clean": True}))

        answer = read_answer(client)

        result = answer.json()["result"]
        self.assertEqual(result["structuredContent"]["data"], {"clean": True})
        self.assertEqual(result["resultType"], "complete")

    def test_answer_a_refusal_with_status_200(self):
        client = self.start_post(self.front, request("tools/call", **PUSH))
        self.bridge.refuse(self.bridge.expect_request(), {"error": {"code": "REPO_NO_UPSTREAM"}})

        answer = read_answer(client)

        self.assertEqual((answer.status, error_of(answer.json()["result"])["code"]), (200, "REPO_NO_UPSTREAM"))

    def test_stream_progress_to_who_asked_for_it(self):
        message = request("tools/call", **PUSH, _meta={"progressToken": "t"})
        client = self.start_post(self.front, message)
        call = self.bridge.expect_request()
        self.bridge.progress(call, 5000)
        self.bridge.progress(call, 10000)
        # The stream has begun when its head is there; the end must not overtake what comes before it.
        client.recv(1, 2)  # MSG_PEEK
        self.bridge.succeed(call, envelope("push_repo", {}))

        answer = read_answer(client)

        events = answer.events()
        self.assertEqual([event["params"]["progress"] for event in events[:-1]], [5.0, 10.0])
        self.assertEqual(events[0]["method"], "notifications/progress")
        self.assertEqual(events[0]["params"]["progressToken"], "t")
        self.assertEqual(events[-1]["id"], 1)
        self.assertNotIn("\nid:", answer.body.decode())
        self.assertIn("no-transform", answer.headers["Cache-Control"])

    def test_do_not_stream_to_who_takes_json_alone(self):
        message = request("tools/call", **PUSH, _meta={"progressToken": 7})
        client = self.start_post(self.front, message, {"Accept": "application/json"})
        call = self.bridge.expect_request()
        self.bridge.progress(call, 5000)
        self.bridge.succeed(call, envelope("push_repo", {}))

        self.assertIn("result", read_answer(client).json())

    def test_stream_to_who_takes_nothing_else(self):
        connection = self.connect(self.front)
        answer = self.post(connection, request("ping"), {"Accept": "text/event-stream"})
        self.assertEqual(answer.events(), [{"jsonrpc": "2.0", "id": 1, "result": {}}])
        # The connection is as good as before.
        self.assertEqual(self.post(connection, request("ping")).status, 200)

    def test_of_a_modern_client_that_leaves_are_cancelled(self):
        for meta in ({}, {"progressToken": 1}):
            message = request("tools/call", **PUSH, _meta=modern_meta(**meta))
            client = self.start_post(self.front, message, modern_headers("tools/call", "push_repo"))
            call = self.bridge.expect_request()
            client.close()
            self.bridge.expect("cancel")
            self.bridge.succeed(call, envelope("push_repo", {}))
            self.bridge.expect("closed")

    def test_of_a_legacy_client_that_leaves_go_on(self):
        client = self.start_post(self.front, request("tools/call", **PUSH))
        call = self.bridge.expect_request()
        client.close()
        # A question that comes behind it: what the front made of the end it has made before it answers.
        self.assertEqual(self.post(self.connect(self.front), request("ping")).status, 200)
        self.bridge.succeed(call, envelope("push_repo", {}))
        self.bridge.expect("closed")

    def test_are_not_cancelled_by_who_only_knows_their_number(self):
        client = self.start_post(self.front, request("tools/call", id=5, **PUSH))
        call = self.bridge.expect_request()
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        self.assertEqual(self.post(self.connect(self.front), cancelled).status, 202)
        self.bridge.succeed(call, envelope("push_repo", {}))
        self.assertEqual(read_answer(client).json()["id"], 5)

    def test_at_once_are_as_many_as_may_be(self):
        clients = [self.start_post(self.front, request("tools/call", id=n, **CALL)) for n in range(4)]
        calls = [event for event in (self.bridge.expect_any() for _ in range(8)) if event["event"] == "request"]
        answer = self.post(self.connect(self.front), request("tools/call", id="more", **CALL))
        error = error_of(answer.json()["result"])
        self.assertEqual((error["code"], error["details"]), ("TOO_MANY_CALLS_AT_ONCE", {"limit": 4}))

        self.bridge.succeed(calls[0], envelope("inspect_repo", {}))
        self.bridge.expect("closed")
        client = self.start_post(self.front, request("tools/call", id="again", **CALL))
        self.bridge.succeed(self.bridge.expect_request(), envelope("inspect_repo", {}))
        self.assertFalse(read_answer(client).json()["result"]["isError"])
        self.assertEqual(len(clients), 4)

    def test_beyond_those_wait_for_their_turn(self):
        for n in range(4):
            self.start_post(self.front, request("tools/call", id=n, **CALL))
        calls = [event for event in (self.bridge.expect_any() for _ in range(8)) if event["event"] == "request"]
        client = self.start_post(self.front, request("tools/call", id="more", **CALL))
        # A question that comes behind it: where the call is to go it has gone before that is answered.
        self.assertEqual(self.post(self.connect(self.front), request("ping")).status, 200)

        self.bridge.succeed(calls[0], envelope("inspect_repo", {}))
        self.bridge.expect("closed")
        self.bridge.succeed(self.bridge.expect_request(), envelope("inspect_repo", {}))
        self.assertFalse(read_answer(client).json()["result"]["isError"])

    def test_need_no_initialize_and_survive_a_restart(self):
        self.front.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.front.wait(), 0)
        again = self.run_http()
        headers = {"Mcp-Session-Id": "from-before", "MCP-Protocol-Version": "2025-06-18"}
        self.assertEqual(self.post(self.connect(again), request("tools/list"), headers).status, 200)


class Keepalive(HttpTestCase):
    limits = {"keepalive_seconds": 1}

    def test_comes_while_nothing_else_does(self):
        bridge = self.run_bridge()
        client = self.start_post(self.run_http(), request("tools/call", **PUSH, _meta={"progressToken": "t"}))
        call = bridge.expect_request()
        stream = client.makefile("rb")
        while (line := stream.readline()) != b": keepalive\n":
            self.assertTrue(line)
        bridge.succeed(call, envelope("push_repo", {}))
        while (line := stream.readline()) != b"0\r\n":
            self.assertTrue(line)


if __name__ == "__main__":
    unittest.main()
