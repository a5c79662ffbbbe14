"""MCP over HTTP: what each request is answered with, status and code, and who may ask."""

import base64
import json
import signal
import socket
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
            ]
        )

    def test_batches(self):
        pings = [request("ping"), request("ping", id=2)]
        greeting = request("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={})
        modern_note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"_meta": modern_meta()}}
        self.check(
            [
                ("empty", [], {}, 400, -32600),
                ("too many", [request("ping", id=n) for n in range(101)], {}, 400, -32600),
                ("with a modern element", [*pings, modern("tools/list")], {}, 400, -32600),
                ("all modern", [modern("tools/list")], modern_headers("tools/list"), 400, -32600),
                ("with a modern notification", [*pings, modern_note], {}, 400, -32600),
                ("with initialize", [*pings, greeting], {}, 400, -32600),
                ("under no revision that is known", pings, {"MCP-Protocol-Version": "1999-01-01"}, 400, -32600),
                ("under a modern revision", pings, {"MCP-Protocol-Version": "2026-07-28"}, 400, -32600),
            ]
        )
        for revision in LEGACY_REVISIONS:
            if revision != "2025-03-26":
                self.check([(revision, pings, {"MCP-Protocol-Version": revision}, 400, -32600)])
        for headers in ({}, {"MCP-Protocol-Version": "2025-03-26"}):
            answer = self.post(self.connect(self.front), pings, headers)
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.json(), [{"jsonrpc": "2.0", "id": n, "result": {}} for n in (1, 2)])

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
                    self.assertRegex(answer.headers["Mcp-Session-Id"], r"^[\x21-\x7e]{64,256}$")
                    self.assertNotEqual(answer.headers["Mcp-Session-Id"], "gone")

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


class Batches(HttpTestCase):
    """What is in a batch that is taken."""

    def setUp(self):
        super().setUp()
        self.bridge = self.run_bridge()
        self.front = self.run_http()

    def test_are_answered_element_by_element_in_their_order(self):
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        response = {"jsonrpc": "2.0", "id": 5, "result": {}}
        batch = [request("ping", id="a"), 7, note, request("made/up", id="b"), [], response,
                 {"jsonrpc": "2.0", "id": "c"}, request("tools/list", id="d")]

        answers = self.post(self.connect(self.front), batch).json()

        self.assertEqual([answer["id"] for answer in answers], ["a", None, "b", None, "c", "d"])
        codes = [answer["error"]["code"] if "error" in answer else None for answer in answers]
        self.assertEqual(codes, [None, -32600, -32601, -32600, -32600, None])

    def test_without_a_request_are_taken_without_a_word(self):
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for batch in ([note], [note] * 100, [{"jsonrpc": "2.0", "id": 1, "result": {}}]):
            answer = self.post(self.connect(self.front), batch)
            self.assertEqual((answer.status, answer.body), (202, b""))

    def test_of_one_are_answered_with_a_list(self):
        self.assertEqual(len(self.post(self.connect(self.front), [request("ping")]).json()), 1)

    def requests(self, count):
        """Those of calls that come at once."""
        heard = (self.bridge.expect_any() for _ in range(2 * count))
        return {call["tool"]: call for call in heard if call["event"] == "request"}

    def test_have_their_calls_carried_out_at_once(self):
        batch = [request("tools/call", id="push", **PUSH), request("ping"), request("tools/call", id="look", **CALL)]
        client = self.start_post(self.front, batch)
        calls = self.requests(2)
        self.bridge.succeed(calls["inspect_repo"], envelope("inspect_repo", {}))
        self.bridge.refuse(calls["push_repo"], {"error": {"code": "REPO_NO_UPSTREAM"}})

        push, ping, look = read_answer(client).json()

        self.assertEqual([push["id"], ping["id"], look["id"]], ["push", 1, "look"])
        self.assertEqual(error_of(push["result"])["code"], "REPO_NO_UPSTREAM")
        self.assertFalse(look["result"]["isError"])

    def test_have_no_more_calls_at_work_than_may_be(self):
        batch = [request("tools/call", id=n, **CALL) for n in range(6)]
        client = self.start_post(self.front, batch)
        first = [event for event in (self.bridge.expect_any() for _ in range(8)) if event["event"] == "request"]
        self.assertEqual(len(first), 4)
        for call in first:
            self.bridge.succeed(call, envelope("inspect_repo", {}))
        then = [event for event in (self.bridge.expect_any() for _ in range(8)) if event["event"] == "request"]
        for call in then:
            self.bridge.succeed(call, envelope("inspect_repo", {}))

        answers = read_answer(client).json()

        self.assertEqual([answer["result"]["isError"] for answer in answers], [False] * 6)

    def test_are_told_which_of_their_calls_had_no_turn(self):
        held = [self.start_post(self.front, request("tools/call", **PUSH)) for _ in range(3)]
        busy = [event for event in (self.bridge.expect_any() for _ in range(6)) if event["event"] == "request"]
        client = self.start_post(self.front, [request("tools/call", id=n, **PUSH) for n in range(2)])
        self.bridge.expect("hello")
        call = self.bridge.expect("request")
        late = self.start_post(self.front, request("tools/call", **PUSH))  # waits behind, and as long
        self.assertEqual(error_of(read_answer(late).json()["result"])["code"], "TOO_MANY_CALLS_AT_ONCE")
        self.bridge.succeed(call, envelope("push_repo", {}))

        one, other = read_answer(client).json()

        self.assertFalse(one["result"]["isError"])
        self.assertEqual(error_of(other["result"])["code"], "TOO_MANY_CALLS_AT_ONCE")
        for call, client in zip(busy, held):
            self.bridge.succeed(call, envelope("push_repo", {}))
            self.assertEqual(read_answer(client).status, 200)

    def test_are_streamed_one_event_an_answer(self):
        batch = [request("tools/call", id="push", _meta={"progressToken": "t"}, **PUSH), request("ping", id="p")]
        client = self.start_post(self.front, batch)
        call = self.bridge.expect_request()
        self.bridge.progress(call, 5000)
        client.recv(1, socket.MSG_PEEK)
        self.bridge.succeed(call, envelope("push_repo", {}))

        note, push, ping = read_answer(client).events()

        self.assertEqual(note["params"]["progressToken"], "t")
        self.assertEqual([push["id"], ping["id"]], ["push", "p"])
        alone = self.post(self.connect(self.front), [request("ping"), request("ping", id=2)],
                          {"Accept": "text/event-stream"})
        self.assertEqual([event["id"] for event in alone.events()], [1, 2])


class Sessions(HttpTestCase):
    """Cancelling calls of legacy clients, whose ids say nothing without the session they came under."""

    def setUp(self):
        super().setUp()
        self.write_policy(tokens=[self.token_entry("tester"), self.token_entry("other")])
        self.other = {"Authorization": f"Bearer {self.new_token('other')}"}
        self.bridge = self.run_bridge()
        self.front = self.run_http()

    def new_session(self, **headers):
        greeting = request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
        answer = self.post(self.connect(self.front), greeting, headers)
        return {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}

    def cancel(self, id, headers, **params):
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, **params}}
        answer = self.post(self.connect(self.front), message, headers)
        self.assertEqual((answer.status, answer.body), (202, b""))

    def start_call(self, id, headers):
        client = self.start_post(self.front, request("tools/call", id=id, **PUSH), headers)
        return client, self.bridge.expect_request()

    def test_cancel_their_calls(self):
        session = self.new_session()
        for id in (0, "0"):
            client, call = self.start_call(id, session)
            self.cancel(id, session, reason="enough")
            self.assertEqual(self.bridge.expect("cancel")["call"], call["call"])
            self.bridge.refuse(call, {"error": {"code": "CALL_CANCELLED"}})
            self.assertEqual(error_of(read_answer(client).json()["result"])["code"], "CALL_CANCELLED")
            self.bridge.expect("closed")

    def test_say_what_was_completed_all_the_same(self):
        session = self.new_session()
        client, call = self.start_call(1, session)
        self.cancel(1, session)
        self.bridge.expect("cancel")
        self.bridge.succeed(call, envelope("push_repo", {"result": "pushed"}))
        self.assertEqual(read_answer(client).json()["result"]["structuredContent"]["data"], {"result": "pushed"})

    def test_cancel_calls_whose_connection_is_gone(self):
        session = self.new_session()
        client, call = self.start_call(1, session)
        client.close()
        self.cancel(1, session)
        self.assertEqual(self.bridge.expect("cancel")["call"], call["call"])

    def test_cancel_in_a_batch_what_came_before_in_it(self):
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        client = self.start_post(self.front, [request("tools/call", **PUSH), cancelled], self.new_session())
        self.assertEqual(error_of(read_answer(client).json()[0]["result"])["code"], "CALL_CANCELLED")
        self.start_call(2, self.new_session())  # the first that the bridge hears of

    def test_cancel_nothing_else(self):
        session = self.new_session()
        client, call = self.start_call(1, session)
        made_up = {"Mcp-Session-Id": session["Mcp-Session-Id"][:-1] + "!"}
        self.cancel(1, {})
        self.cancel(1, self.new_session())
        self.cancel(1, made_up)
        self.cancel(1, {**session, **self.other})
        self.cancel(1, self.new_session(**self.other) | self.other)
        for id in ("1", 2, None):
            self.cancel(id, session)
        self.cancel(1, session, _meta=modern_meta())
        self.bridge.succeed(call, envelope("push_repo", {}))
        self.assertIn("result", read_answer(client).json())
        self.bridge.expect("closed")
        self.cancel(1, session)
        self.assertEqual(self.post(self.connect(self.front), request("ping"), session).status, 200)

    def test_under_another_ones_id_or_a_made_up_one_cannot_be_cancelled(self):
        session = self.new_session()
        for headers in ({**session, **self.other}, {"Mcp-Session-Id": "made-up"}, {"Mcp-Session-Id": ""}):
            client, call = self.start_call(1, headers)
            self.cancel(1, headers)
            self.bridge.succeed(call, envelope("push_repo", {}))
            self.assertIn("result", read_answer(client).json())
            self.bridge.expect("closed")

    def test_end_with_the_front_and_nobody_is_locked_out(self):
        session = self.new_session()
        self.front.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.front.wait(), 0)
        self.front = self.run_http()
        self.assertEqual(self.post(self.connect(self.front), request("tools/list"), session).status, 200)
        client, call = self.start_call(1, session)
        self.cancel(1, session)
        self.bridge.succeed(call, envelope("push_repo", {}))
        self.assertIn("result", read_answer(client).json())
        self.assertNotEqual(self.new_session(**session), session)

    def test_are_given_to_legacy_clients_at_initialize_alone(self):
        connection = self.connect(self.front)
        for message, headers in (
            (request("ping"), {}),
            (modern("server/discover"), modern_headers("server/discover")),
            (request("initialize", protocolVersion=7), {}),
        ):
            self.assertNotIn("Mcp-Session-Id", self.post(connection, message, headers).headers)


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
        client.recv(1, socket.MSG_PEEK)
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
