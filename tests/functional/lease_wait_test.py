"""Whoever waits for a workdir is served in turn, for as long as the administrator allows."""

import contextlib
import os
import signal
import time
import unittest

from lease_case import EXTERNAL, LeaseCase
from crash_case import wait_until

LONG, SHORT = "30", "1"


class Wait(LeaseCase):
    settings = {"WORKDIR_01_LEASE_WAIT_SECONDS": LONG, "WORKDIR_02_LEASE_WAIT_SECONDS": SHORT}

    def begin_commit(self, message, front=None):
        return self.begin_call("commit_repo_changes", self.order(message), front)

    def give_up(self, front, call):
        """Returns when the bridge has given the call up."""
        before = len(self.host.audit())
        front.notify("notifications/cancelled", {"requestId": call})
        wait_until("it is given up", lambda: len(self.host.audit()) > before)
        self.assertEqual(self.host.audit()[-1]["outcome"], "CALL_CANCELLED")

    def test_another_program_is_waited_for(self):
        self.change()
        before = self.repo.head()
        with self.held_by_another():
            front, call = self.begin_commit("after it")
            self.assertEqual(self.repo.head(), before)
        data, error = self.outcome(front, call, "commit_repo_changes", {"workdir": "app"})
        self.assertIsNone(error)
        self.assertEqual(self.repo.head(), data["commit"])

    def test_a_run_is_waited_for(self):
        self.change()
        runner, run, _ = self.begin_run()
        front, call = self.begin_commit("after the run")
        self.let_go(runner, run)
        _, error = self.outcome(front, call, "commit_repo_changes", {"workdir": "app"})
        self.assertIsNone(error)

    def test_first_come_first_served(self):
        actions = [f"by {number}" for number in range(4)]
        with self.held_by_another():
            waiting = []
            for message in actions:
                self.host.workdirs["app"].write(message, "new\n")
                order = {"workdir": "app", "paths": [message], "message": message}
                waiting.append((*self.begin_call("commit_repo_changes", order), order))
        for front, call, order in waiting:
            self.assertIsNone(self.outcome(front, call, "commit_repo_changes", order)[1])
        made = self.repo.git("log", "--reverse", "--format=%s", "-4").splitlines()
        self.assertEqual(made, actions)

    def test_a_cancelled_call_leaves_the_line(self):
        self.change()
        with self.held_by_another():
            first, given_up = self.begin_commit("given up")
            second, call = self.begin_commit("next in line")
            self.give_up(first, given_up)
        _, error = self.outcome(second, call, "commit_repo_changes", {"workdir": "app"})
        self.assertIsNone(error)
        self.assertEqual(self.repo.git("log", "--format=%s", "-2").splitlines()[0], "next in line")

    def test_no_longer_than_allowed(self):
        with self.held_by_another("other"):
            began = time.monotonic()
            details = self.commit_refused_with("WORKDIR_BUSY", "other")
            took = time.monotonic() - began
        self.assertEqual(details["holder"], EXTERNAL)
        self.assertGreaterEqual(took, float(SHORT))
        self.assertLess(took, float(SHORT) + 10)

    def test_whoever_stands_behind_is_told_who_holds_it(self):
        runner, run, _ = self.begin_run(alias="other")
        order = self.order(alias="other")
        waiting = [self.begin_call("commit_repo_changes", order) for _ in range(2)]
        for front, call in waiting:
            _, error = self.outcome(front, call, "commit_repo_changes", order)
            self.assertEqual(error["code"], "WORKDIR_BUSY")
            self.assertEqual(error["details"]["holder"]["action"], "late")
        self.let_go(runner, run, "other")

    def test_one_line_keeps_no_other_workdir_waiting(self):
        with self.held_by_another():
            waiting = self.begin_commit("waits")
            self.commits("other")
            self.give_up(*waiting)

    def test_the_bridge_ends_while_calls_wait(self):
        with self.held_by_another():
            self.begin_commit("waits")
            self.host.stop()
        self.assertEqual(self.host.audit()[-2]["outcome"], "CALL_CANCELLED")
        self.host.start()
        self.commits()

    def test_a_directory_that_came_meanwhile_is_not_written_to(self):
        """Its lock is another one."""
        self.change()
        moved = self.repo.path.with_name("moved")
        with self.held_by_another():
            front, call = self.begin_commit("waits")
            self.repo.path.rename(moved)
            self.repo.path.mkdir()
        _, error = self.outcome(front, call, "commit_repo_changes", {"workdir": "app"})
        self.repo.path.rmdir()
        moved.rename(self.repo.path)
        self.assertEqual(error["code"], "WORKDIR_UNAVAILABLE")

    def test_a_holder_that_cannot_be_proven_gone_is_not_waited_for(self):
        front, run, daemon = self.begin_run("late_daemon")
        waiting, call = self.begin_commit("waits")
        handle = os.pidfd_open(daemon)
        self.addCleanup(os.close, handle)
        [supervisor] = self.host.helpers("repobridge-run")
        began = time.monotonic()
        os.kill(supervisor, signal.SIGKILL)
        _, error = self.outcome(waiting, call, "commit_repo_changes", {"workdir": "app"})
        self.assertEqual(error["code"], "WORKDIR_RECOVERY_REQUIRED")
        self.assertLess(time.monotonic() - began, float(LONG) / 2)
        with contextlib.suppress(ProcessLookupError):  # its room has ended with its supervisor
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        self.life.wait_for_end()
        self.host.stop()
        self.assertEqual(self.host.lease("recover", "--yes")[0], 0)
        self.host.start()
        self.commits()


if __name__ == "__main__":
    unittest.main()
