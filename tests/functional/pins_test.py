"""Pins: what an action reads is what was reviewed, before it starts and while it runs."""

import contextlib
import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import unittest

from action_case import ActionHost
from bridge_case import BridgeCase, shape_of
from harness import PATIENCE
from manifest import manifest_digest
from ordinary_user import assert_passes_as_an_ordinary_user
from supervisor_case import ROOT, WITHOUT

CHECK = "#!/bin/sh\ncat tools/data/words lib/a lib/name\n"
WORDS = "reviewed\n"
# Says that it is there, and when it is let go reads what is pinned.
GATE = """
exec 3<"$1"; read line <&3
cat tools/data/words lib/a lib/name
ls lib lib/sub conftest.py not 2>/dev/null; test -x lib/sub/run && stat -c %Y tools/data/words tools lib/sub
"""
# Puts other bytes in a file's place and the old file back, as fast as it can, until its input ends.
SWAPPER = """
import os, select, sys
name, other, kept = sys.argv[1:]
while not select.select([sys.stdin], [], [], 0)[0]:
    os.rename(name, kept)
    os.rename(other, name)
    os.rename(name, other)
    os.rename(kept, name)
"""


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def write_files(repository):
    repository.write("tools/check", CHECK, mode=0o755)
    repository.write("tools/data/words", WORDS)
    repository.write("lib/a", "library\n")
    repository.write("lib/sub/run", "#!/bin/sh\n", mode=0o755)
    (repository / "lib/name").symlink_to("a")


class PinsCase(BridgeCase):
    host_class = ActionHost
    launcher = []

    @classmethod
    def prepare(cls, host):
        host.launcher = cls.launcher
        host.user.environment["ASAN_OPTIONS"] = "detect_leaks=0"  # which would trace the bridge
        app = host.workdirs["app"]
        write_files(app)
        integrity = {
            "tools/check": digest(CHECK),
            "tools/data/words": digest(WORDS),
            "lib/": manifest_digest(app / "lib"),
            "conftest.py": "absent",
            "lib/sub/not.py": "absent",
            "not/there": "absent",
        }
        cls.gate = host.user.home / "gate"  # a FIFO in an overlay is another one
        os.mkfifo(cls.gate)
        waits = {"argv": ["/bin/sh", "-c", GATE, "gate", str(cls.gate)], "home_read": ["gate"], "integrity": integrity}
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps({
            "check": {"argv": ["./tools/check"], "mutates": False, "integrity": integrity},
            "check_anyway": {"argv": ["./tools/check"], "mutates": False, "integrity": integrity,
                             "isolation": "best_effort"},
            "lists": {"argv": ["/bin/sh", "-c", "ls tools/data; cat tools/data/other"], "mutates": False,
                      "integrity": integrity},
            "writes": {"argv": ["/bin/sh", "-c", "echo >written"], "mutates": True, "integrity": integrity},
            "waits": {**waits, "mutates": False, "isolation": "best_effort"},
            "waits_and_writes": {**waits, "mutates": True, "isolation": "best_effort"},
        })

    def setUp(self):
        super().setUp()
        write_files(self.repo)

    def run_action(self, action="check"):
        return self.data("run_repo_action", workdir="app", action=action)

    def states(self):
        listed = self.data("inspect_repo", workdir="app", view="actions")["actions"]
        return {one["name"]: one["pins"] for one in listed}


class BeforeItStarts(PinsCase):
    def test_what_holds_runs(self):
        run = self.run_action()

        self.assertEqual((run["exit_code"], run["pins"]), (0, {"count": 6, "protection": "overlay"}))
        self.assertEqual(run["stdout"], WORDS + "library\nlibrary\n")
        self.assertEqual(self.states()["check"], {"count": 6, "state": "ok"})
        self.assertEqual(self.run_action("writes")["pins"], {"count": 6, "protection": "reverified"})
        self.assertTrue((self.repo / "written").exists())

    def test_what_drifted_is_named_and_starts_nothing(self):
        lib = self.repo / "lib"
        cases = {
            "other bytes": (lambda: self.repo.write("tools/data/words", "other\n"), ["tools/data/words"]),
            "gone": (lambda: (self.repo / "tools/data/words").unlink(), ["tools/data/words"]),
            "a link to the same bytes": (lambda: self.linked("tools/data/words"), ["tools/data/words"]),
            "behind a link": (lambda: self.linked("tools/data"), ["tools/data/words"]),
            "a directory in its place": (lambda: self.directory("tools/data/words"), ["tools/data/words"]),
            "a new file of that name": (lambda: self.repo.write("conftest.py"), ["conftest.py"]),
            "a dangling link of that name": (lambda: (self.repo / "conftest.py").symlink_to("nowhere"),
                                             ["conftest.py"]),
            "an extra file": (lambda: self.repo.write("lib/extra"), ["lib/"]),
            "an extra directory": (lambda: (lib / "extra").mkdir(), ["lib/"]),
            "a missing file": (lambda: (lib / "sub/run").unlink(), ["lib/"]),
            "another mode": (lambda: (lib / "sub/run").chmod(0o644), ["lib/"]),
            "another target": (lambda: self.relinked(lib / "name", "sub"), ["lib/"]),
            "a FIFO": (lambda: os.mkfifo(lib / "sub/fifo"), ["lib/sub/fifo"]),
            "a repository": (lambda: (lib / "sub/.git").mkdir(), ["lib/sub/.git"]),
            "the directory a link": (lambda: self.linked("lib"), ["lib/", "lib/sub/not.py"]),
            "the directory gone": (lambda: shutil.rmtree(lib), ["lib/"]),
        }
        for name, (change, paths) in cases.items():
            with self.subTest(name):
                self.repo.remake()
                write_files(self.repo)
                change()

                details = self.refused("REPO_PIN_MISMATCH", "run_repo_action", workdir="app", action="writes")

                self.assertEqual(details, {"paths": paths})
                self.assertFalse((self.repo / "written").exists())
                self.assertEqual(self.states()["check"], {"count": 6, "state": "drift"})

    def linked(self, name):
        (self.repo / name).rename(self.repo / "real")
        (self.repo / name).symlink_to(self.repo / "real")

    def directory(self, name):
        (self.repo / name).unlink()
        (self.repo / name).mkdir()

    def relinked(self, path, target):
        path.unlink()
        path.symlink_to(target)


class WhileItRuns(PinsCase):
    """Somebody writes to the workdir meanwhile."""

    def run_while(self, change, action="waits"):
        """What becomes of a run during which that happened."""
        arguments = {"workdir": "app", "action": action}
        call = self.client.start_call("run_repo_action", arguments)
        with open(self.gate, "w") as gate:  # opens when the action does
            change()
            gate.write("go\n")
        return shape_of(self.client.answer(call)["result"], "run_repo_action", arguments)

    def swap_and_back(self, name):
        path, kept = self.repo / name, self.host.path / "kept"
        path.rename(kept)
        self.repo.write("evil", "evil\n").rename(path)
        path.unlink()
        kept.rename(path)

    def rewrite(self, name):
        path = self.repo / name
        facts, content = path.stat(), path.read_bytes()
        path.write_bytes(b"evil\n")
        path.write_bytes(content)
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    def come_and_go(self, name):
        self.repo.write(name, "evil\n").unlink()

    def undone(self):
        """name → a change that leaves nothing behind, and what tells of it."""
        return {
            "a file swapped": (lambda: self.swap_and_back("tools/data/words"), {"tools/data/words"}),
            "its directory swapped": (lambda: self.swap_and_back("tools/data"), {"tools/data/words"}),
            "written and written back": (lambda: self.rewrite("tools/data/words"), {"tools/data/words"}),
            "in a pinned directory": (lambda: self.swap_and_back("lib/sub/run"), {"lib/"}),
            "the pinned directory": (lambda: self.swap_and_back("lib"), {"lib/"}),
        }

    @contextlib.contextmanager
    def writer_that_never_rests(self):
        words, other = self.repo / "tools/data/words", self.repo.write("evil", "evil\n")
        writer = subprocess.Popen([shutil.which("python3"), "-c", SWAPPER, words, other, self.host.path / "kept"],
                                  stdin=subprocess.PIPE)
        try:
            yield
        finally:
            writer.stdin.close()
            self.assertEqual(writer.wait(PATIENCE), 0)
        self.assertEqual(words.read_text(), WORDS)


class Frozen(WhileItRuns):
    """An action that writes nothing sees the bytes that were reviewed, whatever becomes of the workdir."""

    def seen(self, change=lambda: None):
        """What the action saw of what is pinned."""
        data, error = self.run_while(change)
        self.assertIsNone(error)
        self.assertEqual((data["exit_code"], data["pins"]["protection"], data["stderr"]), (0, "overlay", ""))
        return data["stdout"]

    def test_no_change_is_seen(self):
        reviewed = self.seen()
        self.assertIn(WORDS + "library\nlibrary\n", reviewed)
        root = self.repo.path
        cases = {
            "other bytes": lambda: self.repo.write("tools/data/words", "evil\n"),
            "unlinked": lambda: (root / "tools/data/words").unlink(),
            "renamed over": lambda: self.repo.write("evil", "evil\n").rename(root / "tools/data/words"),
            "its directory swapped for good": lambda: self.replace_directory("tools/data", "words"),
            "the way to it a link": lambda: self.link_directory("tools"),
            "a pinned directory swapped for good": lambda: self.replace_directory("lib", "a"),
            "a pinned directory gone": lambda: shutil.rmtree(root / "lib"),
            "an entry more": lambda: self.repo.write("lib/sub/more", "evil\n"),
            "an entry less": lambda: (root / "lib/sub/run").unlink(),
            "another mode": lambda: (root / "lib/sub/run").chmod(0o644),
            "what was absent": lambda: self.repo.write("conftest.py", "evil\n"),
            "what was absent in a pinned directory": lambda: self.repo.write("lib/sub/not.py", "evil\n"),
            "what was absent with its directory": lambda: self.repo.write("not/there", "evil\n"),
            "everything": lambda: self.repo.remake(),
            **{name: change for name, (change, _) in self.undone().items()},
        }
        times = self.times()
        for name, change in cases.items():
            with self.subTest(name):
                self.repo.remake()
                write_files(self.repo)
                self.set_times(times)
                self.assertEqual(self.seen(change), reviewed)

    def times(self):
        return {name: (self.repo / name).stat().st_mtime_ns for name in ("tools/data/words", "tools", "lib/sub")}

    def set_times(self, times):
        for name, time in times.items():
            os.utime(self.repo / name, ns=(time, time))

    def replace_directory(self, name, file):
        (self.repo / name).rename(self.host.path / "kept")
        self.addCleanup(shutil.rmtree, self.host.path / "kept", ignore_errors=True)
        self.repo.write(f"{name}/{file}", "evil\n")
        shutil.rmtree(self.host.path / "kept")

    def link_directory(self, name):
        (self.repo / name).rename(self.repo / "elsewhere")
        (self.repo / name).symlink_to("elsewhere")
        self.repo.write("elsewhere/data/words", "evil\n")

    def test_nothing_in_the_workdir_keeps_them_from_being_frozen(self):
        self.repo.write(os.fsdecode(b"tools/\xff\n:,\\"), "odd")
        self.repo.write("upper/work", "odd")
        self.listen(self.repo / "tools/socket")
        self.mark("user.overlay.")
        if ROOT:
            self.mark("trusted.overlay.")
            self.white_out()
        before_1970, far_away = (-1, -1), (2**33 * 10**9, 2**33 * 10**9)
        for times in (before_1970, far_away):
            with self.subTest(times):
                self.all_times(times)
                run = self.run_action()

                self.assertEqual((run["exit_code"], run["stdout"]), (0, WORDS + "library\nlibrary\n"))
                self.assertEqual(run["pins"]["protection"], "overlay")

    def all_times(self, times):
        for name in ("tools/data/words", "tools/data", "tools", "lib/a", "lib/sub", "lib", "."):
            os.utime(self.repo / name, ns=times)

    @staticmethod
    def listen(path):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))

    def mark(self, prefix):
        """With all that says to an overlay that something is elsewhere, or nothing."""
        says = {"opaque": b"y", "redirect": b"/lib", "metacopy": b"", "origin": b"\0", "whiteout": b"y", "impure": b"y"}
        for name in (".", "tools", "tools/data", "tools/data/words", "lib", "lib/a", "tools/check"):
            for word, value in says.items():
                with contextlib.suppress(OSError):  # not every file system has attributes
                    os.setxattr(self.repo / name, prefix + word, value)

    def white_out(self):
        for name in ("whiteout", "tools/whiteout", "conftest"):
            os.mknod(self.repo / name, stat.S_IFCHR, os.makedev(0, 0))

    def test_a_writer_that_never_rests(self):
        """It can keep a run from starting, and never shows one other bytes."""
        ran = refused = 0
        with self.writer_that_never_rests():
            while not ran or not refused:
                data, error = self.call("run_repo_action", workdir="app", action="check")
                if error:
                    self.assertEqual(error["code"], "REPO_PIN_MISMATCH")
                    refused += 1
                else:
                    self.assertEqual(data["stdout"], WORDS + "library\nlibrary\n")
                    ran += 1

    def test_what_is_not_pinned_stays_as_it_is(self):
        """The copies stand among the rest of the workdir."""
        self.repo.write("tools/data/other", "not pinned\n")
        data = self.run_action("lists")

        self.assertEqual(data["stdout"].split(), ["other", "words", "not", "pinned"])


class Many(PinsCase):
    """A thousand pins, and some for names that are not there."""

    names = [f"many/{number % 10}/{number}" for number in range(1000)]

    @classmethod
    def prepare(cls, host):
        cls.write_them(host.workdirs["app"])
        pins = {**{name: digest(name) for name in cls.names}, **{f"{name}.py": "absent" for name in cls.names[:100]}}
        action = {"argv": ["/bin/sh", "-c", "cat many/*/* | wc -c"], "mutates": False, "integrity": pins}
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps({"many": action})

    @classmethod
    def write_them(cls, repository):
        for name in cls.names:
            repository.write(name, name)

    def setUp(self):
        BridgeCase.setUp(self)
        self.write_them(self.repo)

    def test_they_are_frozen(self):
        run = self.run_action("many")

        self.assertEqual(run["pins"], {"count": 1100, "protection": "overlay"})
        self.assertEqual(run["stdout"].strip(), str(len("".join(self.names))))


@unittest.skipUnless(ROOT, "whoever is not root mounts nothing")
class AMountInTheWorkdir(PinsCase):
    """An overlay would not show it, so there is none."""

    @classmethod
    def prepare(cls, host):
        mounted = host.ways_into_room("app") / "moun ted"
        mounted.mkdir()
        mount = 'mount -t tmpfs tmpfs "$0" && echo mounted >"$0/file" && exec "$@"'
        cls.launcher = [shutil.which("unshare"), "--mount", "/bin/sh", "-c", mount, str(mounted)]
        super().prepare(host)

    def test_it_is_seen(self):
        run = self.run_action()

        self.assertEqual((run["exit_code"], run["pins"]["protection"]), (0, "reverified"))


class Reverified(WhileItRuns):
    """Detected, not prevented: where nothing can be frozen the answer is withheld."""

    launcher = [WITHOUT, "namespaces"]

    def test_a_look_is_no_change(self):
        data, error = self.run_while((self.repo / "tools/data/words").read_bytes)

        self.assertIsNone(error)
        self.assertTrue(data["stdout"].startswith(WORDS))
        self.assertEqual(data["pins"]["protection"], "reverified")

    def test_what_comes_beside_an_absent_name_cannot_be_told_from_it(self):
        data, error = self.run_while(lambda: self.repo.write("notes.txt", "notes\n"))

        self.assertIsNone(data)
        self.assertEqual(error["details"], {"paths": ["conftest.py"]})

    def test_what_was_undone_is_told(self):
        come_and_gone = (lambda: self.come_and_go("conftest.py"), {"conftest.py"})
        cases = [
            *((name, action, *case) for action in ("waits", "waits_and_writes") for name, case in self.undone().items()),
            ("come and gone", "waits", *come_and_gone),
        ]
        for name, action, change, paths in cases:
            with self.subTest(name, action=action):
                data, error = self.run_while(change, action)

                self.assertIsNone(data)
                self.assertEqual(error["code"], "REPO_PIN_MISMATCH")
                self.assertLessEqual(paths, set(error["details"]["paths"]))

    def test_a_writer_that_never_rests(self):
        """No answer ever holds other bytes than the reviewed ones, however the two meet."""
        refused = 0
        with self.writer_that_never_rests():
            for _ in range(20):
                data, error = self.call("run_repo_action", workdir="app", action="check_anyway")
                if error:
                    self.assertEqual(error["code"], "REPO_PIN_MISMATCH")
                    refused += 1
                else:
                    self.assertNotIn("evil", data["stdout"])

        self.assertGreater(refused, 0)
        self.run_action("check_anyway")


@unittest.skipUnless(ROOT, "whoever is not root is ordinary already")
class AsAnOrdinaryUser(unittest.TestCase):
    def test_frozen_pins(self):
        assert_passes_as_an_ordinary_user(self, "pins_test.Frozen")
