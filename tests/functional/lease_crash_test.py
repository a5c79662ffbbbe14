"""What a writer's record says after a crash, a power cut, a full or a read-only disk: the workdir is proven free, or
it is the administrator's to look at. Never another writer's by mistake."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import unittest

from crash_case import KILL_AT, wait_until
from harness import BIN
from lease_case import LeaseCase, LeaseHost
from supervisor_case import ROOT

# The bridge takes no notice of its supervisor while that lives, and is killed with it.
BOTH = """#!/bin/sh
kill -STOP $PPID
ASAN_OPTIONS=detect_leaks=0 {kill_at} {steps} {program} "$@"
echo $? >{ended}
kill -KILL $PPID
"""
KILLED = 128 + signal.SIGKILL


class RecordCase(LeaseCase):
    def use(self, alias):
        """A writer's call there: None when it did its work, else the code."""
        self.change(alias)
        _, error = self.call("commit_repo_changes", **self.order(alias=alias))
        return error and error["code"]

    def assert_closed(self, *words):
        """Writers are kept out of this one workdir; what `lease recover` says of it before it asks."""
        self.assertEqual(self.use("app"), "WORKDIR_RECOVERY_REQUIRED")
        self.assertTrue(self.entries())
        self.assertIsNone(self.use("other"))
        self.assertEqual(json.loads(self.host.lease("show", "--json")[1])["state"], "recovery_required")
        before = self.host.record_of("app").read_bytes()
        code, said = self.host.recover_by_hand(b"n")
        self.assertEqual(code, 1, said)
        for word in ("did not end cleanly", *words):
            self.assertIn(word, said)
        self.assertEqual(self.host.record_of("app").read_bytes(), before)

    def recover(self):
        self.assertEqual(self.host.lease("recover", "--yes")[0], 0)
        self.assertIsNone(self.use("app"))


class Records(RecordCase):
    def real_record(self):
        """What a bridge and a supervisor wrote that were killed in the middle of a run."""
        self.begin_run()
        [supervisor] = self.host.helpers("repobridge-run")
        os.kill(supervisor, signal.SIGSTOP)
        self.host.kill()
        os.kill(supervisor, signal.SIGKILL)
        self.life.wait_for_end()
        self.host.wait_for_orphans()
        return self.host.record_of("app").read_bytes()

    def put(self, text):
        path = self.host.record_of("app")
        path.write_bytes(text)
        path.chmod(0o600)

    def first_line(self, record, **changes):
        first, _, rest = record.partition(b"\n")
        return json.dumps({**json.loads(first), **changes}).encode() + b"\n" + rest

    def test_cut_short(self):
        """Here and there; at every byte is for the unit test of the record."""
        record = self.real_record()
        self.assertEqual(record.count(b"\n"), 2)
        self.host.start()
        begun = len(record)  # until its run's line is whole, nothing was started
        first = record.index(b"\n")
        for length in (0, 1, 50, first - 1, first, first + 1, first + 2, first + 30, begun - 1, begun):
            self.put(record[:length])
            expected = "WORKDIR_RECOVERY_REQUIRED" if length == begun else None
            self.assertEqual(self.use("app"), expected, f"{length} of {len(record)} bytes")
        self.assert_closed("its supervisor was ended", "late", "supervisor", "ended")
        self.recover()

    def test_a_restart_after_a_power_cut(self):
        record = self.real_record()
        other_boot = self.first_line(record, boot="0" * 32)
        for text in (b"", record[:1], record.partition(b"\n")[0], other_boot, other_boot[:-5]):
            self.put(text)
            self.host.start()
            self.assertEqual(self.host.leftovers(), [], text)
            self.assertIsNone(self.use("app"), text)
            self.host.stop()
        self.host.start()

    def test_what_cannot_be_read(self):
        record = self.real_record()
        lines = record.splitlines(keepends=True)
        for text in (b"\n", b"garbage\n", b"\0" * 100 + b"\n", b"[]\n", self.first_line(record, version=3),
                     self.first_line(record, more=1), lines[1], record + b'{"later": 1}\n', record + b"\0\n"):
            self.put(text)
            self.host.start()
            self.assert_closed("its record cannot be read")
            self.recover()
            self.host.stop()
        self.host.start()

    def test_what_stands_in_its_place(self):
        path = self.host.record_of("app")
        for put in (os.mkdir, os.mkfifo, lambda name: os.symlink("nowhere", name)):
            put(path)
            self.assertEqual(self.use("app"), "WORKDIR_RECOVERY_REQUIRED")
            self.assertIsNone(self.use("other"))
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            self.assertIsNone(self.use("app"))


class BothAtOnce(RecordCase):
    def test_bridge_and_supervisor_are_killed_at_each_step(self):
        ended, outcomes = self.host.path / "ended", set()
        for step in range(1, 100):
            ended.unlink(missing_ok=True)
            self.host.helper_steps.write_text(f"{step}\n")
            self.host.script("repobridge-run", BOTH.format(kill_at=KILL_AT, steps=self.host.helper_steps,
                                                           program=BIN / "repobridge-run", ended=ended))
            self.call("run_repo_action", workdir="app", action="quick")
            self.host.spare("repobridge-run")
            self.host.bury()
            wait_until("the supervisor has ended", ended.exists)
            self.host.start()
            self.host.wait_for_orphans()
            code = self.use("app")
            outcomes.add(code)
            if code is not None:
                self.assert_closed("its supervisor was ended", "quick")
                self.recover()
            if int(ended.read_text()) != KILLED:
                break
        self.assertIsNone(code)  # the supervisor made all its steps, and its receipt says so
        self.assertEqual(outcomes, {None, "WORKDIR_RECOVERY_REQUIRED"})


def may_mount():
    """Root, and not kept from it by a container."""
    return ROOT and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


@unittest.skipUnless(may_mount(), "a small file system cannot be mounted here")
class Disk(RecordCase):
    """Locks and state are on small file systems of their own."""

    @classmethod
    def prepare(cls, host):
        super().prepare(host)
        for place in (host.locks, host.state):
            place.mkdir(mode=0o700, exist_ok=True)
            options = "size=1m,nr_inodes=64,mode=0700"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)
            cls.addClassCleanup(subprocess.run, ["umount", "--lazy", place], check=True)

    @contextlib.contextmanager
    def full(self, place):
        filler = pathlib.Path(place) / "filler"
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 4096)
        try:
            yield
        finally:
            filler.unlink()

    @contextlib.contextmanager
    def read_only(self, place):
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        try:
            yield
        finally:
            subprocess.run(["mount", "-o", "remount,rw", place], check=True)

    def test_no_room_for_the_record(self):
        before = self.repo.head()
        with self.full(self.host.locks):
            self.assertEqual(self.use("app"), "WORKDIR_LOCK_UNUSABLE")
            self.assertEqual(self.repo.head(), before)
            self.assertTrue(self.entries())
        self.assertIsNone(self.use("app"))

    def test_room_runs_out_during_a_run(self):
        front, call, _ = self.begin_run()
        with self.full(self.host.locks):
            self.let_go(front, call)
        self.assertIsNone(self.use("app"))

    def test_room_runs_out_and_the_bridge_is_killed(self):
        """The supervisor ends the run and cannot say so."""
        self.begin_run()
        with self.full(self.host.locks):
            self.host.kill()
            self.life.wait_for_end()
            self.host.wait_for_orphans()
        self.host.start()
        code = self.use("app")
        if code is not None:  # a page of the record had room where there was none for another
            self.assert_closed("its supervisor was ended")
            self.recover()
        self.assertFalse(self.marker.exists())

    def test_no_room_for_the_audit(self):
        with self.full(self.host.state):
            codes = (self.use("app") for _ in range(50))  # until the audit's last page is full too
            self.assertEqual(next(code for code in codes if code is not None), "AUDIT_UNAVAILABLE")
            head = self.repo.head()
            self.assertEqual(self.use("app"), "AUDIT_UNAVAILABLE")
            self.assertEqual(self.repo.head(), head)
        self.host.stop()
        self.host.start()
        self.assertIsNone(self.use("app"))

    def test_locks_that_are_read_only(self):
        with self.read_only(self.host.locks):
            self.assertEqual(self.use("app"), "WORKDIR_LOCK_UNUSABLE")
            self.assertTrue(self.entries())
            self.host.stop()
            self.host.start()
            self.assertEqual(self.use("app"), "WORKDIR_LOCK_UNUSABLE")
        self.host.stop()
        self.host.start()
        self.assertIsNone(self.use("app"))

    def test_a_state_directory_that_is_read_only(self):
        self.host.stop()
        with self.read_only(self.host.state):
            done = subprocess.run([BIN / "repobridged", "--config", self.host.out / "bridge.json"],
                                  env=self.host.user.environment, stdin=subprocess.DEVNULL, capture_output=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"Read-only file system", done.stderr)
            self.assertEqual(json.loads(self.host.lease("show", "--json")[1])["state"], "free")
        self.host.start()
        self.assertIsNone(self.use("app"))


if __name__ == "__main__":
    unittest.main()
