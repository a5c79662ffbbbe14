"""Tool calls through the front: what it refuses itself, and what passes between a client and a bridge."""

import getpass
import json
import unittest

from front_case import FrontTestCase, envelope
from harness import error_of, modern_meta


class Refusals(FrontTestCase):
    """The bridge is down in all of these, so whatever is refused otherwise was refused by the front."""

    def setUp(self):
        super().setUp()
        self.place.write_front(["app", {"alias": "docs", "read_only": True}])
        self.front = self.run_front()

    def code(self, tool, **arguments):
        return error_of(self.front.call(tool, **arguments))["code"]

    def test_unknown_arguments_are_refused_by_name(self):
        for name in ("force", "remote", "ref", "commit", "workflow", "argv", "env", "cwd"):
            error = error_of(self.front.call("push_repo", workdir="app", **{name: "x"}))
            self.assertEqual(error["code"], "INVALID_ARGUMENT")
            self.assertEqual(error["kind"], "invalid")
            self.assertEqual(error["status"], 400)
            self.assertEqual(error["details"], {"argument": name})
            self.assertIn(f"'{name}'", error["message"])

    def test_policy_speaks_before_the_journey(self):
        self.assertEqual(self.code("push_repo", workdir="nope"), "WORKDIR_NOT_FOUND")
        self.assertEqual(self.code("push_repo", workdir="docs"), "WORKDIR_READ_ONLY")
        self.assertEqual(self.code("inspect_repo", view="diff", workdir="app", paths=["a/.env"]), "DENIED_PATH")
        self.assertEqual(
            self.code("inspect_repo", view="diff", workdir="app", paths=["../x"]), "PATH_OUTSIDE_WORKDIR"
        )
        self.assertEqual(self.code("inspect_repo", view="diff", workdir="app", paths=[]), "INVALID_ARGUMENT")
        self.assertEqual(
            self.code("commit_repo_changes", workdir="app", paths=["a"], message=" \n"),
            "INVALID_COMMIT_MESSAGE",
        )

    def test_an_unknown_tool_is_a_protocol_error(self):
        for name in ("shell", "INSPECT_REPO", ""):
            error = self.front.error("tools/call", {"name": name, "arguments": {}})
            self.assertEqual(error["code"], -32602)
        self.assertEqual(self.front.error("tools/call", {"arguments": {}})["code"], -32602)
        self.assertEqual(
            self.front.error("tools/call", {"name": "push_repo", "arguments": []})["code"], -32602
        )

    def test_tools_are_listed_while_the_bridge_is_down(self):
        self.assertEqual(len(self.front.result("tools/list")["tools"]), 4)

        error = error_of(self.front.call("inspect_repo", view="workdirs"))

        self.assertEqual((error["code"], error["status"]), ("BRIDGE_UNAVAILABLE", 503))
        self.assertIn("repobridged", error["message"])

    def test_there_are_no_tools_without_workdirs(self):
        self.place.write_front([])
        front = self.run_front()

        self.assertEqual(front.result("tools/list"), {"tools": []})
        error = front.error("tools/call", {"name": "inspect_repo", "arguments": {"view": "workdirs"}})
        self.assertEqual(error["code"], -32602)
        self.assertIn("No workdir", front.initialize()["instructions"])


class Calls(FrontTestCase):
    def setUp(self):
        super().setUp()
        self.bridge = self.run_bridge()
        self.front = self.run_front()

    def test_a_success_comes_in_both_forms(self):
        body = envelope("inspect_repo", {"workdirs": [], "odd": "\u00e9\u2028\"\\\n"})
        id = self.front.start_call("inspect_repo", {"view": "workdirs"})
        self.bridge.succeed(self.bridge.expect_request(), body)

        result = self.front.answer(id)["result"]

        self.assertEqual(result["structuredContent"], body)
        self.assertEqual(result["isError"], False)
        self.assertEqual(len(result["content"]), 1)
        self.assertEqual(json.loads(result["content"][0]["text"]), body)

    def test_an_error_of_the_bridge_comes_as_text_alone(self):
        body = {"error": {"status": 423, "kind": "busy", "code": "WORKDIR_BUSY", "message": "m"}}
        id = self.front.start_call("push_repo", {"workdir": "app"})
        self.bridge.refuse(self.bridge.expect_request(), body)

        self.assertEqual(error_of(self.front.answer(id)["result"]), body["error"])

    def test_the_bridge_hears_who_asks_for_what(self):
        arguments = {"workdir": "app", "paths": ["b", "a"], "message": "Why\n"}
        self.front.start_call("commit_repo_changes", arguments)
        hello = self.bridge.expect("hello")
        request = self.bridge.expect("request")

        self.assertEqual(hello["policy_digest"], self.place.digest)
        self.assertEqual(request["tool"], "commit_repo_changes")
        self.assertEqual(request["arguments"], arguments)
        self.assertEqual(request["caller"], {"login": getpass.getuser(), "mode": "stdio"})
        self.assertRegex(request["id"], "^[0-9a-f]{32}$")

    def test_ping_and_other_calls_are_answered_meanwhile(self):
        slow = self.front.start_call("push_repo", {"workdir": "app"})
        first = self.bridge.expect_request()
        quick = self.front.start_call("inspect_repo", {"view": "workdirs"})
        second = self.bridge.expect_request()
        self.assertEqual(self.front.result("ping"), {})
        self.bridge.succeed(second, envelope("inspect_repo", {}))

        self.assertEqual(self.front.answer(quick)["result"]["isError"], False)
        self.bridge.succeed(first, envelope("push_repo", {}))
        self.assertEqual(self.front.answer(slow)["result"]["isError"], False)

    def test_an_id_at_work_is_not_taken_twice(self):
        params = {"name": "push_repo", "arguments": {"workdir": "app"}}
        self.front.start("tools/call", params, id="same")
        call = self.bridge.expect_request()

        self.assertEqual(self.front.request("tools/call", params, id="same")["error"]["code"], -32600)
        self.bridge.succeed(call, envelope("push_repo", {}))
        self.assertIn("result", self.front.answer("same"))

    def test_progress_comes_under_the_callers_token(self):
        id = self.front.start_call("push_repo", {"workdir": "app"}, meta={"progressToken": 7})
        call = self.bridge.expect_request()
        for elapsed in (1200, 1200, 900, 6200):
            self.bridge.progress(call, elapsed)
        self.bridge.succeed(call, envelope("push_repo", {}))
        self.front.answer(id)

        heard = [self.front.read(), self.front.read()]

        self.assertEqual([one["method"] for one in heard], ["notifications/progress"] * 2)
        self.assertEqual([one["params"]["progressToken"] for one in heard], [7, 7])
        self.assertEqual([one["params"]["progress"] for one in heard], [1.2, 6.2])
        self.assertEqual(self.front.close(), [])

    def test_no_progress_comes_without_a_token(self):
        id = self.front.start_call("push_repo", {"workdir": "app"})
        call = self.bridge.expect_request()
        self.bridge.progress(call, 1200)
        self.bridge.succeed(call, envelope("push_repo", {}))
        self.front.answer(id)

        self.assertEqual(self.front.close(), [])

    def test_a_cancel_is_passed_on_and_the_call_not_answered(self):
        for meta in (None, modern_meta()):
            with self.subTest(modern=meta is not None):
                id = self.front.start_call("push_repo", {"workdir": "app"}, meta=meta)
                call = self.bridge.expect_request()
                self.front.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})
                self.bridge.expect("cancel")
                self.assertEqual(self.front.result("ping"), {})
                self.bridge.refuse(call, {"error": {"code": "CALL_CANCELLED"}})
                self.bridge.expect("closed")
        self.assertEqual(self.front.close(), [])

    def test_a_cancel_of_another_id_reaches_no_call(self):
        id = self.front.start_call("push_repo", {"workdir": "app"})
        call = self.bridge.expect_request()
        for other in (str(id), id + 1, None):
            self.front.notify("notifications/cancelled", {"requestId": other})
        self.assertEqual(self.front.result("ping"), {})
        self.bridge.succeed(call, envelope("push_repo", {}))

        self.assertIn("result", self.front.answer(id))
        self.bridge.expect("closed")

    def test_a_bridge_that_hangs_up_leaves_the_outcome_unknown(self):
        id = self.front.start_call("push_repo", {"workdir": "app"})
        call = self.bridge.expect_request()
        self.bridge.hang_up(call)

        error = error_of(self.front.answer(id)["result"])

        self.assertEqual(error["code"], "BRIDGE_UNAVAILABLE")
        self.assertEqual(error["details"], {"outcome": "unknown", "request_id": call["id"]})

    def test_a_killed_bridge_leaves_the_outcome_unknown_and_the_next_one_is_found(self):
        id = self.front.start_call("push_repo", {"workdir": "app"})
        self.bridge.expect_request()
        self.bridge.kill()
        self.assertEqual(error_of(self.front.answer(id)["result"])["details"]["outcome"], "unknown")

        again = self.run_bridge()
        id = self.front.start_call("inspect_repo", {"view": "workdirs"})
        again.succeed(again.expect_request(), envelope("inspect_repo", {}))

        self.assertEqual(self.front.answer(id)["result"]["isError"], False)

    def test_a_large_answer_arrives_whole(self):
        body = envelope("inspect_repo", {"text": "\u00e9" * 400_000})
        id = self.front.start_call("inspect_repo", {"view": "workdirs"})
        self.bridge.succeed(self.bridge.expect_request(), body)

        self.assertEqual(self.front.answer(id)["result"]["structuredContent"], body)


class Doorway(FrontTestCase):
    def call_code(self):
        front = self.run_front()
        front.result("tools/list")
        return error_of(front.call("inspect_repo", view="workdirs"))["code"]

    def test_another_rendering_is_told_by_the_front(self):
        self.run_bridge(digest="0" * 64)
        self.assertEqual(self.call_code(), "POLICY_OUT_OF_DATE")

    def test_another_rendering_is_told_by_the_bridge(self):
        self.run_bridge(greeting="refuse")
        self.assertEqual(self.call_code(), "POLICY_OUT_OF_DATE")

    def test_a_bridge_that_hangs_up_at_once_is_unavailable(self):
        self.run_bridge(greeting="close")
        self.assertEqual(self.call_code(), "BRIDGE_UNAVAILABLE")

    def test_a_bridge_with_another_key_is_not_talked_to(self):
        self.run_bridge(key=self.place.write_key(self.place.path / "other.key"))
        front = self.run_front()

        error = error_of(front.call("inspect_repo", view="workdirs"))

        self.assertEqual(error["code"], "BRIDGE_UNAVAILABLE")
        self.assertIn("did not prove", error["message"])

    def test_a_key_that_others_can_read_is_not_used(self):
        self.run_bridge()
        self.place.key.chmod(0o644)
        self.assertEqual(self.call_code(), "KEY_UNSAFE")

    def test_a_missing_key_is_named(self):
        self.place.key.unlink()
        self.assertEqual(self.call_code(), "KEY_UNREADABLE")

    def test_a_rotated_key_is_taken_without_a_restart(self):
        front = self.run_front()
        self.place.write_key(self.place.key)
        bridge = self.run_bridge()

        id = front.start_call("inspect_repo", {"view": "workdirs"})
        bridge.succeed(bridge.expect_request(), envelope("inspect_repo", {}))

        self.assertEqual(front.answer(id)["result"]["isError"], False)


if __name__ == "__main__":
    unittest.main()
