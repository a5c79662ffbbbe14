"""The front's pipe: nothing but protocol leaves, whatever comes in, and the end is prompt."""

import fcntl
import os
import signal
import subprocess
import time
import unittest

from front_case import FrontTestCase
from harness import BIN

MIB = 1 << 20


class Stdio(FrontTestCase):
    def test_writes_one_message_a_line_and_nothing_else(self):
        front = self.run_front()
        front.initialize()
        front.result("tools/list")
        front.call("inspect_repo", view="workdirs")  # the bridge is down, which is logged
        front.write(b"nonsense\n")

        rest = front.close()

        self.assertEqual([message["error"]["code"] for message in rest], [-32700])
        self.assertIn("BRIDGE_UNAVAILABLE", front.stderr())

    def test_takes_lines_with_carriage_returns_a_byte_order_mark_and_blank_ones(self):
        front = self.run_front()
        front.write(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n')
        front.write(b"\n\r\n   \n")
        front.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\r\n')

        self.assertEqual([front.read()["id"], front.read()["id"]], [1, 2])
        self.assertEqual(front.close(), [])

    def test_takes_a_message_in_pieces(self):
        front = self.run_front()
        for byte in b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n':
            front.write(bytes([byte]))

        self.assertEqual(front.read()["result"], {})

    def test_answers_what_is_no_message(self):
        front = self.run_front()
        cases = [
            (b"{", -32700),
            (b'"\xff\xfe"', -32700),
            (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}', -32700),
            (b"[" * 100000, -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xed\xa0\x80"}}', -32700),
            (b"\x00", -32700),
            (b"[]", -32600),
            (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
            (b"7", -32600),
        ]
        for line, code in cases:
            with self.subTest(line=line[:60]):
                front.write(line + b"\n")
                message = front.read()
                self.assertEqual(message["error"]["code"], code)
                self.assertIsNone(message["id"])
        self.assertEqual(front.result("ping"), {})

    def test_passes_over_a_giant_line_and_goes_on(self):
        front = self.run_front()
        front.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"' + b"x" * 8 * MIB + b'"}}\n')

        message = front.read()

        self.assertEqual((message["id"], message["error"]["code"]), (None, -32600))
        self.assertEqual(front.result("ping"), {})

    def test_takes_a_line_of_exactly_the_limit(self):
        front = self.run_front()
        head, tail = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"', b'"}}'
        front.write(head + b"x" * (MIB - len(head) - len(tail)) + tail + b"\n")
        front.write(head + b"x" * (MIB - len(head) - len(tail) + 1) + tail + b"\n")

        self.assertEqual(front.read()["result"], {})
        self.assertEqual(front.read()["error"]["code"], -32600)

    def test_answers_a_flood_in_order(self):
        front = self.run_front()
        count = 3000
        front.write(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % i for i in range(count)))

        self.assertEqual([front.read()["id"] for _ in range(count)], list(range(count)))

    def test_never_answers_notifications_and_responses(self):
        front = self.run_front()
        front.notify("notifications/initialized")
        front.notify("notifications/cancelled", {"requestId": 7})
        front.notify("notifications/made/up", {})
        front.send({"jsonrpc": "2.0", "id": 9, "result": {}})

        self.assertEqual(front.result("ping"), {})
        self.assertEqual(front.close(), [])

    def test_answers_what_came_before_the_end_of_input(self):
        front = self.run_front()
        front.start("ping")
        front.start("tools/list")

        self.assertEqual([message["id"] for message in front.close()], [1, 2])

    def test_takes_a_last_message_without_its_line_end(self):
        front = self.run_front()
        front.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')

        self.assertEqual([message["id"] for message in front.close()], [1])


class End(FrontTestCase):
    def test_is_prompt_when_the_input_ends(self):
        front = self.run_front()
        front.initialize()

        began = time.monotonic()
        front.end_input()

        self.assertEqual(front.wait(), 0)
        self.assert_prompt(began)

    def test_is_prompt_on_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                front = self.run_front()
                front.initialize()

                began = time.monotonic()
                front.process.send_signal(number)

                self.assertEqual(front.wait(), 0)
                self.assert_prompt(began)

    def test_is_prompt_while_a_call_is_at_work(self):
        bridge = self.run_bridge()
        for end in ("input", "signal"):
            with self.subTest(end=end):
                front = self.run_front()
                front.start_call("push_repo", {"workdir": "app"})
                bridge.expect_request()

                began = time.monotonic()
                if end == "input":
                    front.end_input()
                else:
                    front.process.send_signal(signal.SIGTERM)

                self.assertEqual(front.wait(), 0)
                self.assert_prompt(began)
                self.assertEqual(front.lines.rest(), [])
                # A front that is gone is no cancel: the bridge hears only that it went.
                bridge.expect("closed")

    def test_is_prompt_when_the_client_does_not_read(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        front = self.run_front_writing_to(writer)
        # More answers than the pipe holds.
        front.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 50)
        front.stdin.flush()
        first = os.read(reader, 1)

        began = time.monotonic()
        front.send_signal(signal.SIGTERM)

        self.assertEqual(front.wait(30), 0)
        self.assert_prompt(began)
        self.assertEqual(first, b"{")

    def test_follows_when_the_client_closes_its_reading_end(self):
        reader, writer = os.pipe()
        front = self.run_front_writing_to(writer)
        os.close(reader)
        front.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        front.stdin.flush()

        self.assertEqual(front.wait(30), 0)

    def run_front_writing_to(self, writer):
        process = subprocess.Popen(
            [BIN / "repobridge-mcp", "--config", self.place.front_json, "--stdio"],
            stdin=subprocess.PIPE,
            stdout=writer,
            stderr=subprocess.DEVNULL,
        )
        os.close(writer)

        def stop():
            process.kill()
            process.wait()
            process.stdin.close()

        self.addCleanup(stop)
        return process


class Descriptors(FrontTestCase):
    def test_of_the_client_keep_their_flags(self):
        front = self.run_front()
        front.initialize()

        for stream in (front.process.stdin, front.process.stdout):
            self.assertEqual(fcntl.fcntl(stream, fcntl.F_GETFL) & os.O_NONBLOCK, 0)

    def test_1_leads_to_standard_error(self):
        front = self.run_front()
        front.initialize()

        fds = f"/proc/{front.process.pid}/fd"
        client = os.fstat(front.process.stdout.fileno()).st_ino
        self.assertEqual(os.readlink(f"{fds}/1"), os.readlink(f"{fds}/2"))
        self.assertNotEqual(os.readlink(f"{fds}/1"), f"pipe:[{client}]")

    def test_do_not_add_up_over_many_calls(self):
        bridge = self.run_bridge()
        front = self.run_front()

        def count():
            return len(os.listdir(f"/proc/{front.process.pid}/fd"))

        def call():
            id = front.start_call("push_repo", {"workdir": "app"})
            bridge.refuse(bridge.expect_request(), {"error": {"code": "REPO_NO_UPSTREAM"}})
            front.answer(id)
            bridge.expect("closed")

        call()
        before = count()
        for _ in range(20):
            call()

        self.assertEqual(count(), before)


if __name__ == "__main__":
    unittest.main()
