"""What holds a run, level by level, through the whole bridge: who is killed, and what is left."""

import array
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import socket
import unittest

from action_case import ActionCase
from control_groups import can_make_groups
from crash_case import children_of, wait_until, without_control_groups
from harness import PATIENCE
from supervisor_case import WITHOUT, Level, landlock_version

QUICK = ["/bin/true"]
MISDEEDS = ("late_daemon", "kill_bridge", "kill_supervisor", "pass_output")


class Contained:
    """One level: `level` is what it is made of, `name` what the answer must call it."""

    level = Level()
    name = ""
    isolation = "best_effort"
    settings = {"REPOBRIDGE_ALLOW_UNSANDBOXED_GIT": "true"}
    actions = {"quick": (QUICK,), **{misdeed: (misdeed,) for misdeed in MISDEEDS}}

    @classmethod
    def setUpClass(cls):
        if cls.level.group and not can_make_groups():
            raise unittest.SkipTest(f"no control group can be made here, so {cls.name} cannot be reached")
        if cls.name == "L3" and landlock_version() < 6:
            raise unittest.SkipTest("the kernel's Landlock does not keep signals inside, so L3 cannot be reached")
        # No part of a room, but for Landlock: its namespaces end what is in them, and its filter lets nobody connect.
        lacking = ["namespaces", "seccomp"] if cls.level.landlock else ["landlock", "namespaces", "seccomp"]
        groups = [] if cls.level.group else without_control_groups()
        cls.launcher = [*groups, *(word for part in lacking for word in (WITHOUT, part))]
        super().setUpClass()

    def quick(self):
        run = self.run_action("quick")
        self.assertEqual((run["state"], run["exit_code"]), ("finished", 0))
        return run["containment"]

    def end(self, processes):
        """Those whom the test ends itself."""
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.life.wait_for_end()
        self.assertFalse(self.marker.exists())

    def recover(self):
        self.host.stop()
        done = self.host.administer("lease", "recover", "app", "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.host.start()
        self.quick()

    def group(self):
        """The control group of the run that is at work, as the record names it."""
        [record] = self.host.locks.glob("*.guard")
        return pathlib.Path(json.loads(record.read_text().splitlines()[1])["run"]["control_group"]["path"])

    def assert_group_gone(self):
        self.life.wait_for_end()
        self.assertFalse(self.marker.exists())
        self.assertFalse(self.at_work.exists())

    # What each level is tried with

    def test_what_held_is_in_the_answer(self):
        subreaper, group, version, signals = self.level.expected()
        self.assertEqual(
            self.quick(),
            {
                "level": self.name,
                "subreaper": bool(subreaper),
                "cgroup": bool(group),
                "landlock_abi": version,
                "signal_scope": bool(signals),
                "stragglers_killed": 0,
            },
        )

    def test_output_that_somebody_outside_holds(self):
        """Processes are proven gone, and who has the output is not known: that is no proof."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.fspath(self.outside))
            listener.listen()
            listener.settimeout(PATIENCE)
            self.addCleanup(self.outside.unlink)
            front = self.host.client()
            call = front.start_call("run_repo_action", {"workdir": "app", "action": "pass_output"})
            outside, _ = listener.accept()
            with outside:
                _, control, _, _ = outside.recvmsg(1, socket.CMSG_SPACE(array.array("i", [0]).itemsize))
                held = array.array("i", control[0][2])[0]
        _, error = self.result(front, call, "pass_output")
        os.close(held)
        self.assertEqual(error["code"], "REPO_CLEANUP_UNPROVEN")
        self.life.wait_for_end()
        self.recover()

    def test_a_program_that_kills_the_bridge(self):
        _, _, daemon = self.begin("kill_bridge")
        self.after_killing_the_bridge(daemon)

    def after_killing_the_bridge(self, daemon):
        """Signals stay inside: the bridge lives, and the program waits until the test stops it."""
        self.life.line()
        self.host.stop()
        self.life.wait_for_end()
        self.assertFalse(self.marker.exists())
        self.host.start()
        self.quick()

    def test_the_supervisor_is_killed(self):
        front, call, daemon = self.begin("late_daemon")
        supervisor = self.host.supervisor()
        left = [daemon, *children_of(supervisor)]
        self.at_work = self.group() if self.level.group else None
        os.kill(supervisor, signal.SIGKILL)
        self.after_killing_the_supervisor(self.result(front, call, "late_daemon"), left)

    def test_bridge_and_supervisor_are_killed(self):
        _, _, daemon = self.begin("late_daemon")
        supervisor = self.host.supervisor()
        left = [daemon, *children_of(supervisor)]
        self.at_work = self.group() if self.level.group else None
        os.kill(supervisor, signal.SIGSTOP)  # so that it cannot end the run when the bridge goes
        handle = os.pidfd_open(supervisor)
        self.host.kill()
        os.kill(supervisor, signal.SIGKILL)
        wait_until("the supervisor's end", lambda: is_over(handle))
        os.close(handle)
        self.host.start()
        self.after_killing_both(left)

    # What comes of it where nothing finds the daemon

    def after_killing_the_supervisor(self, result, left):
        _, error = result
        self.assertEqual(error["code"], "REPO_CLEANUP_UNPROVEN")
        self.refused("WORKDIR_RECOVERY_REQUIRED", "run_repo_action", workdir="app", action="quick")
        self.end(left)
        self.recover()

    def after_killing_both(self, left):
        self.refused("WORKDIR_RECOVERY_REQUIRED", "run_repo_action", workdir="app", action="quick")
        self.assertTrue(self.go.has_reader())
        self.end(left)
        self.recover()


def is_over(handle):
    try:
        return signal.pidfd_send_signal(handle, 0) is not None
    except ProcessLookupError:
        return True


class Level3(Contained, ActionCase):
    """Nothing survives whoever is killed, and that is proven."""

    level = Level(group=True)
    name = "L3"

    def after_killing_the_supervisor(self, result, left):
        run, _ = result
        self.assertEqual((run["state"], run["reason"], run["exit_code"]), ("killed", "supervisor_lost", None))
        self.assert_group_gone()
        self.quick()

    def after_killing_both(self, left):
        self.assert_group_gone()
        self.quick()


class Level2(Contained, ActionCase):
    """Nothing survives, unless it left its group: so nothing is proven."""

    level = Level(group=True, landlock=False)
    name = "L2"

    def after_killing_the_bridge(self, daemon):
        killed_bridge(self)

    def after_killing_the_supervisor(self, result, left):
        _, error = result
        self.assertEqual(error["code"], "REPO_CLEANUP_UNPROVEN")
        self.assert_group_gone()
        self.recover()

    def after_killing_both(self, left):
        self.assert_group_gone()
        self.refused("WORKDIR_RECOVERY_REQUIRED", "run_repo_action", workdir="app", action="quick")
        self.recover()


class Level1(Contained, ActionCase):
    """A daemon survives its supervisor; with Landlock no program of the run can end that."""

    level = Level()
    name = "L1"


class Level1WithoutLandlock(Contained, ActionCase):
    level = Level(landlock=False)
    name = "L1"

    def after_killing_the_bridge(self, daemon):
        killed_bridge(self)


class Level0(Contained, ActionCase):
    """The portable supervisor: nothing adopts, so a daemon is only noticed."""

    level = Level(portable=True)
    name = "L0"
    supervisor = "repobridge-run-portable"
    room = "repobridge-room-portable"
    actions = {**Contained.actions, "brief": ("late_daemon", {"timeout_seconds": 1})}

    def after_killing_the_bridge(self, daemon):
        """It did, and its supervisor could not end the daemon, nor say so to anybody."""
        self.host.wait_for_death()
        wait_until("the supervisor gives up", self.lock_is_free)
        self.end([daemon])
        self.host.start()
        self.refused("WORKDIR_RECOVERY_REQUIRED", "run_repo_action", workdir="app", action="quick")
        self.recover()

    def lock_is_free(self):
        [lock] = self.host.locks.glob("*.lock")
        with open(lock, "rb") as file, contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def test_a_daemon_is_noticed(self):
        front, call, daemon = self.begin("brief")
        _, error = self.result(front, call, "brief")

        self.assertEqual(error["code"], "REPO_CLEANUP_UNPROVEN")
        self.assertTrue(self.go.has_reader())
        self.refused("WORKDIR_RECOVERY_REQUIRED", "run_repo_action", workdir="app", action="quick")
        self.end([daemon])
        self.recover()


def killed_bridge(case):
    """The program did kill the bridge, whose supervisor then ended the run, with proof."""
    case.host.wait_for_death()
    case.life.wait_for_end()
    case.assertFalse(case.marker.exists())
    case.host.start()
    case.quick()
