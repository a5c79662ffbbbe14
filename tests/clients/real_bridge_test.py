"""Each official client walks the main job against a real bridge, repository and remote: `acceptance.mjs`."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "functional"))

import acceptance_test  # noqa: E402
from harness import BIN, strict_json  # noqa: E402

NODE = os.environ["REPOBRIDGE_NODE"]
PATIENCE = 60.0  # seconds; node itself takes some to start


class RealBridgeTest(acceptance_test.AcceptanceCase):
    def walk(self, client):
        self.repo.write("notes.txt", "first\nsecond\n")
        self.repo.write("draft.txt", "not this one\n")
        tree = self.repo.tree_of("notes.txt")
        done = subprocess.run(
            [NODE, HERE / "acceptance.mjs", client, BIN / "repobridge-mcp", self.host.out / "front.json"],
            env=self.host.user.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
        )
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        said = strict_json(done.stdout)
        self.assertEqual([workdir["alias"] for workdir in said["workdirs"]], ["app"])
        self.assertEqual([entry["path"] for entry in said["status"]["entries"]], ["draft.txt", "notes.txt"])
        self.assertEqual((said["run"]["exit_code"], said["run"]["stdout"].strip()), (0, "2"))
        self.assertIn("+second\n", said["files"][0]["patch"])
        self.assertEqual(said["commit"]["parent"], self.base)
        self.assertEqual(said["push"]["to"], said["commit"]["commit"])
        self.assertEqual(self.repo.git("rev-parse", "HEAD^{tree}"), tree)
        self.assertEqual(self.remote.git("rev-parse", "refs/heads/main"), said["commit"]["commit"])
        self.assertEqual(self.repo.status(), "?? draft.txt")
        self.assert_sound()
        self.assert_sound(self.remote)

    def test_sdk_1(self):
        self.walk("sdk1")

    def test_client_2_legacy(self):
        self.walk("client2-legacy")

    def test_client_2_auto(self):
        self.walk("client2-auto")

    def test_client_2_pinned(self):
        self.walk("client2-pinned")
