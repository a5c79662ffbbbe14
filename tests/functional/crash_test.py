"""Whatever is killed, and whenever: the work is done or not begun, and the next call works."""

import contextlib
import hashlib
import itertools
import json
import os
import signal
import subprocess

from bridge_case import shape_of
from crash_case import PINNED, CrashCase, seen_from_outside, wait_until, without_control_groups
from harness import BIN, PATIENCE
from supervisor_case import WITHOUT, Fifo, GoFifo

MISBEHAVE = BIN / "children" / "misbehave"
# A push has so many steps that only some are met, unless all are asked for.
EVERY = 1 if os.environ.get("REPOBRIDGE_TEST_EVERY_STEP") == "1" else 6
GATED = """#!/bin/sh
read go <{gate}
exec {program}
"""
VIEWS = ({"view": "status"}, {"view": "diff", "paths": ["notes.txt"]})
COMMIT = {"workdir": "app", "paths": ["notes.txt"], "message": "a change"}


def end(handle):
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)


class Inspect(CrashCase):
    def test_the_bridge_is_killed(self):
        for _ in self.calls_until_the_bridge_lives("inspect_repo", workdir="app", view="status"):
            self.assert_clean()
            self.assertTrue(self.status()["clean"])

    def test_the_worker_is_killed(self):
        self.change()
        held = self.host.held_at_rest()
        for view in VIEWS:
            for code in self.calls_until_the_helper_lives("repobridge-git", "inspect_repo", workdir="app", **view):
                self.assertIn(code, (None, "REPO_GIT_FAILED"))
                self.assert_no_zombies()
                self.assertEqual(len(self.entries()), 1)
        self.assertEqual(self.host.held_at_rest(), held)
        self.assert_clean()

    def test_the_front_is_killed_before_the_worker_looks(self):
        self.change()
        held = self.host.held_at_rest()
        gate = self.make_gate()
        for view in VIEWS:
            self.host.end_kept_worker()
            self.host.script("repobridge-git", GATED.format(gate=gate, program=BIN / "repobridge-git"))

            self.assertEqual(self.lose_front(gate, "inspect_repo", workdir="app", **view), "ok")

            self.host.spare("repobridge-git")
            self.assert_no_zombies()
            self.assert_next_front_works()
        self.assertEqual(self.host.held_at_rest(), held)
        self.assert_clean()

    def test_the_front_is_killed_while_a_kept_worker_is_stopped(self):
        self.change()
        held = self.host.held_at_rest()
        for view in VIEWS:
            self.status()
            [worker] = self.host.helpers("repobridge-git")
            os.kill(worker, signal.SIGSTOP)
            front, before = self.host.client(), self.calls_in_audit()
            front.start_call("inspect_repo", {"workdir": "app", **view})
            wait_until("the call has begun", lambda: self.calls_in_audit() != before)
            self.kill_front(front)
            os.kill(worker, signal.SIGCONT)
            [call] = self.calls_in_audit() - before

            self.assertEqual(self.wait_for_outcome(call), "ok")

            self.assertEqual(self.host.helpers("repobridge-git"), {worker})
            self.assert_no_zombies()
            self.assert_next_front_works()
        self.assertEqual(self.host.held_at_rest(), held)
        self.assert_clean()


class Bridge(CrashCase):
    def test_a_second_one_leaves_the_first_alone(self):
        done = subprocess.run(
            [BIN / "repobridged", "--config", self.host.out / "bridge.json"],
            env=self.host.user.environment,
            capture_output=True,
            timeout=PATIENCE,
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"BRIDGE_ALREADY_RUNNING", done.stderr)
        self.assertTrue(self.status()["clean"])


class Commit(CrashCase):
    def test_the_bridge_is_killed(self):
        """Each next call is one too that works after a restart, as far as it is let."""
        self.change()
        before, outcomes = self.repo.head(), set()
        for lived in self.calls_until_the_bridge_lives("commit_repo_changes", **COMMIT):
            self.assert_clean()
            outcomes.add((lived, self.assert_whole_commit(before)))
            before = self.repo.head()
            self.change()
        self.assertEqual(outcomes, {(False, False), (False, True), (True, True)})
        self.assertIn("INTERRUPTED", self.assert_audit_whole())

    def test_the_worker_is_killed(self):
        self.change()
        before = self.repo.head()
        held = self.host.held_at_rest()
        for code in self.calls_until_the_helper_lives("repobridge-git", "commit_repo_changes", **COMMIT):
            self.assertIn(code, (None, "REPO_GIT_FAILED"))
            self.assert_clean()
            self.assertEqual(self.assert_whole_commit(before), code is None)
            self.assert_no_zombies()
        self.assertEqual(self.host.held_at_rest(), held)

    def test_the_front_is_killed(self):
        gate = self.make_gate()
        self.host.script("repobridge-git", GATED.format(gate=gate, program=BIN / "repobridge-git"))
        self.change()
        before = self.repo.head()

        self.assertEqual(self.lose_front(gate, "commit_repo_changes", **COMMIT), "ok")

        self.assertTrue(self.assert_whole_commit(before))
        self.assert_no_zombies()
        self.assert_clean()


class Push(CrashCase):
    def assert_whole_push(self, before, head):
        """The remote has it or has it not, and only then may the tracking branch say so. True for the former."""
        there = self.remote.git("rev-parse", "main")
        noted = self.repo.git("rev-parse", "origin/main")
        self.assertIn((there, noted), ((before, before), (head, before), (head, head)))
        self.assert_clean()
        return there == head

    def test_the_bridge_is_killed(self):
        before, head, outcomes = self.base, self.make_commit(), set()
        for lived in self.calls_until_the_bridge_lives("push_repo", every=EVERY, workdir="app"):
            done = self.assert_whole_push(before, head)
            outcomes.add((lived, done))
            if done:
                self.assertEqual(self.push()["result"], "up_to_date")
                self.assertTrue(self.assert_whole_push(head, head))
                before, head = head, self.make_commit()
        self.assertEqual(outcomes, {(False, False), (False, True), (True, True)})

    def test_the_worker_that_looks_is_killed(self):
        head = self.make_commit()
        for code in self.calls_until_the_helper_lives("repobridge-git", "push_repo", workdir="app"):
            self.assertIn(code, (None, "REPO_GIT_FAILED"))
            self.assertEqual(self.assert_whole_push(self.base, head), code is None)
            self.assert_no_zombies()

    def test_the_worker_that_notes_it_is_killed(self):
        head = self.make_commit()
        for step in itertools.count(1):
            self.host.end_kept_worker()
            self.host.strike("repobridge-git", step, nth=2)
            pushed = self.push()
            self.host.spare("repobridge-git")
            self.assertTrue(self.assert_whole_push(self.base, head))
            self.assert_no_zombies()
            if pushed["tracking_updated"]:
                break
        self.assertGreater(step, 1)
        self.assertEqual(self.repo.git("rev-parse", "origin/main"), head)

    def test_the_front_is_killed(self):
        head = self.make_commit()
        held = self.host.held_at_rest()
        gate = self.make_gate()
        hook = self.remote.path / "hooks/pre-receive"
        hook.write_text(f"#!/bin/sh\nread go <{gate}\n")
        hook.chmod(0o755)

        self.assertEqual(self.lose_front(gate, "push_repo", workdir="app"), "ok")

        self.assertTrue(self.assert_whole_push(self.base, head))
        self.assertEqual(self.repo.git("rev-parse", "origin/main"), head)
        self.assert_no_zombies()
        self.assert_next_front_works()
        self.assertEqual(self.push()["result"], "up_to_date")
        self.assertEqual(self.host.held_at_rest(), held)

    def test_a_supervisor_is_killed(self):
        """Each that a push starts, once before its program and once while it works."""
        before, head = self.base, self.make_commit()
        for nth in itertools.count(1):
            for step in (1, 3):
                self.host.strike("repobridge-run", step, nth)
                _, error = self.call("push_repo", workdir="app")
                self.host.spare("repobridge-run")
                if error is None:
                    self.assertGreater(nth, 2)
                    return
                self.assertEqual(error["code"], "REPO_CLEANUP_UNPROVEN")
                self.host.stop()
                self.assertEqual(self.host.lease("recover", "--yes")[0], 0)
                self.host.start()
                if self.assert_whole_push(before, head):
                    self.push()
                    before, head = head, self.make_commit()


class RunCase(CrashCase):
    isolation = "required"

    @classmethod
    def prepare(cls, host):
        cls.host.workdirs["app"].write("pinned", PINNED)
        ways = host.ways_into_room("app")
        cls.life = Fifo(ways / "life")
        cls.go = GoFifo(ways / "go")
        cls.marker = ways / "marker"
        cls.addClassCleanup(cls.life.close)
        more = {"mutates": True, "isolation": cls.isolation, "integrity": {"pinned": hashlib.sha256(PINNED.encode()).hexdigest()}}
        places = [str(place) for place in (cls.life.path, cls.go.path, cls.marker)]
        actions = {mode: {"argv": [str(MISBEHAVE), mode, *places], **more} for mode in ("late", "late_daemon")}
        actions["quick"] = {"argv": [str(MISBEHAVE), "exit", "0"], **more}
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps(actions)

    def begin(self, action):
        """A front whose call is at work, and the id of a process of the action."""
        front = self.host.client()
        call = front.start_call("run_repo_action", {"workdir": "app", "action": action})
        own_id = int(self.life.line())
        [supervisor] = self.host.helpers("repobridge-run")
        return front, call, seen_from_outside(own_id, supervisor)

    def result(self, front, call):
        return shape_of(front.answer(call)["result"], "run_repo_action", {"workdir": "app"})

    def quick(self):
        return self.data("run_repo_action", workdir="app", action="quick")


class Run(RunCase):
    def test_the_bridge_is_killed_at_a_step(self):
        for _ in self.calls_until_the_bridge_lives("run_repo_action", workdir="app", action="quick"):
            self.assert_clean()
            self.assertEqual(self.quick()["exit_code"], 0)

    def test_the_bridge_is_killed_while_it_runs(self):
        for action in ("late", "late_daemon"):
            self.begin(action)
            self.host.kill()
            self.life.wait_for_end()
            self.host.start()
            self.host.wait_for_orphans()
            self.assert_clean()
            self.assertFalse(self.marker.exists())
            self.assertEqual(self.host.audit()[-2]["outcome"], "INTERRUPTED")
            self.assertEqual(self.quick()["exit_code"], 0)

    def test_the_supervisor_is_killed_at_a_step(self):
        for code in self.calls_until_the_helper_lives("repobridge-run", "run_repo_action", workdir="app",
                                                      action="quick"):
            if code is not None:
                self.refused("WORKDIR_RECOVERY_REQUIRED", "run_repo_action", workdir="app", action="quick")
            self.assert_no_zombies()
            self.host.stop()
            if code is not None:
                self.assertEqual(self.host.lease("recover", "--yes")[0], 0)
            self.host.start()
            self.assert_clean()

    def test_the_front_is_killed(self):
        front, _, program = self.begin("late")
        self.kill_front(front)
        os.kill(program, signal.SIGKILL)
        self.life.wait_for_end()
        wait_until("the run is done", lambda: self.host.audit()[-1]["event"] == "end")

        self.assertEqual(self.host.audit()[-1]["outcome"], "ok")
        self.assert_clean()
        self.assertEqual(self.quick()["exit_code"], 0)

    def test_a_room_ends_with_its_supervisor(self):
        """Nobody can prove it then, so the administrator is asked all the same."""
        front, call, _ = self.begin("late_daemon")
        [supervisor] = self.host.helpers("repobridge-run")
        os.kill(supervisor, signal.SIGKILL)
        _, error = self.result(front, call)

        self.assertEqual(error["code"], "REPO_CLEANUP_UNPROVEN")
        self.life.wait_for_end()
        self.assertFalse(self.marker.exists())
        self.host.stop()
        code, said = self.host.lease("recover", "--yes")
        self.assertEqual(code, 0, said)
        self.assertNotIn("They may still write", said)
        self.host.start()
        self.assertEqual(self.quick()["exit_code"], 0)

    def test_bridge_and_supervisor_are_killed_at_once(self):
        self.begin("late")
        [supervisor] = self.host.helpers("repobridge-run")
        os.kill(supervisor, signal.SIGSTOP)  # so that it cannot end the run when the bridge goes
        self.host.kill()
        os.kill(supervisor, signal.SIGKILL)
        self.life.wait_for_end()
        self.host.start()
        self.host.wait_for_orphans()
        self.refused("WORKDIR_RECOVERY_REQUIRED", "run_repo_action", workdir="app", action="quick")
        self.assertEqual(self.host.lease("recover", "--yes")[0], 0)
        self.assertEqual(self.quick()["exit_code"], 0)
        self.assert_clean()


class RunWithoutNamespaces(RunCase):
    """Where a room cannot hold its processes, a daemon outlives its supervisor."""

    isolation = "best_effort"

    @classmethod
    def prepare(cls, host):
        host.launcher = [*without_control_groups(), WITHOUT, "namespaces", *host.launcher[-2:]]
        super().prepare(host)

    def test_what_survives_its_supervisor_is_shown_to_the_administrator(self):
        front, call, daemon = self.begin("late_daemon")
        handle = os.pidfd_open(daemon)
        self.addCleanup(os.close, handle)
        self.addCleanup(end, handle)
        [supervisor] = self.host.helpers("repobridge-run")
        os.kill(supervisor, signal.SIGKILL)
        _, error = self.result(front, call)
        self.assertEqual(error["code"], "REPO_CLEANUP_UNPROVEN")
        self.refused("WORKDIR_RECOVERY_REQUIRED", "commit_repo_changes", **COMMIT)
        self.assertTrue(self.status()["clean"])

        code, said = self.host.lease("recover", "--yes")
        self.assertEqual(code, 2)
        self.assertIn("stop the bridge", said)
        self.host.stop()
        self.host.start()
        details = self.refused("WORKDIR_RECOVERY_REQUIRED", "run_repo_action", workdir="app", action="quick")
        self.assertEqual((details["holder"]["tool"], details["holder"]["action"]), ("run_repo_action", "late_daemon"))
        self.assertEqual(json.loads(self.host.lease("show", "--json")[1])["state"], "recovery_required")

        code, said = self.host.recover_by_hand(b"n")
        self.assertEqual(code, 1, said)
        for words in ("late_daemon", "the bridge could not prove", f"{daemon} ", "They may still write"):
            self.assertIn(words, said)
        self.assertEqual(json.loads(self.host.lease("show", "--json")[1])["state"], "recovery_required")

        end(handle)
        self.life.wait_for_end()
        code, said = self.host.recover_by_hand(b"y")
        self.assertEqual(code, 0, said)
        self.assertNotIn("They may still write", said)
        self.assertEqual(self.host.audit()[-1]["event"], "recovered")
        self.assertEqual(self.host.lease("recover", "--yes")[0], 1)
        self.assertEqual(self.quick()["exit_code"], 0)
        self.assertFalse(self.marker.exists())
        self.assert_clean()

