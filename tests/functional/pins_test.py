"""Pins: what an action reads is what was reviewed, before it starts and while it runs."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

from bridge_case import BridgeCase, shape_of
from harness import PATIENCE
from manifest import manifest_digest

CHECK = "#!/bin/sh\ncat tools/data/words lib/a lib/name\n"
WORDS = "reviewed\n"
# Says that it is there, and ends when it is let go.
GATE = 'exec 3<"$1"; read line <&3; cat tools/data/words'
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
    @classmethod
    def prepare(cls, host):
        app = host.workdirs["app"]
        write_files(app)
        integrity = {
            "tools/check": digest(CHECK),
            "tools/data/words": digest(WORDS),
            "lib/": manifest_digest(app / "lib"),
            "conftest.py": "absent",
        }
        cls.gate = host.ways_into_room("app") / "gate"
        os.mkfifo(cls.gate)
        waits = ["/bin/sh", "-c", GATE, "gate", str(cls.gate)]
        host.settings["WORKDIR_01_REPO_ACTIONS_JSON"] = json.dumps({
            "check": {"argv": ["./tools/check"], "mutates": False, "integrity": integrity},
            "writes": {"argv": ["/bin/sh", "-c", "echo >written"], "mutates": True, "integrity": integrity},
            "waits": {"argv": waits, "mutates": False, "integrity": integrity},
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

        self.assertEqual((run["exit_code"], run["pins"]), (0, {"count": 4, "protection": "reverified"}))
        self.assertEqual(run["stdout"], WORDS + "library\nlibrary\n")
        self.assertEqual(self.states()["check"], {"count": 4, "state": "ok"})
        self.run_action("writes")
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
            "the directory a link": (lambda: self.linked("lib"), ["lib/"]),
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
                self.assertEqual(self.states()["check"], {"count": 4, "state": "drift"})

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
    """Detected, not prevented: until the action sees only what was hashed, its answer is withheld."""

    def run_while(self, change):
        """What becomes of a run during which that happened."""
        arguments = {"workdir": "app", "action": "waits"}
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

    def test_a_look_is_no_change(self):
        data, error = self.run_while((self.repo / "tools/data/words").read_bytes)

        self.assertIsNone(error)
        self.assertEqual((data["stdout"], data["pins"]["protection"]), (WORDS, "reverified"))

    def test_what_comes_beside_an_absent_name_cannot_be_told_from_it(self):
        data, error = self.run_while(lambda: self.repo.write("notes.txt", "notes\n"))

        self.assertIsNone(data)
        self.assertEqual(error["details"], {"paths": ["conftest.py"]})

    def test_what_was_undone_is_told(self):
        cases = {
            "a file swapped": (lambda: self.swap_and_back("tools/data/words"), {"tools/data/words"}),
            "its directory swapped": (lambda: self.swap_and_back("tools/data"), {"tools/data/words"}),
            "written and written back": (lambda: self.rewrite("tools/data/words"), {"tools/data/words"}),
            "in a pinned directory": (lambda: self.swap_and_back("lib/sub/run"), {"lib/"}),
            "the pinned directory": (lambda: self.swap_and_back("lib"), {"lib/"}),
            "come and gone": (lambda: self.come_and_go("conftest.py"), {"conftest.py"}),
        }
        for name, (change, paths) in cases.items():
            with self.subTest(name):
                data, error = self.run_while(change)

                self.assertIsNone(data)
                self.assertEqual(error["code"], "REPO_PIN_MISMATCH")
                self.assertLessEqual(paths, set(error["details"]["paths"]))

    def test_a_writer_that_never_rests(self):
        """No answer ever holds other bytes than the reviewed ones, however the two meet."""
        words, other = self.repo / "tools/data/words", self.repo.write("evil", "evil\n")
        writer = subprocess.Popen([sys.executable, "-c", SWAPPER, words, other, self.host.path / "kept"],
                                  stdin=subprocess.PIPE)
        refused = 0
        try:
            for _ in range(20):
                data, error = self.call("run_repo_action", workdir="app", action="check")
                if error:
                    self.assertEqual(error["code"], "REPO_PIN_MISMATCH")
                    refused += 1
                else:
                    self.assertNotIn("evil", data["stdout"])
        finally:
            writer.stdin.close()
            self.assertEqual(writer.wait(PATIENCE), 0)

        self.assertGreater(refused, 0)
        self.assertEqual(words.read_text(), WORDS)
        self.run_action()
