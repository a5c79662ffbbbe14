"""The doorway attacked from outside: whoever comes with the wrong proof, words or manners is sent away, nothing of
it is carried out, and the next good call finds a bridge that has lost nothing.

A peer that holds the key is `openssl s_client`; bytes go in and out of its pipes.
"""

import json
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import unittest

from bridge_case import Host
from harness import PATIENCE, error_of, strict_json

ROOT = os.geteuid() == 0
NOBODY = 65534
CIPHER = "TLS_AES_128_GCM_SHA256"
MAX_REQUEST_BYTES = 1 << 20
MOST_CONNECTIONS = 512


def frame(body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return struct.pack(">I", len(body)) + body


class Peer:
    """A TLS client that says exactly what it is told."""

    def __init__(self, path, *options):
        self.process = subprocess.Popen(
            ["openssl", "s_client", "-quiet", "-no_ign_eof", "-unix", str(path), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def send(self, *frames):
        self.process.stdin.write(b"".join(frames))
        self.process.stdin.flush()

    def read(self, size):
        """That many bytes, or fewer when the other side ends before."""
        got = b""
        while len(got) < size:
            assert select.select([self.process.stdout], [], [], PATIENCE)[0], f"only {got!r} came"
            more = os.read(self.process.stdout.fileno(), size - len(got))
            if not more:
                break
            got += more
        return got

    def message(self):
        """The next message of the bridge; None at the end."""
        header = self.read(4)
        if not header:
            return None
        (length,) = struct.unpack(">I", header)
        return strict_json(self.read(length).decode())

    def end(self):
        """Ends as a program does that is killed: without a word."""
        self.process.kill()
        self.process.wait(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # what was still buffered has nobody to go to


class DoorwayCase(unittest.TestCase):
    """One bridge for the class; after each test it serves, with as many descriptors as before."""

    @classmethod
    def setUpClass(cls):
        cls.host = Host()
        cls.addClassCleanup(cls.host.remove)
        cls.host.render()
        cls.host.start()
        cls.client = cls.host.client()
        rendered = json.loads((cls.host.out / "bridge.json").read_text())
        cls.socket_path = pathlib.Path(rendered["socket_path"])
        cls.digest = rendered["digest"]
        cls.key_name = rendered["fronts"][0]["name"]
        cls.key = (cls.host.out / "bridge.key").read_bytes()
        cls.good_call(cls)
        cls.descriptors = cls.descriptors_now(cls)

    def setUp(self):
        self.log_before = len(self.host.log())
        self.calls_before = len(self.host.audit())
        self.addCleanup(self.assert_serves)

    # What must hold after everything

    def good_call(self):
        result = self.client.call("inspect_repo", view="workdirs")
        assert not result["isError"], result

    def descriptors_now(self):
        """How many the bridge has open; only root may look into a process that holds a key."""
        return len(os.listdir(f"/proc/{self.host.pid}/fd")) if ROOT else None

    def assert_serves(self):
        """Each good call is also a turn for the bridge to close what has ended."""
        for _ in range(50):
            self.good_call()
            if self.descriptors_now() == self.descriptors:
                return
        self.fail(f"{self.descriptors_now()} descriptors are open, {self.descriptors} were before")

    def new_log(self):
        self.good_call()  # what the bridge had to say it has said by then
        return self.host.log()[self.log_before :]

    def assert_nothing_dispatched(self):
        self.assertEqual(len(self.host.audit()), self.calls_before)

    # Peers

    def peer(self, *options):
        peer = Peer(self.socket_path, *options)
        self.addCleanup(peer.end)
        return peer

    def with_key(self, *options, key=None, name=None):
        return self.peer("-psk", (key or self.key).hex(), "-psk_identity", name or self.key_name, *options)

    def proven(self):
        return self.with_key("-tls1_3", "-ciphersuites", CIPHER)

    def plain(self):
        plain = socket.socket(socket.AF_UNIX)
        self.addCleanup(plain.close)
        plain.connect(str(self.socket_path))
        plain.settimeout(PATIENCE)
        return plain

    # Messages

    def hello(self, **changes):
        return frame({"type": "hello", "versions": [1], "policy_digest": self.digest, **changes})

    def request(self, **changes):
        return frame(
            {
                "type": "request",
                "id": "0" * 32,
                "tool": "inspect_repo",
                "arguments": {"view": "workdirs"},
                "caller": {"login": "someone", "mode": "stdio"},
                **changes,
            }
        )


def login_of(line):
    """Who made the call of an audit line; None of one about the bridge itself."""
    return line.get("caller", {}).get("login")


def ended(plain):
    """Whether the bridge has closed the connection; what it still said is no matter."""
    try:
        while plain.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


class Strangers(DoorwayCase):
    """Without the proof nobody is told anything."""

    def assert_turned_away(self, peer):
        self.assertIsNone(peer.message())
        self.assert_nothing_dispatched()
        self.assertEqual(self.new_log().count("PEER_UNPROVEN"), 1)

    def certificate(self):
        place = self.host.path / "stranger"
        place.mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, place)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            + ["-subj", "/CN=stranger", "-keyout", place / "key.pem", "-out", place / "cert.pem"],
            check=True,
            capture_output=True,
            timeout=PATIENCE,
        )
        return ["-cert", str(place / "cert.pem"), "-key", str(place / "key.pem")]

    def test_a_wrong_key(self):
        self.assert_turned_away(self.with_key("-tls1_3", key=bytes(32)))

    def test_no_key(self):
        self.assert_turned_away(self.peer("-tls1_3"))

    def test_an_unknown_name_with_the_right_key(self):
        self.assert_turned_away(self.with_key("-tls1_3", name="other"))

    def test_the_beginning_of_the_name(self):
        self.assert_turned_away(self.with_key("-tls1_3", name=self.key_name[:-1]))

    def test_a_certificate_in_place_of_the_key(self):
        self.assert_turned_away(self.peer("-tls1_3", *self.certificate()))

    def test_an_older_version_of_tls(self):
        self.assert_turned_away(self.with_key("-tls1_2"))

    def test_other_ciphers(self):
        self.assert_turned_away(self.with_key("-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"))

    def test_a_longer_digest(self):
        self.assert_turned_away(self.with_key("-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"))

    def test_plain_text(self):
        plain = self.plain()
        plain.sendall(self.hello() + self.request())

        self.assertTrue(ended(plain))
        self.assert_nothing_dispatched()
        self.assertIn("PEER_UNPROVEN", self.new_log())

    def test_half_a_greeting(self):
        plain = self.plain()
        plain.sendall(b"\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03")
        plain.shutdown(socket.SHUT_WR)

        self.assertTrue(ended(plain))
        self.assertIn("PEER_UNPROVEN", self.new_log())

    def test_nothing_at_all(self):
        self.plain().close()

        self.assert_nothing_dispatched()

    def test_one_after_the_other_more_than_there_is_room_for(self):
        for _ in range(MOST_CONNECTIONS + 50):
            plain = self.plain()
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.assertTrue(ended(plain))
            plain.close()

        self.assert_nothing_dispatched()

    def test_more_at_once_than_there_is_room_for(self):
        crowd = [self.plain() for _ in range(MOST_CONNECTIONS + 50)]

        # Those beyond the limit are let in and closed at once, the others only after the handshake's time.
        closed = [plain for plain in crowd if select.select([plain], [], [], 0)[0]]
        while len(closed) < 50:
            ready, _, _ = select.select([plain for plain in crowd if plain not in closed], [], [], PATIENCE)
            closed += ready
        self.assertTrue(all(ended(plain) for plain in closed))
        for plain in crowd:
            plain.close()
        self.assert_nothing_dispatched()

    def test_a_server_with_a_certificate_in_the_bridges_place(self):
        server_options = self.certificate()
        self.host.stop()
        server = subprocess.Popen(
            # By its short name: openssl cannot say a longer one than 31 bytes, and ends.
            ["openssl", "s_server", "-unix", self.socket_path.name, "-tls1_3", *server_options],
            cwd=self.socket_path.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            self.assertTrue(any(line.startswith(b"ACCEPT ") for line in server.stdout))
            error = error_of(self.client.call("inspect_repo", view="workdirs"))
        finally:
            server.kill()
            server.wait(PATIENCE)
            server.stdout.close()
            self.socket_path.unlink(missing_ok=True)
            self.host.start()

        self.assertEqual(error["code"], "BRIDGE_UNAVAILABLE")
        self.assertIn("did not prove", error["message"])


class BadManners(DoorwayCase):
    """Who holds the key may know what was wrong; the connection is over all the same."""

    def assert_answered(self, code, *frames, dispatched=0):
        peer = self.proven()
        peer.send(*frames)
        answer = peer.message()
        while answer["type"] == "hello":
            answer = peer.message()

        self.assertEqual((answer["type"], answer["is_error"]), ("result", True), answer)
        self.assertEqual(answer["body"]["error"]["code"], code)
        self.assertIsNone(peer.message())
        self.new_log()
        # The good calls of this test are in the audit too.
        mine = [line for line in self.host.audit()[self.calls_before :] if login_of(line) == "someone"]
        self.assertEqual(len(mine), dispatched, mine)

    def test_a_good_conversation(self):
        peer = self.proven()
        peer.send(self.hello(), self.request())

        self.assertEqual(peer.message()["type"], "hello")
        result = peer.message()
        self.assertEqual((result["type"], result["is_error"]), ("result", False))
        self.assertIsNone(peer.message())

    def test_a_length_over_the_limit(self):
        self.assert_answered("REQUEST_TOO_LARGE", struct.pack(">I", MAX_REQUEST_BYTES + 1))
        self.assert_answered("REQUEST_TOO_LARGE", self.hello(), b"\xff\xff\xff\xff")

    def test_an_empty_frame(self):
        self.assert_answered("INVALID_REQUEST", frame(b""))

    def test_what_is_not_json(self):
        for body in (b"hello", b"\xff\xfe", b'{"type":"cancel"', b'{"type":"cancel"} x', b'{"type":NaN}', b"[" * 100):
            with self.subTest(body):
                self.assert_answered("INVALID_REQUEST", frame(body))

    def test_json_of_another_shape(self):
        for body in (
            b"[]",
            b'"hello"',
            b'{"type":"hello","type":"hello","versions":[1],"policy_digest":"x"}',
            b'{"type":"shell"}',
            b'{"versions":[1],"policy_digest":"x"}',
            b'{"type":"hello","versions":[1],"policy_digest":"x","force":true}',
            b'{"type":"hello","versions":"1","policy_digest":"x"}',
            b'{"type":"hello","version":1,"policy_digest":"x","generation":"y"}',
        ):
            with self.subTest(body):
                self.assert_answered("INVALID_REQUEST", frame(body))

    def test_a_request_before_the_hello(self):
        self.assert_answered("INVALID_REQUEST", self.request())

    def test_a_cancel_in_place_of_the_request(self):
        self.assert_answered("INVALID_REQUEST", self.hello(), frame({"type": "cancel"}))

    def test_a_second_hello(self):
        self.assert_answered("INVALID_REQUEST", self.hello(), self.hello())

    def test_another_rendering(self):
        self.assert_answered("POLICY_OUT_OF_DATE", self.hello(policy_digest="0" * 64), self.request())

    def test_another_version(self):
        self.assert_answered("PROTOCOL_VERSION_UNSUPPORTED", self.hello(versions=[2, 3]), self.request())

    def test_a_request_of_another_shape(self):
        for change in ({"id": "x"}, {"arguments": []}, {"caller": {"login": "a"}}, {"caller": {"login": "\n", "mode": ""}}):
            with self.subTest(change):
                self.assert_answered("INVALID_REQUEST", self.hello(), self.request(**change))

    def test_a_tool_that_is_none(self):
        self.assert_answered("INVALID_REQUEST", self.hello(), self.request(tool="shell"), dispatched=1)

    def test_arguments_that_the_front_would_have_refused(self):
        for arguments, code in (
            ({"view": "workdirs", "force": True}, "INVALID_ARGUMENT"),
            ({"view": "status", "workdir": "other"}, "WORKDIR_NOT_FOUND"),
            ({"view": "diff", "workdir": "app", "paths": ["../x"]}, "PATH_OUTSIDE_WORKDIR"),
            ({"view": "diff", "workdir": "app", "paths": [".env"]}, "DENIED_PATH"),
        ):
            with self.subTest(code):
                self.calls_before = len(self.host.audit())
                self.assert_answered(code, self.hello(), self.request(arguments=arguments), dispatched=1)

    def test_a_second_request_is_not_heard(self):
        peer = self.proven()
        peer.send(self.hello(), self.request(), self.request(id="1" * 32))

        self.assertEqual(peer.message()["type"], "hello")
        self.assertEqual(peer.message()["type"], "result")
        self.assertIsNone(peer.message())
        self.new_log()
        self.assertNotIn("1" * 32, {line.get("call") for line in self.host.audit()})

    def test_an_end_inside_a_frame(self):
        for words in (b"\0\0", b"\0\0\0\5abc", self.hello() + self.request()[:-1]):
            with self.subTest(words):
                peer = self.proven()
                peer.send(self.hello())
                self.assertEqual(peer.message()["type"], "hello")
                peer.send(words)
                peer.end()
                self.assert_serves()

    def test_a_front_that_leaves_when_it_has_asked(self):
        peer = self.proven()
        peer.send(self.hello())
        self.assertEqual(peer.message()["type"], "hello")
        peer.send(self.request())
        peer.end()


class SilentPeers(DoorwayCase):
    """Time is limited before the key is proven, and again before there is a request."""

    def test_who_says_nothing_is_sent_away(self):
        silent = self.plain()
        proven = self.proven()
        greeted = self.proven()
        greeted.send(self.hello())
        self.assertEqual(greeted.message()["type"], "hello")

        self.assertTrue(ended(silent))
        self.assertIn("WIRE_TIMEOUT", self.new_log())
        self.assertIsNone(greeted.process.poll())
        # A patience of 30 seconds, twice, beside each other.
        for peer in (proven, greeted):
            self.assertTrue(select.select([peer.process.stdout], [], [], 2 * PATIENCE)[0])
            self.assertIsNone(peer.message())
        self.assertEqual(self.new_log().count("WIRE_TIMEOUT"), 3)
        self.assert_nothing_dispatched_but_good_calls()

    def assert_nothing_dispatched_but_good_calls(self):
        logins = {login_of(line) for line in self.host.audit()[self.calls_before :]}
        self.assertNotIn("someone", logins)


if ROOT:  # only root can become another user

    class AnotherUser(DoorwayCase):
        def connect_as_nobody(self):
            """What another user's program sees: how the connection went, and what it was told."""
            script = (
                "import socket, sys\n"
                "s = socket.socket(socket.AF_UNIX)\n"
                "try: s.connect(sys.argv[1])\n"
                "except OSError as error: print(type(error).__name__)\n"
                "else: print(s.recv(1))\n"
            )
            done = subprocess.run(
                ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
                + ["python3", "-c", script, str(self.socket_path)],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=True,
            )
            return done.stdout.strip()

        def test_the_directory_keeps_it_out(self):
            self.assertEqual(self.connect_as_nobody(), "PermissionError")

        def test_the_kernels_word_keeps_it_out_where_the_directory_does_not(self):
            for directory in (self.host.path, self.host.out, self.socket_path.parent):
                directory.chmod(0o711)
                self.addCleanup(directory.chmod, 0o700)
            self.socket_path.chmod(0o666)
            self.addCleanup(self.socket_path.chmod, 0o600)

            self.assertEqual(self.connect_as_nobody(), "b''")
            self.assertIn("PEER_UNPROVEN the other side runs as another user", self.new_log())


if __name__ == "__main__":
    unittest.main()
