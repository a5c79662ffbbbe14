"""Each official client walks the main job against a real bridge, repository and remote: `acceptance.mjs`."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "functional"))

import acceptance_test  # noqa: E402
from harness import BIN, strict_json  # noqa: E402
from http_case import McpHttp  # noqa: E402

NODE = os.environ["REPOBRIDGE_NODE"]
PATIENCE = 60.0  # seconds; node itself takes some to start


class Walks:
    """The clients, each against what `server()` says: what a client is told of the front, and how the audit calls one
    that comes so."""

    def test_sdk_1(self):
        self.walk("sdk1")

    def test_client_2_legacy(self):
        self.walk("client2-legacy")

    def test_client_2_auto(self):
        self.walk("client2-auto")

    def test_client_2_pinned(self):
        self.walk("client2-pinned")

    def walk(self, client):
        self.repo.write("notes.txt", "first\nsecond\n")
        self.repo.write("draft.txt", "not this one\n")
        tree = self.repo.tree_of("notes.txt")
        server, mode = self.server()
        before = len(self.host.audit())
        done = subprocess.run(
            [NODE, HERE / "acceptance.mjs", client, json.dumps(server)],
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
        callers = [line["caller"]["mode"] for line in self.host.audit()[before:] if line["event"] == "begin"]
        self.assertEqual(set(callers), {mode})
        self.assert_sound()
        self.assert_sound(self.remote)


class StdioTest(Walks, acceptance_test.AcceptanceCase):
    def server(self):
        args = ["--config", self.host.out / "front.json", "--stdio"]
        return {"command": str(BIN / "repobridge-mcp"), "args": list(map(str, args))}, "stdio"


class HttpTest(Walks, acceptance_test.AcceptanceCase):
    def server(self):
        front = McpHttp(self.host.out / "front.json", "--http", "127.0.0.1:0")
        self.addCleanup(front.kill)
        host, port = front.http
        token = (self.host.out / "front.token").read_text().strip()
        return {"url": f"http://{host}:{port}/mcp", "headers": {"Authorization": f"Bearer {token}"}}, "token"
