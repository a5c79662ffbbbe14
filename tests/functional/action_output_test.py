"""What an action prints, for how long, and what it finds around it: through the whole bridge."""

import re
import signal

from action_case import MISBEHAVE, ActionCase
from crash_case import wait_until

MOST = 1000
BRIEF = {"timeout_seconds": 1, "max_output_bytes": MOST}
LIMITED = {"max_output_bytes": MOST}
ALLOWED = {
    "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PATH", "TMPDIR",
    "GIT_TERMINAL_PROMPT", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_CONFIG_KEY_1",
    "GIT_CONFIG_VALUE_1", "RB_RUN_ID",
}  # fmt: skip


class Output(ActionCase):
    actions = {
        "flood": ("flood", LIMITED),
        "flood_both": ("flood_both", LIMITED),
        "stubborn_flood": ("stubborn_flood", BRIEF),
        "stubborn": ("stubborn", BRIEF),
        "trickle": ("trickle", {**BRIEF, "max_output_bytes": 1 << 20}),
        "silent": ("silent", BRIEF),
        "unblocking": ("unblocking", {"max_output_bytes": 1 << 20}),
        "leaver": ("leaver", LIMITED),
        "late": ("late", LIMITED),
        "surroundings": ("surroundings_by_name", {}),
        "exactly": (["/usr/bin/head", "-c", str(MOST), "/dev/zero"], LIMITED),
        "one_more": (["/usr/bin/head", "-c", str(MOST + 1), "/dev/zero"], LIMITED),
        "streams": (["/bin/sh", "-c", "echo out; echo err >&2; echo again >/dev/stdout; exit 3"], LIMITED),
        "abort": ([MISBEHAVE, "signal", str(int(signal.SIGABRT))], LIMITED),
        "too_large": ("too_large", LIMITED),
    }

    def setUp(self):
        super().setUp()
        self.addCleanup(self.assert_nobody_is_left)

    def assert_killed(self, run, reason):
        self.assertEqual((run["state"], run["reason"]), ("killed", reason))

    def test_each_stream_by_itself(self):
        run = self.run_action("streams")

        self.assertEqual((run["stdout"], run["stderr"], run["exit_code"]), ("out\nagain\n", "err\n", 3))
        self.assertEqual((run["state"], run["signal"], run.get("reason")), ("finished", None, None))

    def test_as_much_as_it_may(self):
        run = self.run_action("exactly")

        self.assertEqual((len(run["stdout"]), run["stdout_truncated"], run["state"]), (MOST, False, "finished"))

    def test_one_byte_more(self):
        run = self.run_action("one_more")

        self.assertEqual((len(run["stdout"]), run["stdout_truncated"]), (MOST, True))

    def test_a_flood_ends_the_run(self):
        run = self.run_action("flood")

        self.assert_killed(run, "output_limit")
        self.assertEqual((len(run["stdout"]), run["stdout_truncated"]), (MOST, True))
        self.assertEqual((run["stderr"], run["stderr_truncated"]), ("", False))

    def test_a_flood_of_both(self):
        run = self.run_action("flood_both")

        self.assert_killed(run, "output_limit")
        self.assertEqual((len(run["stderr"]), run["stderr_truncated"]), (MOST, True))
        self.assertLessEqual(len(run["stdout"]), MOST)

    def test_the_first_reason_is_the_reason(self):
        """It goes on past its deadline, being given time to end by itself."""
        run = self.run_action("stubborn_flood")

        self.assert_killed(run, "output_limit")
        self.assertEqual((run["exit_code"], run["signal"]), (None, signal.SIGKILL))
        self.assertGreater(run["duration_ms"], BRIEF["timeout_seconds"] * 1000)

    def test_the_deadline(self):
        for name, number in (("trickle", signal.SIGTERM), ("silent", signal.SIGTERM), ("stubborn", signal.SIGKILL)):
            with self.subTest(name):
                run = self.run_action(name)

                self.assert_killed(run, "deadline")
                self.assertEqual(run["signal"], number)
                self.assertEqual(set(run["stdout"]), {"."} if name == "trickle" else set())
                self.assertFalse(run["stdout_truncated"])

    def test_a_call_that_is_given_up(self):
        front, call, _ = self.begin("late")
        front.notify("notifications/cancelled", {"requestId": call, "reason": "enough"})
        self.life.wait_for_end()
        wait_until("the call has ended", lambda: self.host.audit()[-1]["event"] == "end")

        self.assertEqual(self.host.audit()[-1]["outcome"], "ok")
        self.assertEqual(self.run_action("streams")["exit_code"], 3)

    def test_output_that_does_not_wait(self):
        run = self.run_action("unblocking")

        self.assertEqual((set(run["stdout"]), run["stderr"], run["exit_code"]), ({"\0"}, "full\n", 0))

    def test_who_is_left_behind_holds_nothing_up(self):
        run = self.run_action("leaver")

        self.assertEqual((run["state"], run["exit_code"], run["stdout"]), ("finished", 0, "ok\n"))
        self.assertGreaterEqual(run["containment"]["stragglers_killed"], 1)

    def test_death_by_signal(self):
        self.assertEqual(self.run_action("abort")["signal"], signal.SIGABRT)
        self.assertEqual(self.run_action("too_large")["signal"], signal.SIGXFSZ)

    def test_what_it_finds_around_it(self):
        for name in ("RB_TEST_SECRET", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
            self.host.user.environment[name] = "/not/for/children"
        self.host.restart()
        said = self.run_action("surroundings")["stdout"]

        self.assertEqual(self.descriptors(said), [0, 1, 2])
        self.assertIn("input 0\n", said)
        self.assertIn("terminal No such device or address\n", said)
        self.assertIn("session own\n", said)
        self.assertLessEqual(set(re.findall(r"^setting (.+)$", said, re.M)), ALLOWED)

    @staticmethod
    def descriptors(said):
        return [int(number) for number in re.findall(r"^descriptor (\d+)$", said, re.M)]


class PortableOutput(Output):
    """The same through the portable supervisor, whose lifeline the program inherits."""

    supervisor = "repobridge-run-portable"
    room = "repobridge-room-portable"
    isolation = "best_effort"

    @staticmethod
    def descriptors(said):
        found = Output.descriptors(said)
        assert found.pop() == 198, found
        return found

    def test_who_is_left_behind_holds_nothing_up(self):
        """A daemon that holds the output is found, and what cannot be ended is said: containment_test has that."""
