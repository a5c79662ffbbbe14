"""Work that takes longer than a call waits: the handle, view run, the administrator's runs, and their limits."""

import contextlib
import hashlib
import json
import os
import re
import select
import subprocess
import unittest

from bridge_case import BridgeCase, Host, shape_of
from crash_case import wait_until
from harness import BIN, PATIENCE

PINNED = "what the actions stand on\n"
# Says that it has begun, prints its argument, and waits until it is let go.
GATE = "echo begun; printf '%s' \"$2\"; exec 3<\"$1\"; read line <&3; echo \"$line\"; exit \"$3\""
WAIT = 1  # seconds that a call waits for its run


def gate(path, text="", code=0, **more):
    integrity = {"pinned": hashlib.sha256(PINNED.encode()).hexdigest()}
    argv = ["/bin/sh", "-c", GATE, "gate", str(path), text, str(code)]
    return {"argv": argv, "integrity": integrity, "mutates": True, **more}


def set_actions(host, slot, actions):
    path = host.path / f"actions-{slot}.json"
    path.write_text(json.dumps(actions))
    path.chmod(0o600)
    host.settings[f"WORKDIR_{slot:02}_REPO_ACTIONS_FILE"] = path


class Gate:
    """What a gate action waits for. Opening it for writing returns when the action is there."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)

    def open(self, line="done"):
        with open(self.path, "w") as stream:
            stream.write(line + "\n")

    def somebody_waits(self):
        """Whoever does is let go by this."""
        with contextlib.suppress(OSError):
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
            return True
        return False


class LongWorkCase(BridgeCase):
    settings = {"REPOBRIDGE_CALL_WAIT_SECONDS": str(WAIT)}

    @classmethod
    def prepare(cls, host):
        cls.gate = Gate(host.ways_into_room("app") / "gate")
        secret = "ghp_" + "a1B2" * 9
        actions = {
            "gate": gate(cls.gate.path),
            "fails": gate(cls.gate.path, code=3),
            "leaks": gate(cls.gate.path, text=f"token {secret} \x1b]0;title\x07\n"),
            "short": gate(cls.gate.path, timeout_seconds=2),
        }
        cls.secret = secret
        set_actions(host, 1, actions)

    def setUp(self):
        super().setUp()
        self.repo.write("pinned", PINNED)
        self.repo.save("the beginning")
        self.addCleanup(self.end_whatever_runs)

    def end_whatever_runs(self):
        """So that one test that fails does not take the next ones with it."""
        for run in self.admin_json("list")["runs"]:
            if run["state"] == "running":
                self.admin("cancel", run["run_id"])
                wait_until("it has ended", lambda run=run: self.admin_json("show", run["run_id"])["state"] != "running")

    def run_action(self, action="gate", client=None):
        return shape_of((client or self.client).call("run_repo_action", workdir="app", action=action),
                        "run_repo_action", {"workdir": "app", "action": action})

    def wait_until_begun(self):
        def begun():
            return any(run["state"] == "running" and run["output_bytes"] for run in self.admin_json("list")["runs"])

        wait_until("it has begun", begun)

    def handle(self, action="gate"):
        """A run that its call did not wait for."""
        data, error = self.run_action(action)
        self.assertIsNone(error)
        self.assertEqual((data["state"], data["action"], data["tool"]), ("running", action, "run_repo_action"))
        self.assertRegex(data["run_id"], r"^[0-9a-f]{32}$")
        return data["run_id"]

    def view(self, run_id=None, **more):
        named = {"run_id": run_id} if run_id else {}
        return self.data("inspect_repo", workdir="app", view="run", **named, **more)

    def end(self, run_id):
        """Lets it go, and its answer."""
        self.gate.open()
        data = self.view(run_id, wait_seconds=30)
        while data["state"] == "running":
            data = self.view(run_id, wait_seconds=30)
        return data

    def admin(self, *arguments):
        done = subprocess.run(
            [BIN / "repobridge", "runs", *arguments, "--config", self.host.out / "bridge.json"],
            env=self.host.user.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def admin_json(self, *arguments):
        code, said, words = self.admin(*arguments, "--json")
        self.assertEqual((code, words), (0, ""))
        return json.loads(said)

    def cancel(self, run_id):
        self.assertEqual(self.admin("cancel", run_id)[0], 0)
        return self.view(run_id, wait_seconds=30)


class HandleTest(LongWorkCase):
    def test_a_short_run_is_its_calls_answer(self):
        self.gate_opener = subprocess.Popen(["/bin/sh", "-c", f"echo at once >{self.gate.path}"])
        data, error = self.run_action()
        self.gate_opener.wait(PATIENCE)

        self.assertIsNone(error)
        self.assertEqual((data["state"], data["exit_code"], data["stdout"]), ("finished", 0, "begun\nat once\n"))

    def test_a_long_run_is_answered_with_a_handle_and_polled(self):
        run_id = self.handle()

        running = self.view(run_id)
        self.assertEqual((running["run_id"], running["state"], running["tool"]), (run_id, "running", "run_repo_action"))
        self.assertEqual(running["output_bytes"], len("begun\n"))
        self.assertNotIn("stdout", running)
        ended = self.end(run_id)

        self.assertEqual((ended["run_id"], ended["state"], ended["exit_code"]), (run_id, "finished", 0))
        self.assertEqual(ended["stdout"], "begun\ndone\n")
        self.assertGreaterEqual(ended["duration_ms"], WAIT * 1000)
        self.assertEqual(self.view(run_id), ended, "it can be asked again")
        self.assertEqual(self.view(), ended, "the latest needs no id")

    def test_a_repeated_call_gets_the_handle_and_no_second_run(self):
        run_id = self.handle()

        details = self.refused("WORKDIR_BUSY", "run_repo_action", workdir="app", action="gate")

        self.assertEqual(details["holder"]["run_id"], run_id)
        self.assertEqual(details["holder"]["action"], "gate")
        self.assertEqual(self.end(run_id)["stdout"], "begun\ndone\n")

    def test_a_poll_waits_for_the_end_and_no_longer(self):
        run_id = self.handle()
        call = self.client.start_call("inspect_repo", {"workdir": "app", "view": "run", "run_id": run_id,
                                                       "wait_seconds": 44})
        self.gate.open("now")
        answer = self.client.answer(call)["result"]

        # The wait is bounded by the administrator's, so it may have to be asked once more.
        data = answer["structuredContent"]["data"]
        self.assertEqual(self.view(run_id, wait_seconds=30)["stdout"], "begun\nnow\n")
        self.assertIn(data["state"], ("running", "finished"))

    def test_an_exit_code_is_a_result(self):
        self.assertEqual(self.end(self.handle("fails"))["exit_code"], 3)

    def test_the_limit_of_a_run_is_its_own_and_not_the_calls(self):
        run_id = self.handle("short")

        ended = self.view(run_id, wait_seconds=30)
        while ended["state"] == "running":
            ended = self.view(run_id, wait_seconds=30)

        self.assertEqual((ended["state"], ended["reason"]), ("killed", "deadline"))

    def test_the_audit_ends_when_the_run_does(self):
        run_id = self.handle()
        lines = [line for line in self.host.audit() if line.get("tool") == "run_repo_action"]
        self.assertEqual(lines[-1]["event"], "begin")
        self.end(run_id)

        [end] = [line for line in self.host.audit() if line["event"] == "end" and line["call"] == lines[-1]["call"]]
        self.assertEqual(end["outcome"], "ok")

    def test_what_looks_like_a_secret_is_masked_in_what_is_kept_too(self):
        run_id = self.handle("leaks")
        ended = self.end(run_id)

        self.assertNotIn(self.secret, json.dumps(ended))
        kept = (self.host.state / "runs" / f"{run_id}.json").read_text()
        self.assertNotIn(self.secret, kept)
        self.assertIn("begun", kept)

    def test_a_front_that_comes_back_finds_its_run(self):
        client = self.host.client()
        call = client.start_call("run_repo_action", {"workdir": "app", "action": "gate"})
        self.wait_until_begun()
        client.process.kill()

        running = self.view()
        self.assertEqual((running["state"], running["action"]), ("running", "gate"))
        self.assertEqual(self.end(running["run_id"])["stdout"].count("begun"), 1)
        self.assertIsNotNone(call)

    def test_a_cancelled_call_ends_its_run(self):
        call = self.client.start_call("run_repo_action", {"workdir": "app", "action": "gate"})
        self.wait_until_begun()
        self.client.notify("notifications/cancelled", {"requestId": call})

        wait_until("the run has ended", lambda: self.view()["state"] != "running")
        self.assertEqual((self.view()["state"], self.view()["reason"]), ("killed", "cancelled"))

    def test_a_handle_is_no_longer_cancelled_by_its_call(self):
        run_id = self.handle()
        self.client.notify("notifications/cancelled", {"requestId": 1})

        self.assertEqual(self.view(run_id)["state"], "running")
        self.assertEqual(self.end(run_id)["exit_code"], 0)


class ProgressTest(LongWorkCase):
    settings = {"REPOBRIDGE_CALL_WAIT_SECONDS": "20"}

    def test_progress_tells_time_and_bytes(self):
        params = {"name": "run_repo_action", "arguments": {"workdir": "app", "action": "gate"},
                  "_meta": {"progressToken": "t"}}
        call = self.client.start("tools/call", params)
        sign = self.client.read()
        self.gate.open()
        answer = self.client.answer(call)

        self.assertEqual(sign["method"], "notifications/progress")
        self.assertRegex(sign["params"]["message"], r"^run_repo_action is at work for \d+ s, 6 bytes printed$")
        self.assertEqual(answer["result"]["structuredContent"]["data"]["stdout"], "begun\ndone\n")


class RefusalTest(LongWorkCase):
    def test_an_id_that_is_nobodys(self):
        self.refused("RUN_NOT_FOUND", "inspect_repo", workdir="app", view="run", run_id="0" * 32)

    def test_a_workdir_without_a_run(self):
        host = self.host_class({"REPOBRIDGE_CALL_WAIT_SECONDS": "1"})
        self.addCleanup(host.remove)
        host.render()
        host.workdirs["app"].remake()
        host.start()
        client = host.client()
        result = client.call("inspect_repo", workdir="app", view="run")
        _, error = shape_of(result, "inspect_repo", {"workdir": "app", "view": "run"})
        self.assertEqual(error["code"], "RUN_NOT_FOUND")

    def test_arguments_that_are_not_of_the_view(self):
        for arguments, name in (({"view": "status", "run_id": "0" * 32}, "run_id"),
                                ({"view": "status", "wait_seconds": 1}, "wait_seconds"),
                                ({"view": "run", "run_id": "0" * 31}, "run_id"),
                                ({"view": "run", "run_id": "A" * 32}, "run_id"),
                                ({"view": "run", "wait_seconds": 45}, "wait_seconds"),
                                ({"view": "run", "wait_seconds": -1}, "wait_seconds"),
                                ({"view": "run", "wait_seconds": 1.5}, "wait_seconds")):
            details = self.refused("INVALID_ARGUMENT", "inspect_repo", workdir="app", **arguments)
            self.assertEqual(details, {"argument": name}, arguments)


class PushTest(LongWorkCase):
    def test_a_push_that_takes_long_is_such_a_run_too(self):
        self.follow_origin()
        hook = self.remote / "hooks/pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\nread line <{self.gate.path}\n")
        hook.chmod(0o755)
        self.repo.write("new.txt", "new\n")
        commit = self.repo.save("to be pushed")

        handle = self.push()
        self.assertEqual((handle["state"], handle["tool"], handle["action"]), ("running", "push_repo", None))
        ended = self.end(handle["run_id"])

        self.assertEqual((ended["state"], ended["tool"]), ("finished", "push_repo"))
        self.assertEqual((ended["result"]["result"], ended["result"]["to"]), ("pushed", commit))
        self.assertEqual(self.remote.git("rev-parse", "main"), commit)

    def test_an_error_is_told_as_the_call_would_have_been(self):
        self.follow_origin()
        hook = self.remote / "hooks/pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\nread line <{self.gate.path}\nexit 1\n")
        hook.chmod(0o755)
        self.repo.save("to be declined")
        run_id = self.push()["run_id"]
        self.gate.open()

        self.refused("REPO_PUSH_REJECTED", "inspect_repo", workdir="app", view="run", run_id=run_id, wait_seconds=30)


class RestartTest(LongWorkCase):
    def test_a_run_that_was_cut_off_is_reported_as_ended(self):
        run_id = self.handle()
        self.host.kill()
        self.host.start()
        client = self.host.client()
        self.client = client

        data = self.view(run_id)

        self.assertEqual((data["state"], data["reason"], data["action"]), ("killed", "bridge_restarted", "gate"))
        self.assertFalse(self.gate.somebody_waits())

    def test_a_result_outlives_the_bridge(self):
        run_id = self.handle()
        ended = self.end(run_id)
        self.host.stop()
        self.host.start()
        self.client = self.host.client()

        self.assertEqual(self.view(run_id), ended)

    def test_a_bridge_that_stops_ends_its_runs_first(self):
        run_id = self.handle()
        self.host.stop()
        self.assertFalse(self.gate.somebody_waits())
        self.host.start()
        self.client = self.host.client()

        self.assertEqual((self.view(run_id)["state"], self.view(run_id)["reason"]), ("killed", "cancelled"))

    def test_files_that_are_no_runs_are_passed_over(self):
        run_id = self.handle()
        ended = self.end(run_id)
        self.host.stop()
        runs = self.host.state / "runs"
        whole = (runs / f"{run_id}.json").read_text()
        for number, text in enumerate(("", "{}", "[]", whole[: len(whole) // 2], whole)):
            path = runs / (f"{number}" * 32 + ".json")
            path.write_text(text)
            path.chmod(0o600)
        self.host.start()
        self.client = self.host.client()

        self.assertEqual(self.view(run_id), ended)
        self.refused("RUN_NOT_FOUND", "inspect_repo", workdir="app", view="run", run_id="4" * 32)

    def test_policy_of_the_moment_decides_who_may_ask(self):
        run_id = self.handle()
        self.end(run_id)
        self.host.restart(WORKDIR_01_ALIAS="other")
        self.client = self.host.client()
        try:
            self.refused("WORKDIR_NOT_FOUND", "inspect_repo", workdir="app", view="run", run_id=run_id)
            self.refused("RUN_NOT_FOUND", "inspect_repo", workdir="other", view="run", run_id=run_id)
        finally:
            self.host.restart(WORKDIR_01_ALIAS="app")


class AdministratorTest(LongWorkCase):
    def test_list_show_and_cancel(self):
        run_id = self.handle()
        [run] = [run for run in self.admin_json("list")["runs"] if run["state"] == "running"]
        self.assertEqual((run["run_id"], run["workdir"], run["action"]), (run_id, "app", "gate"))
        shown = self.admin_json("show", run_id)
        self.assertEqual((shown["state"], shown["stdout"]["text"]), ("running", "begun\n"))
        table = self.admin("list")[1]
        self.assertIn(run_id, table)
        self.assertNotIn("\x1b", table)

        ended = self.cancel(run_id)

        self.assertEqual((ended["state"], ended["reason"]), ("killed", "cancelled"))
        self.assertEqual(self.admin("cancel", run_id)[0], 1, "it had ended")
        [cancelled] = [line for line in self.host.audit() if line.get("tool") == "runs cancel" and line["event"] == "begin"]
        self.assertEqual(cancelled["front"], "administrator")

    def test_what_is_printed_is_escaped(self):
        run_id = self.handle("leaks")
        code, said, _ = self.admin("show", run_id)
        self.cancel(run_id)

        self.assertEqual(code, 0)
        self.assertNotIn("\x1b", said)
        self.assertIn(r"\x1b]0;title\x07", said)

    def test_follow_prints_until_the_end(self):
        run_id = self.handle()
        with subprocess.Popen(
            [BIN / "repobridge", "runs", "show", run_id, "--follow", "--config", self.host.out / "bridge.json"],
            env=self.host.user.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as follower:
            self.assertTrue(select.select([follower.stdout], [], [], PATIENCE)[0])
            first = follower.stdout.readline()
            self.gate.open()
            rest, _ = follower.communicate(timeout=PATIENCE)

        self.assertEqual(first, b"begun\n")
        self.assertTrue(rest.startswith(b"done\n"), rest)
        self.assertIn(b"finished", rest)
        self.assertEqual(follower.returncode, 0)

    def test_an_unknown_run(self):
        for verb in ("show", "cancel"):
            code, said, words = self.admin(verb, "0" * 32)
            self.assertEqual((code, said), (2, ""))
            self.assertIn("[RUN_NOT_FOUND]", words)

    def test_without_a_bridge(self):
        host = self.host_class()
        self.addCleanup(host.remove)
        host.render()
        done = subprocess.run([BIN / "repobridge", "runs", "list", "--config", host.out / "bridge.json"],
                              env=host.user.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"[BRIDGE_UNAVAILABLE]", done.stderr)

    def test_the_key_is_private_and_new_at_each_start(self):
        key = self.host.state / "administrator.key"
        before = key.read_bytes()
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        self.host.restart()
        self.client = self.host.client()

        self.assertNotEqual(key.read_bytes(), before)

    def test_a_front_cannot_ask_what_the_administrator_may(self):
        for tool in ("runs list", "runs show", "runs cancel"):
            answer = self.client.request("tools/call", {"name": tool, "arguments": {}})
            self.assertEqual(answer["error"]["code"], -32602)


class LimitTest(unittest.TestCase):
    def host_with(self, workdirs=("app", "second"), **settings):
        host = Host({"REPOBRIDGE_CALL_WAIT_SECONDS": "1", **settings}, workdirs=workdirs)
        self.addCleanup(host.remove)
        gates = []
        for slot, alias in enumerate(workdirs, start=1):
            gates.append(Gate(host.ways_into_room(alias) / "gate"))
            set_actions(host, slot, {"gate": gate(gates[-1].path)})
        for repository in host.workdirs.values():
            repository.remake().write("pinned", PINNED)
            repository.save("the beginning")
        host.render()
        host.start()
        return host, host.client(), gates

    def error(self, client, tool, **arguments):
        return shape_of(client.call(tool, **arguments), tool, arguments)[1]

    def test_runs_at_once(self):
        for name in ("REPOBRIDGE_MAX_RUNS", "REPOBRIDGE_MAX_RUNS_PER_CALLER"):
            with self.subTest(name):
                host, client, gates = self.host_with(**{name: "1"})
                self.assertIsNone(self.error(client, "run_repo_action", workdir="app", action="gate"))

                error = self.error(client, "run_repo_action", workdir="second", action="gate")

                self.assertEqual((error["code"], error["details"]), ("TOO_MANY_RUNS", {"limit": 1}))
                gates[0].open()
                answer = client.call("inspect_repo", workdir="app", view="run", wait_seconds=30)
                self.assertEqual(answer["structuredContent"]["data"]["state"], "finished")

    def test_calls_a_minute(self):
        for name in ("REPOBRIDGE_CALLS_PER_MINUTE", "REPOBRIDGE_CALLS_PER_MINUTE_PER_CALLER"):
            with self.subTest(name):
                _, client, _ = self.host_with(workdirs=("app",), **{name: "2"})
                for _ in range(2):
                    self.assertIsNone(self.error(client, "inspect_repo", view="workdirs"))

                error = self.error(client, "inspect_repo", view="workdirs")

                self.assertEqual(error["code"], "TOO_MANY_CALLS")
                self.assertLessEqual(error["details"]["retry_after_seconds"], 30)
                self.assertTrue(re.search("retry_after_seconds", error["message"]))


if __name__ == "__main__":
    unittest.main()
