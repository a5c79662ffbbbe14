"""The lock file: other programs take part with it, and whatever is done to it there are never two writers."""

import contextlib
import os
import subprocess
import unittest

from harness import BIN, PATIENCE
from lease_case import EXTERNAL, LeaseCase

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


if __name__ == "__main__":
    unittest.main()
