"""repobridge-run: whatever a program does, nothing of it is alive when its supervisor says so."""

import os
import re
import signal
import statistics
import sys
import time
import unittest

from control_groups import Delegated, end_group, is_populated
from supervisor_case import ORDINARY, ROOT, Level, Place, Run

PROVEN = ["run", "drained"]
TERM = f"signalled {int(signal.SIGTERM)}"
# Programs that stay, with how many processes report that they have done their misdeed.
STAYERS = {
    "wait": 1, "session": 1, "daemon": 1, "group": 1, "sibling": 1, "subreaper": 1, "immortal": 1, "chains": 8,
    "zombies": 1, "vfork": 1, "stopped": 1, "traced": 1, "threads": 1, "late_daemon": 1, "flood": 1, "flood_both": 1,
    "trickle": 1, "silent": 1, "namespace": 1,
}  # fmt: skip


class Supervisor:
    """The tests, once for each build of the supervisor, kind of user and level."""

    program = "repobridge-run"
    user = None
    level = Level(group=True)

    @classmethod
    def setUpClass(cls):
        cls.times = {}
        cls.delegated = Delegated.make(cls.user) if cls.level.group else None
        if cls.level.group and cls.delegated is None:
            raise unittest.SkipTest("no control group can be made here, so this level cannot be reached")
        if cls.delegated:
            cls.addClassCleanup(cls.delegated.remove)

    @classmethod
    def tearDownClass(cls):
        """Kill to proof, each mode beside the plain one."""
        if "wait" not in cls.times:
            return
        plain = statistics.median(cls.times["wait"])
        taken = [time for times in cls.times.values() for time in times]
        ratios = ", ".join(f"{mode} {statistics.median(times) / plain:.1f}" for mode, times in cls.times.items())
        print(
            f"{cls.__name__}: kill to proof {statistics.median(taken) * 1000:.1f} ms in the middle, "
            f"{min(taken) * 1000:.1f} to {max(taken) * 1000:.1f}; beside the plain one's: {ratios}",
            file=sys.stderr,
        )

    def setUp(self):
        self.place = Place(self.user)
        self.addCleanup(self.place.remove)

    def start(self, mode, *arguments, beside=None, **options):
        argv = self.place.argv(mode, *arguments, beside=beside)
        return self.start_program(argv, **options)

    def start_program(self, argv, **options):
        return Run(self.place, self.program, argv, level=self.level, delegated=self.delegated, **options)

    def settle(self, mode, reports=1, beside=None):
        """A run whose program has done its misdeed; and the ids of those who reported."""
        run = self.start(mode, beside=beside)
        return run, [int(self.place.life.line()) for _ in range(reports)]

    def assert_proven(self, run, *expected):
        """The supervisor says exactly that, with proof; and nobody is alive, nor will write."""
        said = run.messages()
        self.assertEqual(said[0], "started")
        self.assertEqual(run.contained, self.level.expected())
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
        if run.group:
            self.assertFalse(run.group.exists())

    def assert_stopped(self, mode, run, *expected):
        """The same for a run that is stopped now; how long that takes is noted."""
        began = time.monotonic()
        run.stop()
        self.assert_proven(run, *expected)
        self.times.setdefault(mode, []).append(time.monotonic() - began)

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
        text = self.place.path / "text"
        text.write_text("no program")
        text.chmod(0o755)
        for path, code in ((self.place.path / "missing", 2), (self.place.room, 13), (text, 8)):
            run = self.start_program([path])
            self.assertEqual(run.messages(), [f"failed {code}"])
            self.assertEqual(run.wait(), 2)
            self.assertEqual(run.record(), PROVEN)
            if run.group:
                self.assertFalse(run.group.exists())

    def test_a_file_beyond_its_limit(self):
        run = self.start("too_large")

        self.assert_proven(run, f"signalled {int(signal.SIGXFSZ)}")

    def test_output_that_does_not_wait(self):
        run = self.start("unblocking")

        self.assert_proven(run, "exited 0")
        out, err = run.output()
        self.assertEqual((set(out), err), ({0}, b"full\n"))

    def test_who_is_left_behind_is_ended_and_counted(self):
        for mode, said in (("leaver", b"ok\n"), ("child_holds", b"ok\n"), ("hidden", b"")):
            with self.subTest(mode):
                run = self.start(mode)

                self.assertGreaterEqual(self.assert_proven(run, "exited 0"), 1)
                self.assertEqual(run.output(), (said, b""))

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
        plain = [("wait", STAYERS["wait"])] * 2  # once more, since the others' times are told beside its own
        for mode, reports in [*plain, *STAYERS.items()]:
            with self.subTest(mode):
                run, _ = self.settle(mode, reports)

                self.assert_stopped(mode, run, "ended-by stop", TERM)

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
        self.end_left(run, daemon)

    def end_left(self, run, daemon):
        """Who outlived a supervisor is found by the control group, and without one by chance."""
        if run.group:
            self.assertTrue(is_populated(run.group))
            end_group(run.group)
        else:
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


class Ordinary(Supervisor):
    """What an ordinary user's program may try beside."""

    user = ORDINARY if ROOT else None

    @property
    def inside(self):
        """Whether the program's signals stay inside."""
        return self.level.expected()[3] == 1

    @property
    def parent_group(self):
        return self.delegated.path if self.delegated else "/sys/fs/cgroup"

    def test_the_receipt_cannot_be_had(self):
        run = self.start("pry")
        run.messages()
        run.wait()
        said = run.output()[0].decode()

        self.assertEqual(re.findall(r"^\S+", said, re.M), ["/mem", "/environ", "/fd/3", "/fd/5", "/maps", "ptrace"])
        self.assertEqual(set(re.findall(r"^\S+ (.*)", said, re.M)), {"Permission denied", "Operation not permitted"})

    def test_what_it_can_reach(self):
        run = self.start("reach", beside=self.parent_group)
        said = run.messages()
        run.wait()
        reached = dict(line.split(": ") for line in run.output()[0].decode().splitlines())

        self.assertEqual(said[:2], ["started", "exited 0"])
        denied = ("Permission denied", "Operation not permitted", "No such file or directory")
        self.assertEqual(reached["own child"], "done")
        self.assertEqual(reached["signal"], "Operation not permitted" if self.inside else "done")
        for what in ("attach", "system", "mount"):
            self.assertIn(reached[what], denied, what)
        confined = self.level.expected()[2] > 0
        for what in ("move", "group"):
            self.assertIn(reached[what], ("done",) if self.delegated and not confined else denied, what)

    def test_ordinary_work(self):
        """What git and python do with files still works."""
        script = """set -e
            cd "$0"
            git init -q -b main one && cd one
            git config user.name n && git config user.email e@example.org
            mkdir a b && echo 1 >a/f && git add . && git commit -qm one
            git mv a/f b/f && mv b c && git add -A && git commit -qm two
            git gc -q --prune=now && cd .. && git clone -q one two
            python3 -c 'import os, pathlib, tempfile
with tempfile.TemporaryDirectory() as there:
    pathlib.Path(there, "x").write_text("1")
    os.rename(there + "/x", "two/x")
    os.symlink("x", "two/y")
    os.link("two/x", there + "/z")
    os.mkfifo(there + "/fifo")'
            echo said >/dev/stdout; echo >/dev/null; cat two/x"""
        run = self.start_program(
            ["/bin/sh", "-c", script, self.place.room],
            environment={"PATH": "/usr/bin:/bin", "HOME": str(self.place.room), "GIT_CONFIG_NOSYSTEM": "1"},
        )
        said = run.messages()
        code = run.wait()

        self.assertEqual((run.output(), said[:2], code), ((b"said\n1", b""), ["started", "exited 0"], 0))

    def test_a_bomb(self):
        if self.user is None:
            self.skipTest("the limit is about all of a user's processes, and this one has others")
        run, _ = self.settle("bomb")

        self.assert_stopped("bomb", run, "ended-by stop", TERM)

    def test_a_program_with_the_setuid_bit(self):
        if not ROOT:
            self.skipTest("only root can make one")
        privileged = self.place.path / "privileged"
        privileged.write_bytes(self.place.misbehave.read_bytes())
        privileged.chmod(0o4755)
        run, _ = self.settle("setuid", beside=privileged)

        self.assert_stopped("setuid", run, "ended-by stop", TERM)
        self.assertEqual(run.output(), (b"user same\n", b"setresuid: Operation not permitted\n"))

    def test_a_program_that_kills_its_supervisor(self):
        self.assert_attempt("kill_supervisor", b"kill: Operation not permitted\n")

    def test_a_program_that_leaves_its_group_and_kills_its_supervisor(self):
        if not self.delegated:
            self.skipTest("there is no group at this level")
        self.assert_attempt("migrate", b"migrate: Permission denied\nkill: Operation not permitted\n")

    def test_groups_within_its_group(self):
        if not self.delegated:
            self.skipTest("there is no group at this level")
        run, _ = self.settle("subgroup", beside=self.parent_group)
        confined = self.level.expected()[2] > 0
        self.assertEqual((run.group / "inner").exists(), not confined)

        run.stop()
        self.assert_proven(run, "ended-by stop", f"signalled {int(signal.SIGKILL)}")

    def assert_attempt(self, mode, refusal):
        """Refused where signals stay inside; elsewhere it happens, and nobody says that nothing is left."""
        run, [daemon] = self.settle(mode, beside=self.parent_group)
        if self.inside:
            self.place.life.line()  # it has tried
            self.assert_stopped(mode, run, "ended-by stop", TERM)
            err = run.output()[1]
            self.assertEqual(sorted(err.splitlines()), sorted(refusal.splitlines()))
            return
        self.assertEqual(run.wait(), -signal.SIGKILL)
        self.assertEqual(run.record(), ["run"])
        if run.group and mode == "migrate":
            self.assertFalse(is_populated(run.group))  # so an empty group alone is no proof
            self.assertFalse(run.confined())
            os.kill(daemon, signal.SIGKILL)
        self.end_left_of(run, daemon, mode)

    def end_left_of(self, run, daemon, mode):
        if run.group and mode == "migrate":
            end_group(run.group)
            self.place.life.wait_for_end()
            self.assertFalse(self.place.marker.exists())
        else:
            self.end_left(run, daemon)


class OrdinaryAtLevel3(Ordinary, unittest.TestCase):
    level = Level(group=True)


class OrdinaryAtLevel2(Ordinary, unittest.TestCase):
    level = Level(group=True, landlock=False)


class OrdinaryAtLevel1(Ordinary, unittest.TestCase):
    level = Level()


class OrdinaryAtLevel1WithoutLandlock(Ordinary, unittest.TestCase):
    level = Level(landlock=False)


class Portable(unittest.TestCase):
    """The supervisor of every POSIX system: what gets away from its process group is detected, and said."""

    ESCAPE = ("session", "daemon", "group", "sibling", "subreaper", "immortal", "late_daemon")

    def setUp(self):
        # The tests find by a control group whom the supervisor cannot.
        self.delegated = Delegated.make(ORDINARY if ROOT else None)
        if self.delegated is None:
            self.skipTest("without a control group the test could not end whom this supervisor cannot")
        self.addCleanup(self.delegated.remove)

    def start(self, argv_of):
        place = Place(ORDINARY if ROOT else None)
        self.addCleanup(place.remove)
        run = Run(place, "repobridge-run-portable", argv_of(place), level=Level(portable=True),
                  delegated=self.delegated)  # fmt: skip
        return place, run

    def settle(self, mode, reports=1):
        place, run = self.start(lambda place: place.argv(mode))
        return place, run, [int(place.life.line()) for _ in range(reports)]

    def test_who_stays_in_the_group_is_ended(self):
        for mode in STAYERS.keys() - {*self.ESCAPE, "chains"}:
            with self.subTest(mode):
                place, run, _ = self.settle(mode, STAYERS[mode])
                run.stop()
                said = run.messages()

                self.assertEqual(said[:-1], ["started", "ended-by stop", TERM])
                self.assertRegex(said[-1], r"^drained \d+$")
                self.assertEqual((run.wait(), run.contained), (0, (0, 0, 0, 0)))
                self.assertEqual(run.record(), PROVEN)
                place.life.wait_for_end()

    def test_whoever_gets_away_is_noticed(self):
        self.assert_noticed(*self.ESCAPE)  # at once, since each takes the whole time for killing

    def test_chains_of_forks_are_noticed(self):
        self.assert_noticed("chains")

    def assert_noticed(self, *modes):
        settled = {mode: self.settle(mode, STAYERS[mode]) for mode in modes}
        for _, run, _ in settled.values():
            run.stop()
        for mode, (_, run, _) in settled.items():
            with self.subTest(mode):
                said = run.messages()

                self.assertEqual(said[:-1], ["started", "ended-by stop", TERM])
                self.assertRegex(said[-1], r"^unproven [1-9]\d*$")
                self.assertEqual((run.wait(), run.record()), (1, ["run"]))
        self.assertTrue(is_populated(self.delegated.path))
        self.delegated.end_all()
        for place, _, _ in settled.values():
            place.life.wait_for_end()
            self.assertFalse(place.marker.exists())

    def test_one_that_holds_nothing_is_not_noticed(self):
        """The limit of this level, which docs/SECURITY.md tells; every other level proves more."""
        place, run = self.start(lambda place: place.argv("hidden"))

        said = run.messages()
        self.assertEqual(said[:-1], ["started", "exited 0"])
        self.assertRegex(said[-1], r"^drained [01]$")
        self.assertEqual(run.wait(), 0)
        place.life.line()
        self.assertTrue(is_populated(self.delegated.path))
        self.delegated.end_all()
        place.life.wait_for_end()
        self.assertFalse(place.marker.exists())

    def test_how_it_ends_by_itself(self):
        place, run, _ = self.settle("child_holds")
        self.assertEqual(run.messages(), ["started", "exited 0", "drained 1"])
        self.assertEqual((run.wait(), run.record(), run.output()), (0, PROVEN, (b"ok\n", b"")))
        place.life.wait_for_end()
        for arguments, words in ((("exit", "3"), "exited 3"), (("signal", "11"), "signalled 11")):
            _, run = self.start(lambda place, words=arguments: place.argv(*words))

            self.assertEqual(run.messages(), ["started", words, "drained 0"])
            self.assertEqual((run.wait(), run.record()), (0, PROVEN))

    def test_one_that_ignores_every_signal(self):
        place, run, _ = self.settle("stubborn")
        run.stop()

        self.assertEqual(run.messages()[:3], ["started", "ended-by stop", f"signalled {int(signal.SIGKILL)}"])
        self.assertEqual((run.wait(), run.record()), (0, PROVEN))
        place.life.wait_for_end()

    def test_the_end_of_the_bridge_is_the_end_of_the_run(self):
        place, run, _ = self.settle("late")
        run.bridge_dies()

        self.assertEqual((run.wait(), run.record()), (0, PROVEN))
        place.life.wait_for_end()
        self.assertFalse(place.marker.exists())

    def test_a_lifeline_that_is_written_to_proves_nothing_else(self):
        script = 'head -c 20000 /dev/zero >&198; exec "$@"'
        place, run = self.start(lambda place: ["/bin/bash", "-c", script, "sh", *place.argv("wait")])
        place.life.line()
        run.stop()

        self.assertEqual(run.messages(), ["started", "ended-by stop", TERM, "drained 0"])
        self.assertEqual(run.wait(), 0)
