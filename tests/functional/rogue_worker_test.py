"""A git worker that somebody took over: whatever it tries beyond its work, the kernel stops it. The same tries are seen
to succeed without the confinement, so that a refusal means something."""

import shutil
import socket
import subprocess

import remotes
from bridge_case import BridgeCase
from harness import BIN, PATIENCE

ALLOWED = {"look": {"read the work tree"}, "commit": {"read the work tree", "write an object"}}
# Not tried freely: what ends or replaces the process or its parent, and what this user or file system may not allow.
ONLY_CONFINED = {
    "exec", "exec from memory", "fork", "clone", "signal the parent", "trace the parent", "new namespaces", "mount",
    "io_uring", "chown outside", "attribute outside", "chmod by syscall", "read its own memory",
}  # fmt: skip
REFUSALS = {"EACCES", "EPERM", "ENOSYS", "EXDEV"}


class RogueWorkerTest(BridgeCase):
    def setUp(self):
        super().setUp()
        self.outside = self.host.path / "outside"
        self.tcp = remotes.listener()
        self.addCleanup(self.tcp.close)
        self.lay_out()
        self.addCleanup(lambda: self.unix.close())
        self.addCleanup(shutil.rmtree, self.outside)

    def lay_out(self):
        """Everything as it is before a try."""
        self.repo.remake()
        self.repo.save(a="one\n")
        (self.repo.git_dir / "scratch").mkdir()
        self.outside.mkdir()
        (self.outside / "secret").write_text("secret\n")
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(self.outside / "socket"))
        self.unix.listen()

    def lay_out_again(self):
        self.unix.close()
        shutil.rmtree(self.outside)
        self.lay_out()

    def ended(self, power, *only):
        """name of the try → how it ended."""
        done = subprocess.run(
            [BIN / "rogue_git", self.repo.path, power, "scratch" if power == "commit" else "", self.outside,
             str(self.tcp.getsockname()[1]), self.outside / "socket", *only],
            env=self.host.user.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("\t") for line in done.stdout.splitlines())

    def assert_stopped(self, power):
        ended = self.ended(power)
        self.assertGreater(len(ended), 40)
        self.assertEqual({name for name, how in ended.items() if how == "done"}, ALLOWED[power])
        odd = {name: how for name, how in ended.items() if how not in REFUSALS | {"done"}}
        self.assertEqual(odd, {})
        self.assertEqual((self.outside / "secret").read_text(), "secret\n")
        self.assertFalse(remotes.was_called(self.tcp))
        self.assertEqual(self.repo.read("a"), b"one\n")

    def test_that_looks(self):
        self.assert_stopped("look")

    def test_that_commits(self):
        self.assert_stopped("commit")

    def test_that_is_free(self):
        for name in sorted(set(self.ended("look")) - ONLY_CONFINED):
            with self.subTest(name=name):
                self.lay_out_again()
                self.assertEqual(self.ended("free", name), {name: "done"})
