"""What the functional tests are made of: private places, programs that are started and always stopped, and a
strict MCP client over a pipe. Python's standard library only.

Nothing here sleeps: a test waits for a line, an event or an end, each within PATIENCE, which only a test that
fails ever uses up.
"""

import json
import os
import pathlib
import queue
import secrets
import shutil
import subprocess
import tempfile
import threading

PATIENCE = 30.0  # seconds
ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("REPOBRIDGE_BIN", ROOT / "build" / "dev" / "bin"))
FRONT = (BIN / "repobridge-mcp",)  # the words that start it

LEGACY_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_REVISION = "2026-07-28"


def strict_json(text):
    """One JSON value as every client would read it: no duplicate key, no NaN."""

    def unique(pairs):
        names = [name for name, _ in pairs]
        if len(names) != len(set(names)):
            raise ValueError(f"duplicate key in {text[:200]!r}")
        return dict(pairs)

    def no_constant(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)


class LinesOf:
    """Collects the lines of a stream in the background; an end is None."""

    def __init__(self, stream):
        self._stream = stream
        self._lines = queue.Queue()
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self):
        for line in self._stream:
            self._lines.put(line)
        self._lines.put(None)

    def next(self, timeout=PATIENCE):
        try:
            return self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no line within {timeout} s") from None

    def rest(self, timeout=PATIENCE):
        """All lines up to the end of the stream."""
        lines = []
        while (line := self.next(timeout)) is not None:
            lines.append(line)
        return lines


class Place:
    """A private directory with what a front needs to be started in it."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="repobridge-test-"))
        self.digest = secrets.token_hex(32)
        self.socket = self.path / "run" / "bridge.sock"
        self.key = self.path / "bridge.key"
        self.front_json = self.path / "front.json"
        self.write_key(self.key)

    def write_key(self, path):
        path.write_bytes(secrets.token_bytes(32))
        path.chmod(0o600)
        return path

    def write_front(self, workdirs=("app",), **changes):
        """front.json. A workdir is its alias, or a dict that says more; `changes` replace whole members."""
        listed = [{"alias": one} if isinstance(one, str) else one for one in workdirs]
        rules = {"allow_hidden": False, "disable_default_deny": False, "extra_deny_globs": []}
        document = {
            "version": 1,
            "digest": self.digest,
            "bridges": [
                {
                    "name": "local",
                    "socket_path": str(self.socket),
                    "key_name": "front",
                    "key_file": str(self.key),
                }
            ],
            "limits": {"secret_detection": "mask", "max_response_items": 1000, "max_response_chars": 100000},
            "workdirs": [{"description": "", "read_only": False, "rules": rules, **one} for one in listed],
            **changes,
        }
        self.front_json.write_text(json.dumps(document))
        self.front_json.chmod(0o600)
        return self.front_json

    def remove(self):
        shutil.rmtree(self.path)


class Program:
    """A process with pipes. stderr is kept in memory and never blocks the program."""

    def __init__(self, argv, env=None, pass_fds=()):
        self._errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=env,
            pass_fds=pass_fds,
        )
        self.lines = LinesOf(self.process.stdout)

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def stderr(self):
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def end_input(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()

    def wait(self, timeout=PATIENCE):
        return self.process.wait(timeout)

    def kill(self):
        self.process.kill()
        self.process.wait()
        try:
            self.end_input()
        except BrokenPipeError:
            pass  # what was still buffered has nobody to go to
        self.process.stdout.close()
        self._errors.close()


class McpStdio(Program):
    """repobridge-mcp over its pipe. Every line it writes must be one JSON-RPC message, or the test fails."""

    def __init__(self, front_json, env=None, program=FRONT):
        super().__init__([*program, "--config", front_json, "--stdio"], env=env)
        self._next_id = 0
        self._put_aside = []

    def send(self, message):
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    def start(self, method, params=None, id=None):
        """Sends a request and returns its id; wait() for the answer comes later."""
        if id is None:
            self._next_id += 1
            id = self._next_id
        params = {} if params is None else {"params": params}
        self.send({"jsonrpc": "2.0", "id": id, "method": method, **params})
        return id

    def read(self, timeout=PATIENCE):
        """The next message that no one waited for yet."""
        if self._put_aside:
            return self._put_aside.pop(0)
        return self._read_line(timeout)

    def read_batch(self, timeout=PATIENCE):
        """The answers to a batch, which must be what comes next."""
        line = self.lines.next(timeout)
        assert line is not None, f"the server ended: {self.stderr()}"
        answers = strict_json(line.decode("utf-8"))
        assert isinstance(answers, list) and answers, line
        return [self._check_message(answer) for answer in answers]

    def answer(self, id, timeout=PATIENCE):
        """The answer to the request; what comes before it is kept for read()."""
        while True:
            message = self._read_line(timeout)
            if "method" not in message and message.get("id") == id and type(message["id"]) is type(id):
                return message
            self._put_aside.append(message)

    def request(self, method, params=None, id=None, timeout=PATIENCE):
        return self.answer(self.start(method, params, id), timeout)

    def result(self, method, params=None):
        message = self.request(method, params)
        assert "result" in message, message
        return message["result"]

    def error(self, method, params=None):
        message = self.request(method, params)
        assert "error" in message, message
        return message["error"]

    def initialize(self, revision="2025-11-25"):
        result = self.result(
            "initialize",
            {
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": {"name": "harness", "version": "1"},
            },
        )
        self.notify("notifications/initialized")
        return result

    def start_call(self, tool, arguments, meta=None):
        params = {"name": tool, "arguments": arguments}
        if meta is not None:
            params["_meta"] = meta
        return self.start("tools/call", params)

    def call(self, tool, timeout=PATIENCE, **arguments):
        """The result of a tool call."""
        message = self.answer(self.start_call(tool, arguments), timeout)
        assert "result" in message, message
        return message["result"]

    def close(self, timeout=PATIENCE):
        """Ends the input as a client does and returns the messages that still came."""
        self.end_input()
        rest = [self._check(line) for line in self.lines.rest(timeout)]
        code = self.wait(timeout)
        assert code == 0, (code, self.stderr())
        return self._put_aside + rest

    def _read_line(self, timeout):
        line = self.lines.next(timeout)
        assert line is not None, f"the server ended: {self.stderr()}"
        return self._check(line)

    @classmethod
    def _check(cls, line):
        assert line.endswith(b"\n") and line.count(b"\r") == 0, line
        return cls._check_message(strict_json(line.decode("utf-8")))

    @staticmethod
    def _check_message(message):
        assert isinstance(message, dict) and message["jsonrpc"] == "2.0", message
        kinds = [kind for kind in ("result", "error", "method") if kind in message]
        assert len(kinds) == 1, message
        assert ("id" in message) == (kinds != ["method"]), message
        return message


def error_of(result):
    """The error object of a tool result that is one."""
    assert result["isError"] is True and "structuredContent" not in result, result
    assert len(result["content"]) == 1 and result["content"][0]["type"] == "text", result
    return strict_json(result["content"][0]["text"])["error"]


def modern_meta(**more):
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "harness", "version": "1"},
        **more,
    }
