"""`repobridge lease exec`: a command of the administrator's is the one writer of a workdir."""

import fcntl
import json
import os
import select
import signal
import subprocess
import termios
import time
import unittest

from crash_case import children_of, name_of, said_of, wait_until
from harness import BIN, PATIENCE
from lease_case import MISBEHAVE, LeaseCase

REFUSED = 125


class Exec(LeaseCase):
    settings = {"WORKDIR_01_LEASE_WAIT_SECONDS": "30"}

    def argv(self, *command, alias="app", options=()):
        config = ["--config", self.host.out / "bridge.json"]
        return [BIN / "repobridge", "lease", "exec", alias, *config, *options, "--", *command]

    def start(self, *command, **how):
        """The command at work."""
        options = {name: how.pop(name) for name in ("alias", "options") if name in how}
        environment = {**self.host.user.environment, **how.pop("environment", {})}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.Popen(self.argv(*command, **options), env=environment, **streams)

    def end_of(self, process, input=None):
        """(exit code, what it wrote, its errors)."""
        out, err = process.communicate(input, timeout=PATIENCE)
        return process.returncode, (out or b"").decode(), (err or b"").decode()

    def run_it(self, *command, **how):
        return self.end_of(self.start(*command, **how))

    def start_late(self, mode="late", **how):
        """A command that waits for its cue, and a process of it."""
        process = self.start(MISBEHAVE, mode, self.life.path, self.go.path, self.marker, **how)
        return process, int(self.life.line())

    def cue(self):
        with open(self.go.path, "w") as go:
            go.write("go\n")
        self.life.wait_for_end()
        self.marker.unlink()

    def supervisor_of(self, process):
        [child] = [child for child in children_of(process.pid) if name_of(child) == "repobridge-run"]
        return child

    def state(self, alias="app"):
        return json.loads(self.host.lease("show", "--json", alias=alias)[1])

    # The command's own

    def test_exit_codes_are_the_commands(self):
        for code in (0, 1, 2, 7, 125, 255):
            self.assertEqual(self.run_it("sh", "-c", f"exit {code}"), (code, "", ""))
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            self.assertEqual(self.run_it("sh", "-c", f"kill -{int(number)} $$")[0], 128 + number)

    def test_arguments_arrive_as_they_are(self):
        words = ["", "a b", "[a,b]", "--", "-x", "--wait", "{}", "%", "*", "\n"]
        code, out, _ = self.run_it("printf", "<%s>", *words)
        self.assertEqual((code, out), (0, "".join(f"<{word}>" for word in words)))

    def test_streams_go_straight_through(self):
        process = self.start("sh", "-c", "cat; echo wrong >&2", stdin=subprocess.PIPE)
        self.assertEqual(self.end_of(process, b"said to it\n" * 100000), (0, "said to it\n" * 100000, "wrong\n"))

    def test_output_is_not_bounded(self):
        code, out, _ = self.run_it("head", "-c", str(5 << 20), "/dev/zero")
        self.assertEqual((code, len(out)), (0, 5 << 20))

    def test_it_works_in_the_workdir_with_the_administrators_environment(self):
        code, out, _ = self.run_it("sh", "-c", "pwd; echo $OWN; env | grep -c ^RB_RUN_ID=",
                                   environment={"OWN": "word", "RB_RUN_ID": "of another"})
        self.assertEqual((code, out), (0, f"{self.repo.path}\nword\n1\n"))

    def test_it_may_use_git_and_the_bridge_goes_on_after_it(self):
        self.change()
        self.assertEqual(self.run_it("git", "commit", "-qam", "by exec")[0], 0)
        self.assertEqual(self.repo.git("log", "-1", "--format=%s"), "by exec")
        self.commits()

    # One writer

    def test_callers_see_it_as_the_holder(self):
        process, _ = self.start_late(alias="other")
        details = self.commit_refused_with("WORKDIR_BUSY", "other")
        self.assertEqual((details["holder"]["tool"], details["holder"]["action"]), ("lease exec", None))
        self.assertEqual(len(details["holder"]["run_id"]), 32)
        self.assertEqual(self.state("other"),
                         {"workdir": "other", "state": "busy", "holder": details["holder"]})
        self.cue()
        self.assertEqual(self.end_of(process)[0], 0)
        self.assertEqual(self.state("other")["state"], "free")
        self.commits("other")

    def test_a_caller_may_wait_for_it(self):
        process, _ = self.start_late()
        self.change()
        front, call = self.begin_call("commit_repo_changes", self.order())
        self.cue()
        self.assertEqual(self.end_of(process)[0], 0)
        self.assertIsNone(self.outcome(front, call, "commit_repo_changes", {"workdir": "app"})[1])

    def test_it_is_refused_while_a_call_writes(self):
        front, call, _ = self.begin_run()
        code, out, err = self.run_it("touch", self.host.path / "never")
        self.assertEqual((code, out), (REFUSED, ""))
        for words in ("WORKDIR_BUSY", "run_repo_action", "'late'"):
            self.assertIn(words, err)
        self.assertFalse((self.host.path / "never").exists())
        self.let_go(front, call)

    def test_it_is_refused_while_another_program_writes(self):
        with self.held_by_another():
            code, _, err = self.run_it("true")
        self.assertEqual(code, REFUSED)
        self.assertIn("WORKDIR_BUSY", err)

    def test_it_waits_when_told(self):
        with self.held_by_another():
            began = time.monotonic()
            code, _, err = self.run_it("true", options=["--wait", "1"])
            self.assertGreaterEqual(time.monotonic() - began, 1)
            self.assertEqual(code, REFUSED)
            self.assertIn("WORKDIR_BUSY", err)
            process = self.start("true", options=["--wait", "30"])
            wait_until("it waits", lambda: catches(process.pid, signal.SIGINT))
            self.assertIsNone(process.poll())
        self.assertEqual(self.end_of(process)[0], 0)

    def test_a_wait_can_be_given_up(self):
        with self.held_by_another():
            process = self.start("true", options=["--wait", "30"])
            wait_until("it waits", lambda: catches(process.pid, signal.SIGINT))
            process.send_signal(signal.SIGINT)
            code, _, err = self.end_of(process)
        self.assertEqual(code, REFUSED)
        self.assertIn("CALL_CANCELLED", err)

    def test_one_within_another_is_refused(self):
        inner = [os.fspath(word) for word in self.argv("true")]
        code, _, err = self.run_it(*inner)
        self.assertEqual(code, REFUSED)
        self.assertIn("lease exec", err)

    # How it ends

    def test_sigterm_goes_to_the_command_politely(self):
        process = self.start("sh", "-c", "trap 'echo bye; exit 3' TERM; echo ready; sleep 1000 & wait")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.end_of(process), (3, "bye\n", ""))
        self.commits()

    def test_ctrl_c_at_a_terminal(self):
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = self.start("sh", "-c", "trap 'echo bye; exit 3' TERM; echo ready; sleep 1000 & wait",
                             stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal)
        os.close(theirs)
        said = b""
        while b"ready" not in said:
            self.assertTrue(select.select([ours], [], [], PATIENCE)[0])
            said += os.read(ours, 4096)
        os.write(ours, b"\x03")
        self.assertEqual(process.wait(PATIENCE), 3)

    def test_what_it_leaves_behind_is_ended(self):
        places = f"{self.life.path} {self.go.path} {self.marker}"
        process = self.start("sh", "-c", f"setsid {MISBEHAVE} late {places} & read end", stdin=subprocess.PIPE)
        self.life.line()  # it is there
        self.assertEqual(self.end_of(process, b"end\n")[0], 0)
        self.life.wait_for_end()
        self.assertFalse(self.marker.exists())
        self.commits()

    def test_without_proof_the_workdir_stays_closed(self):
        process, daemon = self.start_late("late_daemon")
        handle = os.pidfd_open(daemon)
        self.addCleanup(os.close, handle)
        os.kill(self.supervisor_of(process), signal.SIGKILL)
        self.assertEqual(process.wait(PATIENCE), REFUSED)
        err = os.read(process.stderr.fileno(), 65536).decode()  # the daemon has it open too
        for words in ("REPO_CLEANUP_UNPROVEN", "stays closed", "lease recover"):
            self.assertIn(words, err)

        details = self.commit_refused_with("WORKDIR_RECOVERY_REQUIRED")
        self.assertEqual(details["holder"]["tool"], "lease exec")
        code, _, err = self.run_it("true")
        self.assertEqual(code, REFUSED)
        self.assertIn("WORKDIR_RECOVERY_REQUIRED", err)
        code, said = self.host.recover_by_hand(b"n")
        self.assertIn("lease exec", said)
        self.assertIn(f"{daemon} ", said)
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        self.life.wait_for_end()
        self.end_of(process)
        self.assertEqual(self.host.lease("recover", "--yes")[0], 0)
        self.commits()

    def test_when_it_is_killed_its_supervisor_ends_the_command(self):
        for mode in ("late", "late_daemon"):
            process, _ = self.start_late(mode)
            process.kill()
            self.end_of(process)
            self.life.wait_for_end()
            self.assertFalse(self.marker.exists())
            self.commits()  # waits for the supervisor's end

    def test_a_command_that_is_not_there(self):
        for command in ("no-such-command", "./no-such-command", "/", self.repo.path / "notes.txt"):
            code, _, err = self.run_it(command)
            self.assertEqual(code, REFUSED, err)
        self.assertEqual(self.state()["state"], "free")

    def test_a_workdir_that_is_not_there(self):
        code, _, err = self.run_it("true", alias="nobody")
        self.assertEqual(code, REFUSED)
        self.assertIn("WORKDIR_NOT_FOUND", err)


def catches(process, number):
    """Whether a process has a handler for the signal."""
    [caught] = [line.split()[1] for line in said_of(process, "status").splitlines() if line.startswith("SigCgt:")]
    return bool(int(caught, 16) & 1 << number - 1)


if __name__ == "__main__":
    unittest.main()
