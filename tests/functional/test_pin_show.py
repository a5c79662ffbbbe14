"""repobridge pin show: the digests of exactly the files that an action pins."""

import hashlib
import json
import os
import pty
import subprocess
import unittest

from admin_support import AdminCase, BIN, CHECK_DIGEST
from manifest import manifest_digest


class PinShow(AdminCase):
    def setUp(self):
        super().setUp()
        (self.work / "data.txt").write_text("data\n")
        (self.work / "unpinned.txt").write_text("no\n")
        self.data_digest = hashlib.sha256(b"data\n").hexdigest()
        self.pin({"tools/check": "paste", "data.txt": ""})

    def pin(self, integrity):
        action = {"argv": ["./tools/check"], "mutates": False, "integrity": integrity}
        self.write_env(self.settings(WORKDIR_01_READ_ONLY="false",
                                     WORKDIR_01_REPO_ACTIONS_JSON=json.dumps({"check": action})))

    def show(self, *arguments, **options):
        return self.repobridge("pin", "show", "demo", "check", "--env-file", self.env_file, *arguments, **options)

    def assert_refused(self, done, *named):
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.count("\n"), 1)
        for part in named:
            self.assertIn(part, done.stderr)
        self.assertNotIn(str(self.scratch), done.stderr)

    def test_prints_json_to_paste(self):
        done = self.show("--json")

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout), {"tools/check": CHECK_DIGEST, "data.txt": self.data_digest})

    def test_what_it_prints_renders(self):
        self.assertEqual(self.render().returncode, 2)

        self.pin(json.loads(self.show("--json").stdout))

        self.assert_rendered(self.render())

    def test_prints_plain_lines_to_a_pipe(self):
        self.assertEqual(self.show().stdout, f"{self.data_digest}  data.txt\n{CHECK_DIGEST}  tools/check\n")

    def on_terminal(self, **environment):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            child = subprocess.Popen(
                [BIN / "repobridge", "pin", "show", "demo", "check", "--env-file", self.env_file],
                stdin=subprocess.DEVNULL, stdout=theirs, env={"PATH": "/usr/bin:/bin", **environment})
            os.close(theirs)
            text = b""
            try:
                while chunk := terminal.read(4096):
                    text += chunk
            except OSError:  # the other end is closed
                pass
            self.assertEqual(child.wait(timeout=60), 0)
        return text.decode().replace("\r\n", "\n")

    def test_prints_a_table_and_the_map_to_a_terminal(self):
        self.pin({"tools/check": CHECK_DIGEST, "data.txt": "0" * 64})

        text = self.on_terminal()

        self.assertIn("\x1b[1mFILE", text)
        self.assertRegex(text, rf"data.txt +{self.data_digest}  another\n")
        self.assertRegex(text, rf"tools/check +{CHECK_DIGEST}  the same\n")
        self.assertIn('"integrity": {', text)

    def test_no_color_means_none(self):
        self.assertNotIn("\x1b", self.on_terminal(NO_COLOR="1"))

    def test_names_are_escaped(self):
        name = "evil\x1b[2J\n.txt"
        (self.work / name).write_text("x")
        self.pin({"tools/check": "", name: ""})

        lines = self.show().stdout
        self.assertNotIn("\x1b", lines)
        self.assertEqual(lines.count("\n"), 2)
        self.assertIn(r'"evil\033[2J\n.txt"', lines)
        as_json = self.show("--json").stdout
        self.assertNotIn("\x1b", as_json)
        self.assertIn(name, json.loads(as_json))

    def test_a_name_that_is_not_utf8_keeps_its_quoted_form(self):
        with open(os.path.join(os.fsencode(self.work), b"\xff.txt"), "wb") as file:
            file.write(b"data\n")
        self.pin({'"\\377.txt"': ""})

        self.assertEqual(json.loads(self.show("--json").stdout), {'"\\377.txt"': self.data_digest})
        self.assertEqual(self.show().stdout, f'{self.data_digest}  "\\377.txt"\n')

    def test_works_without_repo_ops_and_before_the_first_render(self):
        text = self.env_file.read_text().replace("WORKDIR_01_REPO_OPS_ENABLED=true", "")
        self.env_file.write_text(text)

        self.assertEqual(self.show().returncode, 0)

    def test_finds_the_env_file_of_the_user(self):
        config = self.scratch / "config/repobridge"
        config.mkdir(parents=True, mode=0o700)
        self.env_file.rename(config / "repobridge.env")

        done = self.repobridge("pin", "show", "demo", "check",
                               environment={"XDG_CONFIG_HOME": str(self.scratch / "config")})

        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def fill_directory(self):
        lib = self.work / "lib"
        (lib / "sub").mkdir(parents=True)
        (lib / "empty").mkdir()
        (lib / "a.txt").write_text("a\n")
        self.program(lib / "sub/run")
        (lib / "a-link").symlink_to("../\"odd\"\n")
        with open(os.path.join(os.fsencode(lib), b"a\xff\t"), "wb") as file:
            file.write(b"x")
        return lib

    def test_a_directory_has_the_digest_of_its_manifest(self):
        lib = self.fill_directory()
        self.pin({"tools/check": "", "lib/": "paste"})

        self.assertEqual(json.loads(self.show("--json").stdout),
                         {"tools/check": CHECK_DIGEST, "lib/": manifest_digest(lib)})
        self.assertIn(f"{manifest_digest(lib)}  lib/\n", self.show().stdout)

    def test_what_a_manifest_cannot_hold_is_named(self):
        lib = self.fill_directory()
        self.pin({"tools/check": "", "lib/": ""})

        os.mkfifo(lib / "sub/fifo")
        self.assert_refused(self.show(), "'lib/sub/fifo'", "REPO_PATH_UNSUPPORTED_TYPE")
        (lib / "sub/fifo").unlink()
        (lib / "sub/.git").mkdir()
        self.assert_refused(self.show(), "'lib/sub/.git'", "DENIED_PATH")

    def test_what_is_pinned_as_absent_stays_so(self):
        self.pin({"tools/check": "", "conftest.py": "absent"})

        self.assertEqual(json.loads(self.show("--json").stdout),
                         {"tools/check": CHECK_DIGEST, "conftest.py": "absent"})
        self.assertEqual(self.show().stdout, f"absent  conftest.py\n{CHECK_DIGEST}  tools/check\n")
        self.assertRegex(self.on_terminal(), r"conftest.py +absent +the same\n")
        (self.work / "conftest.py").symlink_to("nowhere")
        self.assert_refused(self.show(), "'conftest.py'", "REPO_PIN_MISMATCH")

    def test_a_missing_file_is_named(self):
        (self.work / "data.txt").unlink()

        self.assert_refused(self.show(), "'data.txt'", "PATH_NOT_FOUND")

    def test_a_link_is_refused(self):
        (self.work / "data.txt").unlink()
        (self.work / "data.txt").symlink_to("unpinned.txt")

        self.assert_refused(self.show(), "'data.txt'", "REPO_PATH_BEYOND_LINK")

    def test_a_link_on_the_way_is_refused(self):
        (self.work / "tools").rename(self.work / "real")
        (self.work / "tools").symlink_to("real")

        self.assert_refused(self.show(), "'tools/check'", "REPO_PATH_BEYOND_LINK")

    def test_what_is_not_a_file_is_refused_at_once(self):
        (self.work / "data.txt").unlink()
        os.mkfifo(self.work / "data.txt")
        self.assert_refused(self.show(), "'data.txt'", "REPO_PATH_UNSUPPORTED_TYPE")

        (self.work / "data.txt").unlink()
        (self.work / "data.txt").mkdir()
        self.assert_refused(self.show(), "'data.txt'", "REPO_PATH_UNSUPPORTED_TYPE")

    def test_a_file_over_the_limit_is_refused(self):
        with open(self.work / "data.txt", "wb") as file:
            file.truncate((2 << 30) + 1)  # sparse

        self.assert_refused(self.show(), "'data.txt'", "REPO_PATH_TOO_LARGE")

    def test_unknown_names_are_refused_with_the_known_ones(self):
        self.assert_refused(self.repobridge("pin", "show", "none", "check", "--env-file", self.env_file), "demo")
        self.assert_refused(self.repobridge("pin", "show", "demo", "none", "--env-file", self.env_file), "check")

    def test_a_broken_definition_is_refused_as_render_would(self):
        self.pin({})

        self.assert_refused(self.show(), "WORKDIR_01_REPO_ACTIONS_JSON", "'check.integrity'")


if __name__ == "__main__":
    unittest.main()
