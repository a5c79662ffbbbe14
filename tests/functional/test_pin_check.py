"""repobridge pin check: drift by action, with what happened to a file since its bytes were reviewed."""

import hashlib
import json
import os
import shutil
import subprocess
import unittest

from bridge_case import BIN, Host
from harness import PATIENCE
from manifest import manifest_digest

CHECK = "#!/bin/sh\nexit 0\n"
DATA = "one\ntwo\nthree\n"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


class PinCheck(unittest.TestCase):
    def setUp(self):
        self.host = Host()
        self.addCleanup(self.host.remove)
        self.repo = self.host.workdirs["app"].remake()
        self.repo.write("tools/check", CHECK, mode=0o755)
        self.repo.write("data.txt", DATA)
        self.repo.write("lib/a", "a\n")
        self.reviewed = self.repo.save("the beginning")
        self.pin({"tools/check": digest(CHECK), "data.txt": digest(DATA), "lib/": manifest_digest(self.repo / "lib"),
                  "conftest.py": "absent"})

    def pin(self, integrity):
        check = {"argv": ["./tools/check"], "mutates": False}
        self.host.render(WORKDIR_01_REPO_ACTIONS_JSON=json.dumps({
            "check": {**check, "integrity": integrity},
            "other": {**check, "integrity": {"tools/check": digest(CHECK)}},
        }))

    def check(self, *arguments, environment=None):
        return subprocess.run(
            [BIN / "repobridge", "pin", "check", *arguments, "--config", self.host.out / "bridge.json"],
            env={**self.host.user.environment, **(environment or {})}, stdin=subprocess.DEVNULL, text=True,
            capture_output=True, timeout=PATIENCE)

    def drift(self, code=1):
        """What drifted from the action `check`, by the name of the pin."""
        done = self.check("app", "check", "--json")
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        action, = json.loads(done.stdout)["actions"]
        self.assertEqual((action["workdir"], action["action"]), ("app", "check"))
        self.assertEqual(action["pins"], {"count": 4, "state": "drift" if code else "ok"})
        return {one["pin"]: one for one in action["drift"]}

    def test_what_holds(self):
        done = self.check()

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "WORKDIR  ACTION  PINS  STATE\napp      check   4     ok\n"
                                      "app      other   1     ok\n")
        self.assertEqual(self.drift(0), {})

    def test_a_changed_file_with_its_difference(self):
        self.repo.save("not reviewed", **{"data.txt": "one\n2\nthree\n"})
        self.repo.write("data.txt", "one\n2\n3\n")

        one = self.drift()["data.txt"]

        self.assertEqual((one["pinned"], one["now"]), (digest(DATA), digest("one\n2\n3\n")))
        self.assertEqual(one["diff"]["commit"], self.reviewed)
        self.assertIn("-two\n-three\n+2\n+3\n", one["diff"]["patch"])
        self.assertEqual(one["diff"]["patch"], self.repo.git("diff", "--full-index", self.reviewed, "data.txt") + "\n")
        text = self.check()
        self.assertEqual(text.returncode, 1)
        self.assertIn("app check: data.txt: it is not what was reviewed\n", text.stdout)
        self.assertIn(f"  since commit {self.reviewed}:\ndiff --git a/data.txt b/data.txt\n", text.stdout)
        self.assertIn("+2\n", text.stdout)

    def test_a_missing_file(self):
        (self.repo / "data.txt").unlink()

        one = self.drift()["data.txt"]

        self.assertIsNone(one["now"])
        self.assertIn("missing", one["problem"])
        self.assertIn("-two\n", one["diff"]["patch"])

    def test_bytes_that_no_commit_has(self):
        self.pin({"tools/check": digest(CHECK), "data.txt": digest("elsewhere"),
                  "lib/": manifest_digest(self.repo / "lib"), "conftest.py": "absent"})

        one = self.drift()["data.txt"]

        self.assertNotIn("diff", one)
        self.assertIn("no commit", one["no_diff"])

    def test_line_endings_are_named(self):
        self.repo.write("data.txt", DATA.replace("\n", "\r\n"))

        self.assertEqual(self.drift()["data.txt"]["problem"], "only its line endings differ")

    def test_directories_absent_names_and_links(self):
        self.repo.write("lib/extra")
        (self.repo / "conftest.py").symlink_to("nowhere")
        (self.repo / "tools").rename(self.repo / "real")
        (self.repo / "tools").symlink_to("real")

        drift = self.drift()

        self.assertEqual(drift["lib/"]["now"], manifest_digest(self.repo / "lib"))
        self.assertIn("manifest", drift["lib/"]["no_diff"])
        self.assertEqual((drift["conftest.py"]["pinned"], drift["conftest.py"]["now"]), ("absent", None))
        self.assertIn("link", drift["tools/check"]["problem"])
        self.assertEqual(set(drift), {"lib/", "conftest.py", "tools/check"})

    def test_an_entry_that_no_manifest_holds(self):
        os.mkfifo(self.repo / "lib/fifo")

        self.assertEqual(self.drift()["lib/"]["path"], "lib/fifo")
        self.assertIn(": lib/fifo\n", self.check().stdout)

    def test_nothing_of_the_repository_is_executed_or_changed(self):
        """Were git run in the repository, its configuration would start this."""
        canary = self.host.path / "canary"
        trap = self.host.path / "trap"
        trap.write_text(f"#!/bin/sh\necho >{canary}\n")
        trap.chmod(0o755)
        self.repo.write(".gitattributes", "* diff=trap filter=trap\n")
        for key in ("core.fsmonitor", "diff.trap.textconv", "diff.trap.command", "diff.external", "core.pager",
                    "filter.trap.clean", "filter.trap.smudge"):
            self.repo.config(key, str(trap))
        self.repo.write("data.txt", "other\n")
        before = self.repo.snapshot()

        one = self.drift()["data.txt"]

        self.assertIn("+other\n", one["diff"]["patch"])
        self.assertFalse(canary.exists())
        self.assertEqual(self.repo.snapshot(), before)

    def test_a_repository_that_cannot_be_read_leaves_the_difference_out(self):
        shutil.rmtree(self.repo.git_dir)
        self.repo.write("data.txt", "other\n")

        one = self.drift()["data.txt"]

        self.assertIn("REPO_NOT_A_REPOSITORY", one["no_diff"])

    def test_nothing_reaches_the_terminal_unescaped(self):
        evil = "\x1b]0;title\x07\u202e\n"
        self.repo.write("data.txt", evil)
        os.mkfifo(self.repo / "lib/\x1b[2J")

        for done in (self.check(), self.check("--json")):
            self.assertEqual(done.returncode, 1)
            for bad in ("\x1b", "\x07", "\u202e"):
                self.assertNotIn(bad, done.stdout)
        self.assertIn("+\\x1b]0;title\\x07", self.check().stdout)

    def test_the_pins_stay_as_they_are(self):
        rendered = (self.host.out / "bridge.json").read_bytes()
        env = (self.host.out / "repobridge.env").read_bytes()
        self.repo.write("data.txt", "other\n")

        self.assertEqual(self.check().returncode, 1)
        self.assertEqual(self.check().returncode, 1)

        self.assertEqual((self.host.out / "bridge.json").read_bytes(), rendered)
        self.assertEqual((self.host.out / "repobridge.env").read_bytes(), env)

    def test_one_action_of_two(self):
        self.repo.write("data.txt", "other\n")

        self.assertEqual(self.check("app", "other").returncode, 0)
        self.assertEqual(self.check("app", "check").returncode, 1)
        self.assertEqual(self.check("app").returncode, 1)

    def test_refusals(self):
        for arguments, code in ((("none",), "WORKDIR_NOT_FOUND"), (("app", "none"), "REPO_ACTION_NOT_FOUND")):
            done = self.check(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(code, done.stderr)
        shutil.rmtree(self.repo.path)
        done = self.check()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("WORKDIR_UNAVAILABLE", done.stderr)
        self.repo.path.mkdir()


if __name__ == "__main__":
    unittest.main()
