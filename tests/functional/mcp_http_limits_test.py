"""HTTP itself: connections, limits, slow and hostile clients, TLS, the start and the end."""

import http.client
import json
import os
import select
import signal
import socket
import ssl
import subprocess
import time
import unittest

from crash_case import wait_until
from front_case import envelope
from harness import BIN, FRONT, PATIENCE, modern_meta, strict_json
from http_case import Answer, HttpTestCase, McpHttp, modern, modern_headers, read_answer, request

MIB = 1 << 20
PUSH = {"name": "push_repo", "arguments": {"workdir": "app"}}


def descriptors_of(front):
    return len(os.listdir(f"/proc/{front.process.pid}/fd"))


class Connections(HttpTestCase):
    def raw(self, front):
        client = socket.create_connection(front.http, timeout=PATIENCE)
        self.addCleanup(client.close)
        return client

    def test_carry_many_requests(self):
        connection = self.connect(self.run_http())
        self.post(connection, request("ping"))
        first = connection.sock.getsockname()
        for n in range(50):
            self.assertEqual(self.post(connection, request("ping", id=n)).json()["id"], n)
        self.assertEqual(connection.sock.getsockname(), first)

    def test_carry_requests_that_come_before_the_answers(self):
        client = self.raw(self.run_http())
        count = 200
        client.sendall(b"".join(self.raw_post(request("ping", id=n)) for n in range(count)))
        stream = client.makefile("rb")
        for n in range(count):
            self.assertEqual(stream.readline(), b"HTTP/1.1 200 OK\r\n")
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.assertEqual(strict_json(stream.read(length).decode())["id"], n)

    def test_carry_what_follows_a_request_without_a_body(self):
        client = self.raw(self.run_http())
        bare, _ = self.raw_post(request("ping")).split(b"Content-Length")
        client.sendall(bare + b"\r\n" + self.raw_post(request("ping"), {"Connection": "close"}))
        text = client.makefile("rb").read()
        self.assertRegex(text, rb"(?s)^HTTP/1.1 400 .*-32700.*HTTP/1.1 200 ")

    def test_take_a_body_in_chunks(self):
        connection = self.connect(self.run_http())
        body = json.dumps(request("ping")).encode()
        connection.request("POST", "/mcp", iter([body[:5], body[5:]]), self.headers(), encode_chunked=True)
        self.assertEqual(Answer(connection.getresponse()).json()["result"], {})
        self.assertEqual(self.post(connection, request("ping")).status, 200)

    def test_take_a_request_byte_by_byte(self):
        client = self.raw(self.run_http())
        for byte in self.raw_post(request("ping")):
            client.sendall(bytes([byte]))
        self.assertEqual(read_answer(client).json()["result"], {})

    def test_say_when_to_go_on(self):
        client = self.raw(self.run_http())
        head, body = self.raw_post(request("ping"), {"Expect": "100-continue"}).split(b"\r\n\r\n", 1)
        client.sendall(head + b"\r\n\r\n")
        wanted = b"HTTP/1.1 100 Continue\r\n\r\n"
        self.assertEqual(client.recv(len(wanted), socket.MSG_WAITALL), wanted)
        client.sendall(body)
        self.assertEqual(read_answer(client).status, 200)

    def test_do_not_say_go_on_to_who_may_not(self):
        client = self.raw(self.run_http())
        whole = self.raw_post(request("ping"), {"Expect": "100-continue", "Authorization": "Bearer nope"})
        client.sendall(whole.split(b"\r\n\r\n", 1)[0] + b"\r\n\r\n")
        self.assertEqual(read_answer(client).status, 401)

    def test_end_with_what_is_no_http(self):
        front = self.run_http()
        post = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
        for text, status in (
            (b"nonsense\r\n\r\n", 400),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
            (b"GET /mcp HTTP/3.0\r\n\r\n", 400),
            (post + b"Content-Length: x\r\n\r\n", 400),
            (post + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
            (post + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            (post + b"Transfer-Encoding: xchunked\r\n\r\n" + b"GET /behind HTTP/1.1\r\n\r\n", 400),
            (post + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 400),
            (b"POST /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
            (b"POST /mcp HTTP/1.1\r\n Host: localhost\r\n\r\n", 400),
            (post + b"X: " + b"x" * 20000 + b"\r\n\r\n", 431),
        ):
            with self.subTest(text=text[:80]):
                client = self.raw(front)
                client.sendall(text)
                answer = read_answer(client)
                self.assertEqual((answer.status, answer.code()), (status, -32600))
                self.assertEqual(answer.headers["Connection"], "close")
                client.close()

    def test_end_when_a_body_is_too_long(self):
        front = self.run_http()
        announced = self.raw(front)
        announced.sendall(self.raw_post(request("ping", filler="x" * 2 * MIB)))
        answer = read_answer(announced)
        self.assertEqual((answer.status, answer.code()), (413, -32600))
        connection = self.connect(front)
        chunks = iter([b'"' + b"x" * MIB, b"x" * MIB + b'"'])
        connection.request("POST", "/mcp", chunks, self.headers(), encode_chunked=True)
        self.assertEqual(Answer(connection.getresponse()).status, 413)

    def test_survive_a_length_that_no_machine_has(self):
        front = self.run_http()
        for length in ("18446744073709551615", "18446744073709551616", "9" * 60):
            client = self.raw(front)
            client.sendall(self.raw_post({}).replace(b"Content-Length: 2", f"Content-Length: {length}".encode()))
            self.assertIn(read_answer(client).status, (400, 413))
        self.assertEqual(self.post(self.connect(front), request("ping")).status, 200)

    def test_whose_client_has_said_all_carry_every_answer(self):
        client = self.raw(self.run_http())
        client.sendall(b"".join(self.raw_post(request("ping", id=n)) for n in range(3)))
        client.shutdown(socket.SHUT_WR)
        text = client.makefile("rb").read()
        self.assertEqual(text.count(b"HTTP/1.1 200 OK\r\n"), 3)

    def test_keep_after_a_refusal_whose_body_was_read(self):
        connection = self.connect(self.run_http())
        self.post(connection, request("ping"))
        first = connection.sock.getsockname()
        for message, headers, status in (
            (b"{", {}, 400),
            ({}, {}, 400),
            ([], {}, 400),
            (modern("tools/list"), {}, 400),
            (modern("made/up"), modern_headers("made/up"), 404),
            (request("made/up"), {}, 200),
        ):
            answer = self.post(connection, message, headers)
            self.assertEqual((answer.status, answer.headers["Connection"]), (status, "keep-alive"))
            self.assertEqual(self.post(connection, request("ping")).status, 200)
        self.assertEqual(connection.sock.getsockname(), first)

    def test_are_not_told_to_go_on_by_who_would_not_understand(self):
        client = self.raw(self.run_http())
        whole = self.raw_post(request("ping"), {"Expect": "100-continue"}).replace(b"HTTP/1.1", b"HTTP/1.0")
        client.sendall(whole.split(b"\r\n\r\n", 1)[0] + b"\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(client.makefile("rb").read(), b"")

    def test_of_http_1_0_end_with_the_answer(self):
        client = self.raw(self.run_http())
        client.sendall(self.raw_post(request("ping")).replace(b"HTTP/1.1", b"HTTP/1.0"))
        answer = read_answer(client)
        self.assertEqual((answer.status, answer.headers["Connection"]), (200, "close"))

    def test_head_has_no_body(self):
        connection = self.connect(self.run_http())
        connection.request("HEAD", "/mcp", headers=self.headers())
        answer = Answer(connection.getresponse())
        self.assertEqual((answer.status, answer.body), (405, b""))
        self.assertEqual(self.post(connection, request("ping")).status, 200)

    def test_do_not_add_up(self):
        front = self.run_http()
        witness = self.connect(front)
        self.post(witness, request("ping"))

        def count():
            return len(os.listdir(f"/proc/{front.process.pid}/fd"))

        before = count()
        for _ in range(30):
            client = self.raw(front)
            client.sendall(self.raw_post(request("ping"), {"Connection": "close"}))
            read_answer(client)
            self.assertEqual(client.recv(1), b"")
            client.close()
        self.post(witness, request("ping"))
        self.assertLessEqual(count(), before)


class HalfClosed(HttpTestCase):
    """Clients that have said all they will and wait for the answer, and those that look the same and are gone."""

    def setUp(self):
        super().setUp()
        self.bridge = self.run_bridge()
        self.front = self.run_http()

    def half_closed(self, message, headers=None):
        client = self.start_post(self.front, message, headers)
        call = self.bridge.expect_request()
        client.shutdown(socket.SHUT_WR)
        # Whatever the front makes of the end it has made when it has sent this.
        self.assertEqual(client.recv(12, socket.MSG_PEEK), b"HTTP/1.1 100")
        return client, call

    def test_get_their_answers(self):
        for message, headers in (
            (request("tools/call", **PUSH), {}),
            (modern("tools/call", **PUSH), modern_headers("tools/call", "push_repo")),
        ):
            client, call = self.half_closed(message, headers)
            self.bridge.succeed(call, envelope("push_repo", {}))
            answer = read_answer(client)
            self.assertEqual((answer.status, answer.headers["Connection"]), (200, "close"))
            self.assertFalse(answer.json()["result"]["isError"])
            self.assertEqual(client.recv(1), b"")
            self.bridge.expect("closed")

    def test_get_their_streams(self):
        message = request("tools/call", **PUSH, _meta=modern_meta(progressToken="t"))
        client = self.start_post(self.front, message, modern_headers("tools/call", "push_repo"))
        call = self.bridge.expect_request()
        self.bridge.progress(call, 5000)
        stream = client.makefile("rb")
        while not (line := stream.readline()).startswith(b"data: "):
            self.assertTrue(line)
        client.shutdown(socket.SHUT_WR)
        while not (line := stream.readline()).startswith(b": "):
            self.assertTrue(line)
        self.bridge.succeed(call, envelope("push_repo", {}))
        self.assertIn(b'"structuredContent"', stream.read())
        self.bridge.expect("closed")

    def test_that_leave_later_are_noticed(self):
        message = request("tools/call", **PUSH, _meta=modern_meta())
        client, _ = self.half_closed(message, modern_headers("tools/call", "push_repo"))
        # Unread bytes make of this end a reset.
        client.close()
        self.bridge.expect("cancel")

    def test_of_http_1_0_count_as_gone(self):
        client = socket.create_connection(self.front.http, timeout=PATIENCE)
        self.addCleanup(client.close)
        message = self.raw_post(modern("tools/call", **PUSH), modern_headers("tools/call", "push_repo"))
        client.sendall(message.replace(b"HTTP/1.1", b"HTTP/1.0"))
        self.bridge.expect_request()
        client.shutdown(socket.SHUT_WR)
        self.bridge.expect("cancel")

    def test_of_the_local_socket_are_told_apart_too(self):
        path = self.place.path / "front" / "mcp.sock"
        self.run_http("--unix", path)
        message = self.raw_post(modern("tools/call", **PUSH), modern_headers("tools/call", "push_repo"))
        for leaves in (False, True):
            with self.subTest(leaves=leaves), socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE)
                client.connect(str(path))
                client.sendall(message)
                call = self.bridge.expect_request()
                client.shutdown(socket.SHUT_WR)
                self.assertEqual(client.recv(12, socket.MSG_PEEK), b"HTTP/1.1 100")
                if leaves:
                    client.close()
                    self.bridge.expect("cancel")
                self.bridge.succeed(call, envelope("push_repo", {}))
                if not leaves:
                    self.assertEqual(read_answer(client).status, 200)
                self.bridge.expect("closed")


class SlowClients(HttpTestCase):
    limits = {"read_seconds": 1, "write_seconds": 1, "idle_seconds": 1}

    def setUp(self):
        super().setUp()
        self.client = socket.create_connection(self.run_http().http, timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def test_with_a_header_are_told(self):
        self.client.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        answer = read_answer(self.client)
        self.assertEqual((answer.status, answer.code()), (408, -32600))

    def test_with_a_header_have_no_more_time_for_sending_a_little_of_it(self):
        self.client.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
        while not select.select([self.client], [], [], 0.1)[0]:
            self.client.sendall(b"X: y\r\n")
        self.assertEqual(read_answer(self.client).status, 408)

    def test_with_a_body_are_told(self):
        self.client.sendall(self.raw_post(request("ping"))[:-1])
        answer = read_answer(self.client)
        self.assertEqual((answer.status, answer.code()), (408, -32600))

    def test_with_nothing_to_say_are_let_go(self):
        self.assertEqual(self.client.recv(1), b"")

    def test_in_reading_are_cut_off(self):
        # More answers than the buffers between us hold.
        listing = self.raw_post(request("tools/list")) * 100
        with self.assertRaises(ConnectionError):
            while True:
                self.client.sendall(listing)


class TooMany(HttpTestCase):
    limits = {"connections": 3}

    def setUp(self):
        super().setUp()
        self.bridge = self.run_bridge()
        self.front = self.run_http()

    def occupy(self):
        """As many clients as there may be, whose calls are at work, and those calls."""
        clients = [self.start_post(self.front, request("tools/call", **PUSH)) for _ in range(3)]
        events = [self.bridge.expect_any() for _ in range(6)]
        return clients, [event for event in events if event["event"] == "request"]

    def test_connections_are_told(self):
        clients, calls = self.occupy()
        refused = self.post(self.connect(self.front), request("ping"))
        self.assertEqual((refused.status, refused.code()), (503, -32600))
        self.assertIn("Retry-After", refused.headers)
        for call in calls:
            self.bridge.succeed(call, envelope("push_repo", {}))
        self.assertEqual([read_answer(client).status for client in clients], [200] * 3)

    def test_connections_wait_for_one_that_ends(self):
        clients, _ = self.occupy()
        waiting = self.start_post(self.front, request("ping"))
        clients[0].close()
        self.assertEqual(read_answer(waiting).status, 200)

    def test_connections_take_the_place_of_the_one_unused_longest(self):
        kept = [self.connect(self.front) for _ in range(3)]
        for connection in (kept[1], kept[0], kept[2]):
            self.assertEqual(self.post(connection, request("ping")).status, 200)
        self.assertEqual(self.post(self.connect(self.front), request("ping")).status, 200)
        self.assertEqual(kept[1].sock.recv(1), b"")
        for connection in (kept[0], kept[2]):
            self.assertEqual(self.post(connection, request("ping")).status, 200)


class FewDescriptors(HttpTestCase):
    """A shell gives 1024, and a connection and its call take two."""

    limits = {"connections": 100, "calls_at_once_per_caller": 100}

    def test_are_no_limit_where_the_system_has_more(self):
        bridge = self.run_bridge()
        program = ("prlimit", "--nofile=64:4096", *FRONT)
        front = McpHttp(self.place.front_json, "--http", "127.0.0.1:0", program=program)
        self.addCleanup(front.kill)
        clients = [self.start_post(front, request("tools/call", **PUSH)) for _ in range(100)]
        for call in [event for event in (bridge.expect_any() for _ in range(200)) if event["event"] == "request"]:
            bridge.succeed(call, envelope("push_repo", {}))
        self.assertEqual([read_answer(client).status for client in clients], [200] * 100)


class ManyAtOnce(HttpTestCase):
    limits = {"connections": 8, "calls_at_once_per_caller": 8, "idle_seconds": 60, "read_seconds": 60}

    def test_that_are_idle_or_slow_keep_nobody_out_below_the_limit(self):
        front = self.run_http()
        for n in range(7):
            client = socket.create_connection(front.http, timeout=PATIENCE)
            self.addCleanup(client.close)
            client.sendall((b"", b"POST /mcp HT", self.raw_post(request("ping"))[:-1])[n % 3])
        for _ in range(3):
            began = time.monotonic()
            connection = self.connect(front)
            self.assertEqual(self.post(connection, request("ping"), {"Connection": "close"}).status, 200)
            self.assert_prompt(began)

    def test_above_the_limit_are_each_told(self):
        bridge = self.run_bridge()
        front = self.run_http()
        busy = [self.start_post(front, request("tools/call", **PUSH)) for _ in range(8)]
        calls = [event for event in (bridge.expect_any() for _ in range(16)) if event["event"] == "request"]
        # Silent ones hold all the places of those who are being told, for a while.
        for _ in range(40):
            self.addCleanup(socket.create_connection(front.http, timeout=PATIENCE).close)
        for client in [self.start_post(front, request("ping")) for _ in range(100)]:
            answer = read_answer(client)
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "5"))
        for call, client in zip(calls, busy):
            bridge.succeed(call, envelope("push_repo", {}))
            self.assertEqual(read_answer(client).status, 200)
            client.close()
        wait_until("there is a place", lambda: self.post(self.connect(front), request("ping")).status == 200)


class End(HttpTestCase):
    def test_answers_what_is_at_work_and_takes_no_more(self):
        bridge = self.run_bridge()
        front = self.run_http()
        idle = self.connect(front)
        self.post(idle, request("ping"))
        client = self.start_post(front, request("tools/call", **PUSH))
        call = bridge.expect_request()

        front.process.send_signal(signal.SIGTERM)
        self.assertEqual(idle.sock.recv(1), b"")
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(front.http, timeout=PATIENCE)
        bridge.succeed(call, envelope("push_repo", {}))

        answer = read_answer(client)
        self.assertEqual((answer.status, answer.headers["Connection"]), (200, "close"))
        self.assertEqual(front.wait(), 0)
        self.assertEqual(front.stderr(), "")

    def test_ends_streams_and_batches_with_their_answers(self):
        bridge = self.run_bridge()
        front = self.run_http()
        stream = self.start_post(front, request("tools/call", **PUSH, _meta={"progressToken": "t"}))
        streamed = bridge.expect_request()
        bridge.progress(streamed, 5000)
        self.assertTrue(stream.recv(1, socket.MSG_PEEK))
        batch = self.start_post(front, [request("ping"), request("tools/call", id=2, **PUSH)])
        batched = bridge.expect_request()
        idle = self.connect(front)
        self.post(idle, request("ping"))

        front.process.send_signal(signal.SIGTERM)
        self.assertEqual(idle.sock.recv(1), b"")
        for call in (streamed, batched):
            bridge.succeed(call, envelope("push_repo", {}))

        self.assertEqual(read_answer(stream).events()[-1]["id"], 1)
        self.assertEqual([answer["id"] for answer in read_answer(batch).json()], [1, 2])
        for client in (stream, batch):
            self.assertEqual(client.recv(1), b"")
        self.assertEqual(front.wait(), 0)

    def test_comes_at_once_with_a_second_signal(self):
        bridge = self.run_bridge()
        front = self.run_http()
        client = self.start_post(front, request("tools/call", **PUSH))
        bridge.expect_request()
        idle = self.connect(front)
        self.post(idle, request("ping"))
        front.process.send_signal(signal.SIGTERM)
        self.assertEqual(idle.sock.recv(1), b"")
        front.process.send_signal(signal.SIGTERM)
        self.assertEqual(front.wait(), 0)
        self.assertEqual(client.recv(1), b"")


class EndAtFullDoor(HttpTestCase):
    limits = {"connections": 4, "idle_seconds": 600}

    def test_whoever_waited_for_a_place_is_not_waited_for(self):
        # Whether the place is free before the end begins is chance, hence more than one try; the end and what
        # makes the place free come at one time.
        for _ in range(12):
            front = self.run_http()
            crowd = [self.connect(front) for _ in range(4)]
            for client in crowd:
                self.assertEqual(self.post(client, request("ping")).status, 200)
            before = descriptors_of(front)
            silent = socket.create_connection(front.http, timeout=PATIENCE)
            self.addCleanup(silent.close)
            wait_until("it is at the door", lambda: descriptors_of(front) > before)

            front.process.send_signal(signal.SIGSTOP)
            for client in crowd:
                client.close()
            front.process.send_signal(signal.SIGTERM)
            front.process.send_signal(signal.SIGCONT)

            self.assertEqual(front.wait(), 0)


class Tls(HttpTestCase):
    def setUp(self):
        super().setUp()
        key, certificate = self.place.path / "tls.key", self.place.path / "tls.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", key, "-out", certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
            check=True, capture_output=True)
        key.chmod(0o600)
        self.files = {"certificate": str(certificate), "key": str(key)}
        self.context = ssl.create_default_context(cafile=certificate)
        self.write_policy(tls=self.files)

    def test_serves_the_same(self):
        front = self.run_http()
        connection = http.client.HTTPSConnection(
            "localhost", front.http[1], timeout=PATIENCE, context=self.context)
        self.addCleanup(connection.close)
        for n in range(3):
            self.assertEqual(self.post(connection, request("tools/list", id=n)).status, 200)
        with self.assertRaises((http.client.HTTPException, OSError)):
            self.post(self.connect(front), request("ping"))

    def test_a_modern_client_that_leaves_is_noticed(self):
        bridge = self.run_bridge()
        plain = socket.create_connection(self.run_http().http, timeout=PATIENCE)
        client = self.context.wrap_socket(plain, server_hostname="localhost")
        client.sendall(self.raw_post(modern("tools/call", **PUSH), modern_headers("tools/call", "push_repo")))
        bridge.expect_request()
        client.close()
        bridge.expect("cancel")

    def test_needs_files_that_can_be_used(self):
        (self.place.path / "open.key").write_bytes((self.place.path / "tls.key").read_bytes())
        (self.place.path / "open.key").chmod(0o644)
        for change in ({"key": str(self.place.path / "open.key")}, {"certificate": "/nowhere"},
                       {"certificate": self.files["key"]}):
            self.write_policy(tls={**self.files, **change})
            done = start(self.place, "--http", "127.0.0.1:0")
            self.assertEqual(done.returncode, 2)
            self.assertIn("TLS_FILES_UNUSABLE", done.stderr)


def start(place, *options):
    """A start that is refused."""
    argv = [BIN / "repobridge-mcp", "--config", place.front_json, *options]
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)


class Start(HttpTestCase):
    def assert_refused(self, *options, naming):
        done = start(self.place, *options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(naming, done.stderr)

    def test_is_refused_where_nobody_could_call(self):
        self.write_policy(tokens=[])
        self.assert_refused("--http", "127.0.0.1:0", naming="REPOBRIDGE_FRONT_TOKEN_FILES")

    def test_is_refused_with_a_token_that_cannot_be_used(self):
        path = self.place.path / "tester.token"
        for spoil in (lambda: path.chmod(0o640), lambda: path.write_text("short\n"), path.unlink):
            spoil()
            self.assert_refused("--http", "127.0.0.1:0", naming="TOKEN_FILE_UNUSABLE: token 'tester'")

    def test_is_refused_beyond_loopback(self):
        self.assert_refused("--http", "0.0.0.0:0", naming="LISTEN_ADDRESS_NOT_LOOPBACK")
        self.assert_refused("--http", "[::]:0", naming="LISTEN_ADDRESS_NOT_LOOPBACK")

    def test_of_status_pages_never_goes_beyond_loopback(self):
        self.write_policy(allow_non_loopback=True)
        self.assert_refused("--http", "127.0.0.1:0", "--metrics", "0.0.0.0:0",
                            naming="LISTEN_ADDRESS_NOT_LOOPBACK: --metrics is not loopback; only --http")

    def test_goes_beyond_loopback_when_that_is_said(self):
        self.write_policy(allow_non_loopback=True)
        front = self.run_http("--http", "0.0.0.0:0")
        front.http = ("127.0.0.1", front.http[1])
        self.assertEqual(self.post(self.connect(front), request("ping")).status, 200)

    def test_is_refused_at_an_address_that_is_none(self):
        for address in ("8080", "localhost", "localhost:x", "localhost:70000", "example.org:80", ":80"):
            self.assert_refused("--http", address, naming="LISTEN_ADDRESS_INVALID: --http")

    def test_is_refused_at_an_address_that_is_taken(self):
        host, port = self.run_http().http
        self.assert_refused("--http", f"{host}:{port}", naming="LISTEN_ADDRESS_TAKEN: --http")

    def test_serves_other_hosts_and_origins_when_that_is_said(self):
        self.write_policy(allowed_hosts=["mcp.example.org"], allowed_origins=["https://app.example.org"])
        front = self.run_http()
        headers = {"Host": "mcp.example.org:443", "Origin": "https://app.example.org"}
        self.assertEqual(self.post(self.connect(front), request("ping"), headers).status, 200)
        for other in ({"Host": "x.mcp.example.org"}, {"Origin": "http://app.example.org"},
                      {"Origin": "https://app.example.org.evil.test"}):
            self.assertEqual(self.post(self.connect(front), request("ping"), other).status, 403)


class Pages(HttpTestCase):
    """Pages of a browser, whose origin says whether they may."""

    def preflight(self, front, origin):
        connection = self.connect(front)
        asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        connection.request("OPTIONS", "/mcp", headers={"Origin": origin, **asks})
        return Answer(connection.getresponse())

    def test_of_an_allowed_origin_may_ask_and_read(self):
        origin = "https://app.example.org"
        self.write_policy(allowed_origins=[origin])
        front = self.run_http()
        leave = self.preflight(front, origin)
        self.assertEqual((leave.status, leave.body), (204, b""))
        self.assertIn("Authorization", leave.headers["Access-Control-Allow-Headers"])
        for headers, status in (({}, 200), ({"Authorization": None}, 401), ({"Accept": "text/event-stream"}, 200)):
            answer = self.post(self.connect(front), request("ping"), {"Origin": origin, **headers})
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (status, origin))
            self.assertEqual(answer.headers["Vary"], "Origin")
            self.assertIn("Mcp-Session-Id", answer.headers["Access-Control-Expose-Headers"])

    def test_of_other_origins_may_not(self):
        answer = self.preflight(self.run_http(), "https://evil.test")
        self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (403, None))

    def test_nobody_else_is_told_of_it(self):
        answer = self.post(self.connect(self.run_http()), request("ping"))
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])


class Status(HttpTestCase):
    def setUp(self):
        super().setUp()
        self.front = self.run_http("--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0")

    def get(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection(*self.front.status, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request(method, path, headers=headers)
        return Answer(connection.getresponse())

    def test_health_is_that_it_serves(self):
        self.assertEqual(self.get("/healthz").json(), {"healthy": True})

    def test_readiness_is_that_the_bridge_answers(self):
        answer = self.get("/readyz")
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.json(), {"ready": False, "bridge": "BRIDGE_UNAVAILABLE", "draining": False,
                                         "unauthenticated": False})
        self.run_bridge()
        answer = self.get("/readyz")
        self.assertEqual((answer.status, answer.json()["ready"], answer.json()["bridge"]), (200, True, "ok"))

    def test_readiness_needs_a_bridge_of_the_same_rendering(self):
        self.run_bridge(digest="0" * 64)
        self.assertEqual(self.get("/readyz").json()["bridge"], "POLICY_OUT_OF_DATE")

    def test_says_that_anybody_may_call(self):
        self.write_policy(tokens=[], allow_unauthenticated=True)
        self.front = self.run_http("--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0")
        self.assertTrue(self.get("/readyz").json()["unauthenticated"])

    def test_says_that_it_ends(self):
        bridge = self.run_bridge()
        idle = self.connect(self.front)
        self.post(idle, request("ping"))
        client = self.start_post(self.front, request("tools/call", **PUSH))
        call = bridge.expect_request()
        self.front.process.send_signal(signal.SIGTERM)
        self.assertEqual(idle.sock.recv(1), b"")
        answer = self.get("/readyz")
        self.assertEqual((answer.status, answer.json()["draining"]), (503, True))
        bridge.succeed(call, envelope("push_repo", {}))
        self.assertEqual(read_answer(client).status, 200)
        self.assertEqual(self.front.wait(), 0)

    def test_metrics_count_calls_connections_and_answers(self):
        bridge = self.run_bridge()
        client = self.start_post(self.front, request("tools/call", **PUSH))
        call = bridge.expect_request()
        during = self.get("/metrics").body.decode()
        bridge.refuse(call, {"error": {"code": "REPO_NO_UPSTREAM"}})
        read_answer(client)
        self.post(self.connect(self.front), request("ping"), {"Authorization": None})
        after = self.get("/metrics")

        self.assertIn("\nrepobridge_front_calls_in_flight 1\n", during)
        self.assertIn("\nrepobridge_front_connections 1\n", during)
        self.assertTrue(after.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        text = after.body.decode()
        for line in (
            'repobridge_front_calls_total{tool="push_repo",code="REPO_NO_UPSTREAM"} 1',
            'repobridge_front_call_seconds_bucket{tool="push_repo",le="+Inf"} 1',
            'repobridge_front_call_seconds_count{tool="push_repo"} 1',
            'repobridge_front_answers_total{status="200"} 1',
            'repobridge_front_answers_total{status="401"} 1',
            "repobridge_front_calls_in_flight 0",
        ):
            self.assertIn(f"\n{line}\n", text)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+)$')

    def test_everything_else_is_refused_with_json(self):
        self.assertEqual((self.get("/").status, self.get("/").code()), (404, -32600))
        self.assertEqual(self.get("/healthz", "POST").status, 405)
        self.assertEqual(self.get("/metrics", Host="evil.test").status, 403)


if __name__ == "__main__":
    unittest.main()
