"""How repobridge-mcp is started, and how it says that it cannot be."""

import json
import subprocess
import unittest

from front_case import FrontTestCase
from harness import BIN


class CommandLine(FrontTestCase):
    def run_once(self, *words):
        return subprocess.run(
            [BIN / "repobridge-mcp", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def assert_refused(self, *words, naming):
        done = self.run_once(*words)
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("repobridge-mcp: "), done.stderr)
        self.assertIn(naming, done.stderr)

    def test_says_its_version_and_how_to_use_it(self):
        version = self.run_once("--version")
        self.assertEqual((version.returncode, version.stderr), (0, ""))
        self.assertRegex(version.stdout, r"^repobridge-mcp \d+\.\d+\.\d+\n$")
        usage = self.run_once("--help")
        self.assertEqual((usage.returncode, usage.stderr), (0, ""))
        for option in ("--config", "--stdio", "--http", "--unix", "--metrics", "--ready-fd", "--version"):
            self.assertIn(option, usage.stdout)

    def test_ends_well_when_its_input_is_empty(self):
        done = self.run_once("--config", str(self.place.front_json), "--stdio")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_refuses_a_command_line_that_it_does_not_understand(self):
        config = str(self.place.front_json)
        self.assert_refused(naming="--config")
        self.assert_refused("--config", config, naming="--stdio")
        self.assert_refused("--config", config, "--stdio", "--force", naming="--force")
        self.assert_refused("--config", config, "--stdio", "more", naming="more")
        self.assert_refused("--stdio", "--config", naming="--config")
        self.assert_refused("--config", config, "--stdio", "--http", "127.0.0.1:0", naming="--http")
        self.assert_refused("--config", config, "--stdio", "--unix", "/nowhere/s", naming="--unix")
        self.assert_refused("--config", config, "--stdio", "--metrics", "127.0.0.1:0", naming="--metrics")
        self.assert_refused("--config", config, "--metrics", "127.0.0.1:0", naming="--http")

    def test_refuses_a_front_json_that_is_not_one(self):
        config = self.place.front_json
        self.assert_refused("--config", str(self.place.path / "none"), "--stdio", naming="CONFIG_UNREADABLE")
        good = json.loads(config.read_text())
        for text, naming in (
            ("{", "CONFIG_INVALID"),
            (json.dumps({**good, "extra": 1}), "'extra'"),
            (json.dumps({**good, "version": 2}), "'version'"),
            (json.dumps({**good, "limits": {**good["limits"], "max_response_items": 0}}), "max_response_items"),
            (json.dumps({**good, "bridges": []}), "'bridges'"),
        ):
            with self.subTest(naming=naming):
                config.write_text(text)
                self.assert_refused("--config", str(config), "--stdio", naming=naming)

    def test_refuses_a_front_json_that_others_could_change(self):
        self.place.front_json.chmod(0o666)
        self.assert_refused("--config", str(self.place.front_json), "--stdio", naming="CONFIG_UNREADABLE")


if __name__ == "__main__":
    unittest.main()
