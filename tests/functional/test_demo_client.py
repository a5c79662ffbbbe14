"""The demo's client against a front with canned answers: what it shows, and that it ends when something is wrong."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CLIENT = HERE.parents[1] / "packaging/demo_client.py"


class DemoClient(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="repobridge-test-")
        self.addCleanup(scratch.cleanup)
        self.commit = pathlib.Path(scratch.name) / "commit"

    def walk(self, misbehaviour="", front=None):
        front = front or [sys.executable, "-B", str(HERE / "fake_front.py"), misbehaviour]
        return subprocess.run(
            [sys.executable, "-B", str(CLIENT), "--workdir", "demo", "--action", "check", "--file", "notes.txt",
             "--commit-to", str(self.commit), "--", *front],
            text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)

    def assert_failed(self, done, *named):
        self.assertEqual(done.returncode, 1)
        self.assertFalse(self.commit.exists())
        for part in named:
            self.assertIn(part, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_shows_each_step_with_its_time_and_keeps_the_commit(self):
        done = self.walk()

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for step in ("connect", "tools", "workdirs", "actions", "status", "run", "diff", "commit", "push"):
            self.assertRegex(done.stdout, rf"(?m)^  {step} +\d+ ms  \S")
        self.assertEqual(self.commit.read_text(), "1234567890abcdef" * 2 + "12345678\n")

    def test_control_characters_do_not_reach_the_terminal(self):
        self.assertNotIn("\x1b", self.walk().stdout)

    def test_a_refusal_ends_it_with_the_code(self):
        self.assert_failed(self.walk("refuse commit_repo_changes"), "WORKDIR_BUSY")

    def test_an_action_that_fails_ends_it(self):
        done = self.walk("failing action")
        self.assert_failed(done, "action")
        self.assertNotIn("commit", done.stdout)

    def test_a_front_that_ends_ends_it(self):
        self.assert_failed(self.walk("end"), "has ended")

    def test_noise_on_stdout_ends_it(self):
        self.assert_failed(self.walk("noise"), "not JSON")

    def test_another_commit_than_the_one_made_ends_it(self):
        self.assert_failed(self.walk("other commit"), "not the commit")

    def test_an_answer_of_another_shape_ends_it(self):
        self.assert_failed(self.walk("other shape"), "shape")

    def test_a_front_that_cannot_start_ends_it(self):
        self.assert_failed(self.walk(front=["/no/such/front"]))


if __name__ == "__main__":
    unittest.main()
