"""The front alone, in the image of packaging/container, against a bridge outside.

No engine is needed: the image's layer is unpacked into namespaces of its own, with the settings, the key, a token
and the directory of the bridge's socket shown to it, and nothing else of the machine."""

import ctypes
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

from admin_support import ROOT
from bridge_case import Client, Host
from crash_case import children_of
from harness import BIN, PATIENCE, ROOT as SOURCES
from http_case import Answer, LocalConnection, McpHttp, modern, modern_headers, request

BUILD = SOURCES / "packaging" / "container" / "build"
ENTER = pathlib.Path(__file__).with_name("enter_container.py")
FRONT = "usr/bin/repobridge-mcp"
BESIDE_LIBRARIES = {FRONT, "etc/passwd", "etc/group", "etc/ssl/certs/ca-certificates.crt"}
NAMESPACES = ("--mount", "--pid", "--ipc", "--uts", "--net")
USER = 10001  # the image's, who is the bridge's too
LOOK = {"name": "inspect_repo", "arguments": {"workdir": "app", "view": "status"}}
CLONE_NEWNET = 0x40000000


def may_unshare():
    return ROOT and subprocess.run(["unshare", *NAMESPACES, "--fork", "true"], capture_output=True).returncode == 0


class Image:
    """What packaging/container/build makes of the front that is tested."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name, self.digest = self.build(self.path)
        self.tar = self.path / "repobridge-mcp.tar"
        self.index = self.json("index.json")
        [self.descriptor] = self.index["manifests"]
        self.manifest = json.loads(self.blob(self.descriptor))
        self.config = json.loads(self.blob(self.manifest["config"]))
        [self.layer] = self.manifest["layers"]
        self.layer_path = self.path / "layer.tar"
        self.layer_path.write_bytes(self.blob(self.layer))

    @staticmethod
    def build(path):
        """What it is called, and the digest of its manifest."""
        words = [sys.executable, "-B", BUILD, "--program", BIN / "repobridge-mcp", "--out", path]
        done = subprocess.run(words, capture_output=True, text=True, timeout=4 * PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def read(self, name):
        with tarfile.open(self.tar) as layout:
            return layout.extractfile(name).read()

    def json(self, name):
        return json.loads(self.read(name))

    def blob(self, descriptor):
        content = self.read("blobs/" + descriptor["digest"].replace(":", "/"))
        assert len(content) == descriptor["size"], descriptor
        assert hashlib.sha256(content).hexdigest() == descriptor["digest"].removeprefix("sha256:"), descriptor
        return content

    def entries(self):
        with tarfile.open(self.layer_path) as layer:
            return layer.getmembers()

    def files(self):
        return {entry.name for entry in self.entries() if not entry.isdir()}


class UsersHost(Host):
    """A host of a user without privileges."""

    def __init__(self):
        super().__init__()
        self.programs = self.path / "bin"
        self.programs.mkdir()
        for name in ("repobridged", "repobridge-git", "repobridge-run"):
            shutil.copy2(BIN / name, self.programs)
        identity = (f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
        self.launcher = [shutil.which("setpriv"), *identity]
        self.front_directory = self.out / "front"
        self.front_directory.mkdir(mode=0o700, exist_ok=True)

    def give_away(self):
        subprocess.run(["chown", "-R", f"{USER}:{USER}", self.path], check=True)


class Inside:
    """What only root of the machine sees of a container: its first process."""

    def __init__(self, program):
        [self.pid] = children_of(program.process.pid)
        self.proc = pathlib.Path(f"/proc/{self.pid}")

    def files(self):
        """All that the container can see but /proc, which is its own."""
        found, top = set(), str(self.proc / "root")
        for directory, below, names in os.walk(top):
            if directory == top:
                below.remove("proc")
            found |= {os.path.relpath(os.path.join(directory, name), top) for name in names}
        return found

    def mapped(self):
        """The files that its program is made of."""
        lines = (self.proc / "maps").read_text().splitlines()
        return {line.split()[5].lstrip("/") for line in lines if " /" in line}

    def status(self):
        lines = (self.proc / "status").read_text().splitlines()
        return {name: value.split() for name, value in (line.split(":", 1) for line in lines)}

    def interfaces(self):
        lines = (self.proc / "net" / "dev").read_text().splitlines()[2:]
        return {line.split(":")[0].strip() for line in lines}

    def connect(self, address):
        """A socket of the container's network: each thread has one of its own."""
        made = []

        def enter():
            with open(self.proc / "ns" / "net") as network:
                assert ctypes.CDLL(None).setns(network.fileno(), CLONE_NEWNET) == 0
            made.append(socket.create_connection(address, timeout=PATIENCE))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return made.pop()


class InnerConnection(http.client.HTTPConnection):
    def __init__(self, inside, address):
        super().__init__(*address, timeout=PATIENCE)
        self._inside = inside

    def connect(self):
        self.sock = self._inside.connect((self.host, self.port))


class UsersConnection(LocalConnection):
    """Connects as the container's user, whom the kernel then names to the front."""

    def connect(self):
        os.seteuid(USER)
        try:
            super().connect()
        finally:
            os.seteuid(0)


@unittest.skipUnless(may_unshare(), "namespaces cannot be made here")
class ContainerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="repobridge-image-")
        cls.addClassCleanup(scratch.cleanup)
        cls.image = Image(scratch.name)
        cls.host = UsersHost()
        cls.addClassCleanup(cls.host.remove)
        cls.host.render()
        cls.host.workdirs["app"].remake().save(**{"a.txt": "one\n"})
        cls.host.workdirs["app"].write("b.txt", "new\n")
        cls.host.give_away()
        cls.host.start()

    # Containers

    def enter(self, *shared, user=USER):
        """The words that start the front in a container of its own."""
        place = tempfile.mkdtemp(prefix="repobridge-container-")
        self.addCleanup(os.rmdir, place)
        out = self.host.out
        shown = [out / "front.json", out / "bridge.key", out / "front.token", out / "run"]
        words = ["unshare", *NAMESPACES, "--fork", "--kill-child", "--", sys.executable, "-B", ENTER]
        words += ["--user", user, *(word for path in shown for word in ("--show", path))]
        words += [word for path in shared for word in ("--share", path)]
        return [*words, self.image.layer_path, place]

    def stdio(self):
        program = [*self.enter(), f"/{FRONT}"]
        client = Client(self.host.out / "front.json", self.host.host_words, program=program)
        self.addCleanup(client.kill)
        self.addCleanup(client.check_stderr)
        return client

    def http(self):
        """A front with every door, and its container."""
        program = [*self.enter(self.host.front_directory), f"/{FRONT}"]
        self.socket = self.host.front_directory / "mcp.sock"
        doors = ("--http", "127.0.0.1:0", "--unix", self.socket, "--metrics", "127.0.0.1:0")
        front = McpHttp(self.host.out / "front.json", *doors, program=program)
        self.addCleanup(front.kill)
        return front, Inside(front)

    def try_to_run(self, *argv, **options):
        words = [str(word) for word in (*self.enter(**options), *argv)]
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)

    # Calls

    def assert_looked(self, result, login, mode):
        self.assertFalse(result.get("isError", False), result)
        envelope = result["structuredContent"]
        self.assertEqual(envelope["identity"], {"login": login, "mode": mode, "sudo": None})
        self.assertEqual([entry["path"] for entry in envelope["data"]["entries"]], ["b.txt"])

    def post(self, connection, message, **headers):
        self.addCleanup(connection.close)
        everything = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
        connection.request("POST", "/mcp", json.dumps(message), everything)
        answer = Answer(connection.getresponse())
        self.assertEqual(answer.status, 200, answer.body)
        self.assertNotIn(self.host.host_words, answer.body)
        return answer.json()["result"]

    def ready(self, connection):
        connection.request("GET", "/readyz")
        answer = Answer(connection.getresponse())
        return answer.status, answer.json()["ready"]

    # The image

    def test_image_holds_the_front_and_what_it_is_made_of(self):
        client = self.stdio()
        libraries = Inside(client).mapped() - {FRONT}
        self.assertIn("libc.so.6", {pathlib.Path(name).name for name in libraries})
        self.assertFalse([name for name in libraries if "git2" in name])

        self.assertEqual(self.image.files(), BESIDE_LIBRARIES | libraries)

    def test_image_gives_no_privileges(self):
        for entry in self.image.entries():
            self.assertTrue(entry.isfile() or entry.isdir(), entry.name)
            self.assertEqual((entry.uid, entry.gid, entry.mode & ~0o755), (0, 0, 0), entry.name)
        self.assertEqual(self.image.config["config"]["User"], f"{USER}:{USER}")
        self.assertEqual(self.image.config["config"]["Entrypoint"], [f"/{FRONT}"])

    def test_image_is_the_same_when_made_again_and_all_its_names_agree(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            self.assertEqual(Image.build(elsewhere), [self.image.name, self.image.digest])
        self.assertEqual(self.image.descriptor["digest"], self.image.digest)
        self.assertEqual(self.image.config["rootfs"]["diff_ids"], [self.image.layer["digest"]])
        [docker] = self.image.json("manifest.json")
        self.assertEqual(docker["RepoTags"], [self.image.name])
        self.assertEqual(json.loads(self.image.read(docker["Config"])), self.image.config)
        self.assertEqual([hashlib.sha256(self.image.read(name)).hexdigest() for name in docker["Layers"]],
                         [self.image.layer["digest"].removeprefix("sha256:")])

    # The container

    def test_inside_is_nothing_but_the_image_and_what_is_shown(self):
        _, inside = self.http()
        out = str(self.host.out).lstrip("/")
        shown = {"front.json", "bridge.key", "front.token", "run/bridge.sock", "run/bridge.sock.lock",
                 "front/mcp.sock", "front/mcp.sock.lock"}
        self.assertEqual(inside.files(), self.image.files() | {"dev/null"} | {f"{out}/{name}" for name in shown})
        self.assertEqual(inside.interfaces(), {"lo"})

    def test_inside_no_shell_and_no_git_can_be_started(self):
        self.assertEqual(self.try_to_run(f"/{FRONT}", "--version").returncode, 0)
        bridge = str(self.host.programs / "repobridged")
        for program in ("/bin/sh", "/bin/bash", "/usr/bin/git", "/usr/bin/env", bridge):
            self.assertIn("FileNotFoundError", self.try_to_run(program).stderr)

    def test_inside_the_front_is_a_user_without_privileges_who_can_write_nowhere(self):
        status = Inside(self.stdio()).status()
        self.assertEqual((status["Uid"], status["Gid"], status["Groups"]), ([str(USER)] * 4, [str(USER)] * 4, []))
        self.assertEqual({status[name][0].strip("0") for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")}, {""})
        self.assertEqual((status["NoNewPrivs"], status["NSpid"][-1]), (["1"], "1"))
        nowhere = self.try_to_run(f"/{FRONT}", "--config", self.host.out / "front.json", "--unix", "/tmp/new/mcp.sock")
        self.assertEqual(nowhere.returncode, 2, nowhere.stderr)
        self.assertIn("--unix", nowhere.stderr)

    def test_of_another_user_than_the_bridges_does_not_start(self):
        stdio = (f"/{FRONT}", "--config", self.host.out / "front.json", "--stdio")
        refused = self.try_to_run(*stdio, user=USER + 1)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("CONFIG_UNREADABLE", refused.stderr)

    # What it serves

    def test_over_stdio(self):
        client = self.stdio()
        self.assertEqual(client.initialize()["serverInfo"]["name"], "repobridge")
        self.assertIn("inspect_repo", [tool["name"] for tool in client.result("tools/list")["tools"]])
        self.assert_looked(client.call(LOOK["name"], **LOOK["arguments"]), "repobridge", "stdio")
        client.close()

    def test_over_its_local_socket(self):
        self.http()
        connection = UsersConnection(self.socket)
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.assertEqual(self.post(connection, request("initialize", **hello))["serverInfo"]["name"], "repobridge")
        self.assertEqual(len(self.post(connection, request("tools/list"))["tools"]), 4)
        self.assert_looked(self.post(connection, request("tools/call", **LOOK)), "repobridge", "unix")

    def test_over_its_own_network(self):
        front, inside = self.http()
        connection = InnerConnection(inside, front.http)
        token = (self.host.out / "front.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", **modern_headers("tools/call", LOOK["name"])}
        self.assert_looked(self.post(connection, modern("tools/call", **LOOK), **headers), "default", "token")
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(front.http, timeout=PATIENCE)

    def test_is_ready_when_the_bridge_answers_and_again_after_its_restart(self):
        front, inside = self.http()
        connection = InnerConnection(inside, front.status)
        self.addCleanup(connection.close)
        self.assertEqual(self.ready(connection), (200, True))
        self.host.stop()
        try:
            self.assertEqual(self.ready(connection), (503, False))
        finally:
            self.host.start()
        self.assertEqual(self.ready(connection), (200, True))
        self.assert_looked(self.post(UsersConnection(self.socket), request("tools/call", **LOOK)), "repobridge", "unix")


if __name__ == "__main__":
    unittest.main()
