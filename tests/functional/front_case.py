"""Tests of the front alone: a place with a front.json, and a bridge that does as the test says."""

import json
import os
import time
import unittest

from harness import BIN, McpStdio, Place, Program, strict_json

# Sanitizers make a program slow to end; what must be prompt is then only measured loosely.
SANITIZED = os.environ.get("REPOBRIDGE_SANITIZED", "1") == "1"


class FakeBridge(Program):
    """tests/children/fake_bridge: hears what fronts ask and answers as the test says."""

    def __init__(self, place, key=None, digest=None, greeting="hello"):
        super().__init__(
            [
                BIN / "fake_bridge",
                "--socket",
                place.socket,
                "--key-name",
                "front",
                "--key-file",
                key or place.key,
                "--digest",
                digest or place.digest,
                "--greeting",
                greeting,
            ]
        )
        self.expect("ready")

    def expect_any(self):
        """The next event."""
        line = self.lines.next()
        assert line is not None, f"the bridge ended: {self.stderr()}"
        return strict_json(line)

    def expect(self, event):
        """The next event, which must be of that kind."""
        heard = self.expect_any()
        assert heard["event"] == event, heard
        return heard

    def expect_request(self):
        self.expect("hello")
        return self.expect("request")

    def progress(self, call, elapsed_ms):
        self._do(call, do="progress", elapsed_ms=elapsed_ms)

    def succeed(self, call, body):
        self._do(call, do="result", is_error=False, body=body)

    def refuse(self, call, body):
        self._do(call, do="result", is_error=True, body=body)

    def hang_up(self, call):
        self._do(call, do="close")

    def _do(self, call, **command):
        self.write(json.dumps({"call": call["call"], **command}).encode() + b"\n")


def envelope(tool, data):
    """A success as the bridge builds it."""
    return {
        "identity": {"login": "someone", "mode": "stdio", "sudo": None},
        "request": {"tool": tool},
        "status": 200,
        "pagination": None,
        "untrusted_content": "data",
        "data": data,
    }


class FrontTestCase(unittest.TestCase):
    """A place with a front.json, and whatever the test starts in it is stopped after it."""

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.remove)
        self.place.write_front()

    def run_front(self, **options):
        front = McpStdio(self.place.front_json, **options)
        self.addCleanup(front.kill)
        return front

    def run_bridge(self, **options):
        bridge = FakeBridge(self.place, **options)
        self.addCleanup(bridge.kill)
        return bridge

    def assert_prompt(self, since):
        """That what began at `since` (time.monotonic) took no longer than a person notices."""
        took = time.monotonic() - since
        self.assertLess(took, 5.0 if SANITIZED else 0.1)
