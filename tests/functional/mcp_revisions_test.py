"""Both eras of the protocol on one pipe, decided message by message."""

import unittest

from front_case import FrontTestCase, envelope
from harness import LEGACY_REVISIONS, MODERN_REVISION, modern_meta

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
TOOLS = ["inspect_repo", "run_repo_action", "commit_repo_changes", "push_repo"]


class Legacy(FrontTestCase):
    def test_initialize_echoes_a_served_revision(self):
        for revision in LEGACY_REVISIONS:
            with self.subTest(revision=revision):
                result = self.run_front().initialize(revision)
                self.assertEqual(result["protocolVersion"], revision)
                self.assertEqual(result["capabilities"], {"tools": {}})
                self.assertEqual(result["serverInfo"]["name"], "repobridge")
                self.assertIn("app", result["instructions"])

    def test_initialize_answers_other_revisions_with_the_newest_legacy_one(self):
        front = self.run_front()
        for revision in ("2024-10-07", MODERN_REVISION, "1999-01-01"):
            self.assertEqual(front.initialize(revision)["protocolVersion"], "2025-11-25")

    def test_tools_are_listed_on_one_page(self):
        front = self.run_front()
        listed = front.result("tools/list")

        self.assertEqual([tool["name"] for tool in listed["tools"]], TOOLS)
        self.assertEqual(list(listed), ["tools"])
        self.assertEqual(front.error("tools/list", {"cursor": "2"})["code"], -32602)

    def test_needs_no_initialize_first(self):
        self.assertEqual(self.run_front().result("ping"), {})

    def test_has_no_discover_and_nothing_that_was_not_declared(self):
        front = self.run_front()
        for method in ("server/discover", "logging/setLevel", "prompts/list", "resources/list", "made/up"):
            self.assertEqual(front.error(method, {})["code"], -32601, method)

    def test_ids_are_answered_as_typed(self):
        front = self.run_front()
        for id in (0, -1, 9007199254740993, "0", "", "\u00e9\u2028"):
            self.assertEqual(front.request("ping", id=id)["id"], id)


class Modern(FrontTestCase):
    def ask(self, front, method, **params):
        return front.result(method, {"_meta": modern_meta(), **params})

    def refusal(self, front, method, meta):
        return front.error(method, {"_meta": meta})

    def test_discover_tells_what_is_served(self):
        result = self.ask(self.run_front(), "server/discover")

        self.assertEqual(result["supportedVersions"], [MODERN_REVISION])
        self.assertEqual(result["capabilities"], {"tools": {}})
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual(result["_meta"][SERVER_INFO]["name"], "repobridge")
        self.assertNotIn("serverInfo", result)
        self.assert_may_be_kept(result)

    def test_tools_are_listed_with_how_long_to_keep_them(self):
        front = self.run_front()
        listed = self.ask(front, "tools/list")

        self.assertEqual(listed["tools"], front.result("tools/list")["tools"])
        self.assertEqual(listed["resultType"], "complete")
        self.assert_may_be_kept(listed)

    def assert_may_be_kept(self, result):
        self.assertGreaterEqual(result["ttlMs"], 0)
        self.assertEqual(result["cacheScope"], "private")

    def test_a_call_ends_complete_even_when_it_is_refused(self):
        result = self.ask(self.run_front(), "tools/call", name="push_repo", arguments={"workdir": "nope"})

        self.assertTrue(result["isError"])
        self.assertEqual(result["resultType"], "complete")
        self.assertIn(SERVER_INFO, result["_meta"])

    def test_removed_methods_are_unknown(self):
        front = self.run_front()
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen"):
            self.assertEqual(self.refusal(front, method, modern_meta())["code"], -32601, method)

    def test_a_malformed_envelope_is_refused(self):
        front = self.run_front()
        meta = modern_meta()
        del meta["io.modelcontextprotocol/clientCapabilities"]

        error = self.refusal(front, "tools/list", meta)

        self.assertEqual(error["code"], -32602)
        self.assertIn("clientCapabilities", error["message"])

    def test_a_revision_that_is_not_served_is_refused_with_those_that_are(self):
        front = self.run_front()
        for revision in ("2099-01-01", "2025-11-25"):
            meta = {**modern_meta(), "io.modelcontextprotocol/protocolVersion": revision}
            error = self.refusal(front, "server/discover", meta)
            self.assertEqual(error["code"], -32022)
            self.assertEqual(error["data"], {"supported": [MODERN_REVISION], "requested": revision})

    def test_an_unknown_tool_is_a_protocol_error(self):
        front = self.run_front()
        error = front.error("tools/call", {"_meta": modern_meta(), "name": "shell", "arguments": {}})

        self.assertEqual(error["code"], -32602)
        self.assertIn("'shell'", error["message"])


class Batches(FrontTestCase):
    """Lists of messages, which revision 2025-03-26 has and no other."""

    PINGS = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in (1, 2)]

    def refusal(self, front, batch):
        front.send(batch)
        message = front.read()
        self.assertIsNone(message["id"])
        return message["error"]["code"]

    def test_are_refused_under_every_other_revision(self):
        front = self.run_front()
        self.assertEqual(self.refusal(front, self.PINGS), -32600)
        for revision in LEGACY_REVISIONS:
            if revision != "2025-03-26":
                front.initialize(revision)
                self.assertEqual(self.refusal(front, self.PINGS), -32600)

    def test_are_refused_whole_for_what_must_not_be_in_them(self):
        front = self.run_front()
        front.initialize("2025-03-26")
        discover = {"jsonrpc": "2.0", "id": 3, "method": "server/discover", "params": {"_meta": modern_meta()}}
        greeting = {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}
        many = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(101)]
        for batch in ([], many, [*self.PINGS, discover], [*self.PINGS, greeting]):
            self.assertEqual(self.refusal(front, batch), -32600)
        self.assertEqual(front.result("ping"), {})

    def test_are_answered_with_one_line(self):
        front = self.run_front()
        front.initialize("2025-03-26")
        front.send([*self.PINGS, {"jsonrpc": "2.0", "method": "notifications/initialized"}, 7,
                    {"jsonrpc": "2.0", "id": "x", "method": "made/up"}])
        answers = front.read_batch()
        self.assertEqual([answer["id"] for answer in answers], [1, 2, None, "x"])
        self.assertEqual([answer.get("error", {}).get("code") for answer in answers], [None, None, -32600, -32601])

    def test_of_notifications_are_not_answered(self):
        front = self.run_front()
        front.initialize("2025-03-26")
        front.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1, "result": {}}])
        self.assertEqual(front.result("ping"), {})

    def test_wait_for_their_calls_and_nothing_else_does(self):
        bridge = self.run_bridge()
        front = self.run_front()
        front.initialize("2025-03-26")
        calls = [{"jsonrpc": "2.0", "id": id, "method": "tools/call",
                  "params": {"name": "push_repo", "arguments": {"workdir": "app"}}} for id in ("kept", "cancelled")]
        front.send([calls[0], self.PINGS[0]])
        kept = bridge.expect_request()
        front.send([calls[1], self.PINGS[1]])
        cancelled = bridge.expect_request()
        self.assertEqual(front.result("ping"), {})

        front.send([{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "cancelled"}}])
        bridge.expect("cancel")
        bridge.refuse(cancelled, {"error": {"code": "CALL_CANCELLED"}})
        self.assertEqual([answer["id"] for answer in front.read_batch()], [2])
        bridge.expect("closed")
        bridge.succeed(kept, envelope("push_repo", {}))
        self.assertEqual([answer["id"] for answer in front.read_batch()], [1, "kept"])


class Both(FrontTestCase):
    def test_initialize_follows_discover_on_the_same_pipe(self):
        front = self.run_front()
        front.result("server/discover", {"_meta": modern_meta()})

        self.assertEqual(front.initialize()["protocolVersion"], "2025-11-25")
        self.assertNotIn("resultType", front.result("tools/list"))

    def test_a_failed_probe_leaves_nothing_behind(self):
        front = self.run_front()
        meta = {**modern_meta(), "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        self.assertEqual(front.error("server/discover", {"_meta": meta})["code"], -32022)
        self.assertEqual(front.error("server/discover")["code"], -32601)

        self.assertEqual(front.initialize("2025-06-18")["protocolVersion"], "2025-06-18")

    def test_each_message_is_answered_in_its_own_era(self):
        front = self.run_front()
        front.initialize()
        modern = front.result("tools/list", {"_meta": modern_meta()})
        legacy = front.result("tools/list")

        self.assertEqual(modern["resultType"], "complete")
        self.assertNotIn("resultType", legacy)


if __name__ == "__main__":
    unittest.main()
