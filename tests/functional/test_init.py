"""repobridge init: what it makes, and that two edits are enough."""

import json
import os
import stat
import unittest

from admin_support import AdminCase, CHECK_DIGEST


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class Init(AdminCase):
    def test_makes_private_files_and_says_what_comes_next(self):
        fresh = self.scratch / "a/b"

        done = self.repobridge("init", "--dir", fresh)

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(mode(fresh), 0o700)
        self.assertEqual(mode(fresh / "repobridge.env"), 0o600)
        self.assertEqual(mode(fresh / "bridge.key"), 0o600)
        self.assertEqual(len((fresh / "bridge.key").read_bytes()), 32)
        self.assertEqual(mode(fresh / "front.token"), 0o600)
        self.assertRegex((fresh / "front.token").read_text(), r"^rbt_[0-9a-f]{64}\n$")
        for step in ("WORKDIR_01_ALIAS", "repobridge render", "repobridged --config", "repobridge-mcp --config"):
            self.assertIn(step, done.stdout)

    def test_the_umask_decides_nothing(self):
        fresh = self.scratch / "fresh"
        fresh.mkdir(mode=0o700)

        self.repobridge("init", "--dir", fresh, preexec_fn=lambda: os.umask(0o777))

        self.assertEqual(mode(fresh / "bridge.key"), 0o600)

    def test_two_keys_differ(self):
        self.repobridge("init", "--dir", self.scratch / "second")

        self.assertNotEqual((self.out / "front.token").read_text(), (self.scratch / "second/front.token").read_text())
        self.assertNotEqual((self.out / "bridge.key").read_bytes(), (self.scratch / "second/bridge.key").read_bytes())

    def test_overwrites_nothing(self):
        for name in ("repobridge.env", "bridge.key", "front.token"):
            with self.subTest(name):
                fresh = self.scratch / f"with-{name}"
                fresh.mkdir(mode=0o700)
                (fresh / name).write_text("mine")

                done = self.repobridge("init", "--dir", fresh)

                self.assertEqual(done.returncode, 2)
                self.assertIn(name, done.stderr)
                self.assertIn("CONFIG_TARGET_UNSAFE", done.stderr)
                self.assertEqual(os.listdir(fresh), [name])
                self.assertEqual((fresh / name).read_text(), "mine")

    def test_refuses_a_directory_open_to_others(self):
        fresh = self.scratch / "open"
        fresh.mkdir()
        fresh.chmod(0o755)

        done = self.repobridge("init", "--dir", fresh)

        self.assertEqual(done.returncode, 2)
        self.assertIn("--dir", done.stderr)
        self.assertEqual(os.listdir(fresh), [])

    def test_a_dangling_link_counts_as_something_there(self):
        fresh = self.scratch / "linked"
        fresh.mkdir(mode=0o700)
        (fresh / "bridge.key").symlink_to(self.scratch / "elsewhere")

        done = self.repobridge("init", "--dir", fresh)

        self.assertEqual(done.returncode, 2)
        self.assertFalse((self.scratch / "elsewhere").exists())

    def test_renders_after_two_edits(self):
        text = self.env_file.read_text()
        text = text.replace("WORKDIR_01_ALIAS=\n", "WORKDIR_01_ALIAS=demo\n")
        text = text.replace("WORKDIR_01_PATH=\n", f"WORKDIR_01_PATH={self.work}\n")
        self.env_file.write_text(text)

        done = self.render()

        self.assert_rendered(done)
        self.assertEqual(json.loads(done.stdout)["workdirs"], [{"alias": "demo", "read_only": True, "actions": []}])

    def test_its_example_of_an_action_renders_too(self):
        text = self.env_file.read_text()
        text = text.replace("WORKDIR_01_ALIAS=\n", "WORKDIR_01_ALIAS=demo\n")
        text = text.replace("WORKDIR_01_PATH=\n", f"WORKDIR_01_PATH={self.work}\n")
        text = text.replace("READ_ONLY=true", "READ_ONLY=false")
        text = text.replace("#WORKDIR_01_REPO_ACTIONS_JSON", "WORKDIR_01_REPO_ACTIONS_JSON")
        text = text.replace("#WORKDIR_01_PUSH_URL", "WORKDIR_01_PUSH_URL")
        self.env_file.write_text(text.replace("0" * 64, CHECK_DIGEST))

        done = self.render()

        self.assert_rendered(done)
        self.assertEqual(json.loads(done.stdout)["workdirs"][0]["actions"],
                         [{"name": "check", "argv_count": 1, "pins_count": 1}])


if __name__ == "__main__":
    unittest.main()
