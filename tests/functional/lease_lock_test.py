"""The lock file: other programs take part with it, and whatever is done to it there are never two writers."""

import contextlib
import os
import signal
import subprocess
import unittest

from bridge_case import shape_of
from harness import BIN, PATIENCE
from lease_case import EXTERNAL, LeaseCase, LeaseHost
from supervisor_case import ORDINARY, ROOT

HELD = 1  # what flock(1) says of it


class OtherPrograms(LeaseCase):
    def flock(self, alias, *options, command=("true",)):
        """flock(1) with nothing but the documented file: its exit code."""
        argv = ["flock", *options, self.host.lock_of(alias), *command]
        return subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=PATIENCE).returncode

    def test_lease_path_names_the_documented_file(self):
        for alias in ("app", "other"):
            code, said = self.host.lease("path", alias=alias)
            self.assertEqual((code, said), (0, f"{self.host.lock_of(alias)}\n"))

    def test_flock_alone_is_kept_out_while_a_call_writes(self):
        front, call, _ = self.begin_run()
        self.assertEqual(self.flock("app", "--nonblock"), HELD)
        self.assertEqual(self.flock("app", "--nonblock", "--shared"), HELD)
        self.assertEqual(self.flock("other", "--nonblock"), 0)
        done = self.host.path / "done"
        waiting = subprocess.Popen(["flock", self.host.lock_of("app"), "touch", done], stdin=subprocess.DEVNULL)
        self.let_go(front, call)
        self.assertEqual(waiting.wait(PATIENCE), 0)
        self.assertTrue(done.exists())
        self.assertEqual(self.flock("app", "--nonblock"), 0)

    def test_flock_alone_keeps_a_call_out(self):
        for options in ((), ("--shared",)):
            holder = subprocess.Popen(["flock", *options, self.host.lock_of("app"), "sh", "-c", "echo held; read end"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(holder.stdout.readline(), b"held\n")
            self.assertEqual(self.commit_refused_with("WORKDIR_BUSY")["holder"], EXTERNAL)
            self.assertTrue(self.data("inspect_repo", workdir="app", view="status")["entries"])
            self.commits("other")
            holder.communicate(b"end\n", timeout=PATIENCE)
            self.assertEqual(holder.returncode, 0)
            self.commits()

    def test_a_daemon_that_kept_the_descriptor_holds_it(self):
        """flock(1) itself has ended."""
        daemon = ["setsid", BIN / "children" / "misbehave", "late", self.life.path, self.go.path, self.marker]
        words = " ".join(str(word) for word in daemon)
        self.assertEqual(self.flock("app", command=("sh", "-c", f"{words} </dev/null &")), 0)
        self.life.line()
        self.assertEqual(self.commit_refused_with("WORKDIR_BUSY")["holder"], EXTERNAL)
        code, said = self.host.lease("recover", "--yes")
        self.assertEqual(code, 2)
        self.assertIn("another program holds", said)
        with open(self.go.path, "w") as go:
            go.write("go\n")
        self.life.wait_for_end()
        self.marker.unlink()
        self.commits()


def put_link(lock):
    lock.symlink_to(lock.with_name("elsewhere"))


def put_fifo(lock):
    os.mkfifo(lock, 0o600)


def put_directory(lock):
    lock.mkdir(mode=0o700)


def put_hard_link(lock):
    lock.touch(mode=0o600)
    os.link(lock, lock.with_name("second-name"))


def put_strangers(lock):
    lock.touch(mode=0o600)
    os.chown(lock, ORDINARY, ORDINARY)


def take_away(lock):
    for name in (lock, lock.with_name("elsewhere"), lock.with_name("second-name")):
        with contextlib.suppress(FileNotFoundError):
            name.rmdir() if name.is_dir() and not name.is_symlink() else name.unlink()


def unlink(lock):
    lock.unlink()


def rename_over(lock):
    fresh = lock.with_name("fresh")
    fresh.touch(mode=0o600)
    fresh.rename(lock)


class Attacks(LeaseCase):
    def test_the_file_goes_while_a_call_writes(self):
        for harm in (unlink, rename_over):
            front, call, _ = self.begin_run()
            harm(self.host.lock_of("app"))
            self.assertEqual(self.commit_refused_with("WORKDIR_BUSY")["holder"]["action"], "late")
            self.assertIn("busy", self.host.lease("show")[1])
            self.assertEqual(self.host.lease("recover", "--yes")[0], 2)
            self.let_go(front, call)
            self.commits()

    def test_the_file_goes_and_then_the_bridge(self):
        """Its supervisor ends the run; until then nobody writes, though the lock that is there is free."""
        for harm in (unlink, rename_over):
            self.begin_run()
            [supervisor] = self.host.helpers("repobridge-run")
            os.kill(supervisor, signal.SIGSTOP)
            harm(self.host.lock_of("app"))
            self.host.kill()
            code, said = self.host.lease("recover", "--yes")
            self.assertEqual(code, 2, said)
            os.kill(supervisor, signal.SIGCONT)
            self.life.wait_for_end()
            self.host.start()
            self.host.wait_for_orphans()
            self.commits()
            self.assertFalse(self.marker.exists())

    def test_the_file_goes_while_a_command_writes(self):
        argv = [BIN / "repobridge", "lease", "exec", "app", "--config", self.host.out / "bridge.json", "--"]
        for harm in (unlink, rename_over):
            command = subprocess.Popen([*argv, "sh", "-c", "echo held; read end"], env=self.host.user.environment,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(command.stdout.readline(), b"held\n")
            harm(self.host.lock_of("app"))
            self.assertEqual(self.commit_refused_with("WORKDIR_BUSY")["holder"]["tool"], "lease exec")
            command.communicate(b"end\n", timeout=PATIENCE)
            self.assertEqual(command.returncode, 0)
            self.commits()

    def test_something_else_stands_in_its_place(self):
        lock = self.host.lock_of("app")
        for put in (put_link, put_fifo, put_directory, put_hard_link, *([put_strangers] if ROOT else [])):
            with self.subTest(put.__name__):
                take_away(lock)
                put(lock)
                self.commit_refused_with("WORKDIR_LOCK_UNUSABLE")
                code, said = self.host.lease("show")
                self.assertEqual(code, 2)
                self.assertIn("WORKDIR_LOCK_UNUSABLE", said)
                self.assertTrue(self.status()["entries"])
                self.commits("other")
                take_away(lock)
                self.commits()
        self.assertFalse(lock.with_name("elsewhere").exists())

    def test_it_is_put_there_while_a_call_writes(self):
        lock = self.host.lock_of("app")
        for put in (put_link, put_fifo, put_directory):
            front, call, _ = self.begin_run()
            lock.unlink()
            put(lock)
            self.commit_refused_with("WORKDIR_LOCK_UNUSABLE")
            self.let_go(front, call)
            take_away(lock)
            self.commits()


class WithoutOverride(LeaseCase):
    """A bridge whom the modes of files bind, whoever runs the tests."""

    def setUp(self):
        super().setUp()
        if ROOT and not self.host.launcher[0] == "setpriv":
            self.host.stop()
            self.host.launcher = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *self.host.launcher]
            self.host.start()

    def test_modes_of_the_file(self):
        lock = self.host.lock_of("app")
        self.commits()
        for mode in (0o000, 0o400):
            lock.chmod(mode)
            self.commit_refused_with("WORKDIR_LOCK_UNUSABLE")
            self.commits("other")
        for mode in (0o600, 0o644, 0o666):
            lock.chmod(mode)
            self.commits()


class TwoConfigurations(LeaseCase):
    """A second bridge with a state directory of its own, on the same workdir."""

    def setUp(self):
        super().setUp()
        shared = {"WORKDIR_01_PATH": self.repo.path, "REPOBRIDGE_LOCK_DIR": self.host.locks,
                  "WORKDIR_01_REPO_ACTIONS_JSON": self.host.settings["WORKDIR_01_REPO_ACTIONS_JSON"]}
        self.second = LeaseHost(shared)
        self.addCleanup(self.second.remove)
        with self.host.before_there_are_ways():
            self.second.render()
        self.second.start()
        self.their_front = self.second.client()

    def they_call(self, tool, **arguments):
        return shape_of(self.their_front.call(tool, **arguments), tool, arguments)

    def test_one_writes_at_a_time(self):
        front, call, _ = self.begin_run()
        self.change()
        _, error = self.they_call("commit_repo_changes", **self.order())
        self.assertEqual((error["code"], error["details"]["holder"]["action"]), ("WORKDIR_BUSY", "late"))
        self.let_go(front, call)
        self.assertIsNone(self.they_call("commit_repo_changes", **self.order())[1])

        call = self.their_front.start_call("run_repo_action", {"workdir": "app", "action": "late"})
        self.life.line()
        self.assertEqual(self.commit_refused_with("WORKDIR_BUSY")["holder"]["action"], "late")
        self.let_go(self.their_front, call)
        self.commits()

    def test_the_lock_file_goes(self):
        for harm in (unlink, rename_over):
            front, call, _ = self.begin_run()
            harm(self.host.lock_of("app"))
            self.change()
            _, error = self.they_call("commit_repo_changes", **self.order())
            self.assertEqual((error["code"], error["details"]["holder"]["action"]), ("WORKDIR_BUSY", "late"))
            self.let_go(front, call)
            self.assertIsNone(self.they_call("commit_repo_changes", **self.order())[1])

    def test_what_one_could_not_prove_the_other_does_not_pass_over(self):
        front, call, daemon = self.begin_run("late_daemon")
        handle = os.pidfd_open(daemon)
        self.addCleanup(os.close, handle)
        [supervisor] = self.host.helpers("repobridge-run")
        os.kill(supervisor, signal.SIGKILL)
        _, error = self.outcome(front, call, "run_repo_action", {"workdir": "app", "action": "late_daemon"})
        self.assertEqual(error["code"], "REPO_CLEANUP_UNPROVEN")
        self.change()
        for _ in range(2):  # while the first bridge lives, and when it has ended
            _, error = self.they_call("commit_repo_changes", **self.order())
            self.assertEqual(error["code"], "WORKDIR_RECOVERY_REQUIRED")
            self.host.stop()
        with contextlib.suppress(ProcessLookupError):  # its room has ended with its supervisor
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        self.life.wait_for_end()
        self.assertEqual(self.host.lease("recover", "--yes")[0], 0)
        self.assertIsNone(self.they_call("commit_repo_changes", **self.order())[1])
        self.host.start()
        self.commits()

    def test_the_restart_of_one_leaves_the_writer_of_the_other_alone(self):
        front, call, _ = self.begin_run()
        self.second.stop()
        self.second.start()
        self.their_front = self.second.client()
        self.change()
        self.assertEqual(self.they_call("commit_repo_changes", **self.order())[1]["code"], "WORKDIR_BUSY")
        self.let_go(front, call)


if __name__ == "__main__":
    unittest.main()
