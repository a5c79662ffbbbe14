"""repobridge-run: whatever a program does, nothing of it is alive when its supervisor says so."""

import os
import re
import signal
import unittest

from supervisor_case import ORDINARY, ROOT, Place, Run

PROVEN = ["run", "drained"]


class Supervisor:
    """The tests, once for each build of the supervisor and each kind of user."""

    program = "repobridge-run"
    user = None

    def setUp(self):
        self.place = Place(self.user)
        self.addCleanup(self.place.remove)

    def start(self, mode, *arguments, **options):
        return Run(self.place, self.program, self.place.argv(mode, *arguments), **options)

    def settle(self, mode, reports=1):
        """A run whose program has done its misdeed; and the ids of those who reported."""
        run = self.start(mode)
        return run, [int(self.place.life.line()) for _ in range(reports)]

    def assert_proven(self, run, *expected):
        """The supervisor says exactly that, with proof; and nobody is alive, nor will write."""
        said = run.messages()
        self.assertEqual(said[0], "started")
        *words, drained = said[1:]
        self.assertEqual(words, list(expected))
        self.assertRegex(drained, r"^drained \d+$")
        self.assertEqual(run.wait(), 0)
        self.assert_nothing_left(run)
        return int(drained.split()[1])

    def assert_nothing_left(self, run):
        self.place.life.wait_for_end()
        self.assertFalse(self.place.go.has_reader())
        self.assertFalse(self.place.marker.exists())
        self.assertEqual(run.record(), PROVEN)

    # How a program ends by itself

    def test_exit_code(self):
        for code in (0, 1, 3, 255):
            run = self.start("exit", str(code))
            self.assertEqual(run.messages(), ["started", f"exited {code}", "drained 0"])
            self.assertEqual(run.wait(), 0)
            self.assertEqual(run.output(), (b"", b""))
            self.assertEqual(run.record(), PROVEN)

    def test_death_by_signal(self):
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE):
            run = self.start("signal", str(int(number)))
            self.assertEqual(run.messages(), ["started", f"signalled {int(number)}", "drained 0"])
            self.assertEqual(run.wait(), 0)

    def test_a_program_that_cannot_be_started(self):
        for path, code in ((self.place.path / "missing", 2), (self.place.room, 13)):
            run = Run(self.place, self.program, [path])
            self.assertEqual(run.messages(), [f"failed {code}"])
            self.assertEqual(run.wait(), 2)
            self.assertEqual(run.record(), PROVEN)

    def test_who_is_left_behind_is_ended_and_counted(self):
        run, _ = self.settle("leaver")

        self.assertGreaterEqual(self.assert_proven(run, "exited 0"), 1)

        self.assertEqual(run.output(), (b"ok\n", b""))

    def test_a_chain_of_forks_is_caught(self):
        run, _ = self.settle("chain")

        self.assert_proven(run, "exited 0")

    # How it is ended

    def test_deadline(self):
        run = self.start("wait", limit_ms=50)

        self.assert_proven(run, "ended-by deadline", f"signalled {int(signal.SIGTERM)}")

    def test_deadline_of_one_that_ignores_it(self):
        run = self.start("stubborn", limit_ms=1)
        # It may have died before it learned to ignore anything; then a second try would not be the same test.
        said = run.messages()

        self.assertEqual(said[:2], ["started", "ended-by deadline"])
        self.assertIn(said[2], [f"signalled {int(number)}" for number in (signal.SIGTERM, signal.SIGKILL)])
        self.assertEqual(run.wait(), 0)
        self.assert_nothing_left(run)

    def test_a_polite_one_may_tidy_up(self):
        run, _ = self.settle("polite")
        run.stop()

        self.assert_proven(run, "ended-by stop", "exited 7")

    def test_one_that_ignores_every_signal(self):
        run, _ = self.settle("stubborn")
        run.stop()

        self.assert_proven(run, "ended-by stop", f"signalled {int(signal.SIGKILL)}")

    def test_whoever_tries_to_get_away(self):
        reports = {"chains": 8}
        for mode in ("wait", "session", "daemon", "group", "sibling", "subreaper", "immortal", "chains", "zombies",
                     "vfork", "stopped", "traced", "threads", "late_daemon"):
            with self.subTest(mode):
                run, _ = self.settle(mode, reports.get(mode, 1))
                run.stop()

                self.assert_proven(run, "ended-by stop", f"signalled {int(signal.SIGTERM)}")

    def test_flood_is_ended_while_nobody_reads(self):
        run, _ = self.settle("flood")
        run.stop()

        self.assert_proven(run, "ended-by stop", f"signalled {int(signal.SIGTERM)}")

    # When the bridge is gone

    def test_the_end_of_the_bridge_is_the_end_of_the_run(self):
        for mode in ("wait", "polite", "daemon", "subreaper", "late_daemon", "late"):
            with self.subTest(mode):
                run, _ = self.settle(mode)
                run.bridge_dies()

                self.assertEqual(run.wait(), 0)
                self.assert_nothing_left(run)

    def test_a_bridge_that_is_gone_before_anything_began(self):
        run = self.start("late")
        run.bridge_dies()

        self.assertEqual(run.wait(), 0)
        self.assert_nothing_left(run)

    # When the supervisor is killed

    def test_its_program_goes_with_it(self):
        run, [program] = self.settle("late")
        run.kill()

        self.assertEqual(run.wait(), -signal.SIGKILL)
        self.place.life.wait_for_end()
        self.assertEqual(run.record(), ["run"])

    def test_a_daemon_may_survive_it_and_the_record_does_not_say_otherwise(self):
        run, [daemon] = self.settle("late_daemon")
        run.kill()

        self.assertEqual(run.wait(), -signal.SIGKILL)
        self.assertTrue(self.place.go.has_reader())
        self.assertEqual(run.record(), ["run"])
        os.kill(daemon, signal.SIGKILL)
        self.place.life.wait_for_end()
        self.assertFalse(self.place.marker.exists())

    # What the program sees

    def test_surroundings(self):
        run = self.start("surroundings", environment={"HOME": "/nowhere", "RB_RUN_ID": "r"})
        run.messages()
        run.wait()
        out, err = run.output()

        self.assertEqual(err, b"")
        self.assertEqual(
            out.decode().splitlines(),
            [
                *(f"descriptor {number}" for number in (0, 1, 2)),
                "input 0",
                "terminal No such device or address",
                "session own",
                "setting HOME=/nowhere",
                "setting RB_RUN_ID=r",
            ],
        )


class StaticSupervisor(Supervisor, unittest.TestCase):
    pass


class SanitizedSupervisor(Supervisor, unittest.TestCase):
    program = "repobridge-run-sanitized" if os.environ.get("REPOBRIDGE_SANITIZED") == "1" else "repobridge-run"


class OrdinaryUser(Supervisor, unittest.TestCase):
    user = ORDINARY if ROOT else None

    def test_the_receipt_cannot_be_had(self):
        run = self.start("pry")
        run.messages()
        run.wait()
        said = run.output()[0].decode()

        self.assertEqual(re.findall(r"^\S+", said, re.M), ["/mem", "/environ", "/fd/3", "/fd/5", "/maps", "ptrace"])
        self.assertEqual(set(re.findall(r"^\S+ (.*)", said, re.M)), {"Permission denied", "Operation not permitted"})

    def test_a_program_that_kills_its_supervisor(self):
        run, [daemon] = self.settle("kill_supervisor")

        self.assertEqual(run.wait(), -signal.SIGKILL)
        self.assertEqual(run.record(), ["run"])
        os.kill(daemon, signal.SIGKILL)
        self.place.life.wait_for_end()
        self.assertFalse(self.place.marker.exists())
