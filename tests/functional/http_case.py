"""Tests of the front over HTTP: the built program on loopback, and clients that say exactly what a test wants."""

import http.client
import json
import os
import secrets
import socket

from front_case import FrontTestCase
from harness import FRONT, PATIENCE, Program, modern_meta, strict_json

LIMITS = {
    "connections": 64,
    "calls_at_once_per_caller": 4,
    "read_seconds": 20,
    "write_seconds": 20,
    "idle_seconds": 20,
    "keepalive_seconds": 20,
}
BOTH = "application/json, text/event-stream"


class McpHttp(Program):
    """repobridge-mcp with doors for HTTP; `http` and `status` are where they are, as (host, port)."""

    def __init__(self, front_json, *options, program=FRONT):
        heard, told = os.pipe()
        argv = [*program, "--config", front_json, "--ready-fd", told, *options]
        super().__init__(argv, pass_fds=(told,))
        os.close(told)
        with os.fdopen(heard, "rb") as ready:
            line = ready.readline().decode()
        if not line.startswith("ready"):
            self.wait()
            raise AssertionError(f"not ready: {self.stderr()}")
        places = dict(word.split("=", 1) for word in line.split()[1:])
        self.http = self._place(places.get("http"))
        self.status = self._place(places.get("status"))

    @staticmethod
    def _place(text):
        if text is None:
            return None
        host, port = text.rsplit(":", 1)
        return host.strip("[]"), int(port)


class LocalConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self._path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        assert self.headers["Content-Type"] == "application/json", self.headers.items()
        return strict_json(self.body.decode())

    def code(self):
        """Of a JSON-RPC error; None for a result."""
        message = self.json()
        assert message["jsonrpc"] == "2.0" and "id" in message, message
        return message["error"]["code"] if "error" in message else None

    def events(self):
        """The messages of a stream of events; comments are left out."""
        assert self.headers["Content-Type"] == "text/event-stream", self.headers.items()
        messages = []
        for block in self.body.decode().split("\n\n"):
            if not block or block.startswith(":"):
                continue
            kind, data = block.split("\n")
            assert kind == "event: message" and data.startswith("data: "), block
            messages.append(strict_json(data[len("data: ") :]))
        return messages


def request(method, id=1, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def modern(method, id=1, **params):
    return request(method, id, _meta=modern_meta(), **params)


def modern_headers(method, name=None):
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    return headers if name is None else {**headers, "Mcp-Name": name}


class HttpTestCase(FrontTestCase):
    """A front over HTTP whose one token is `self.token`. `limits` are those of a class's fronts."""

    limits = {}

    def setUp(self):
        super().setUp()
        self.token = self.new_token("tester")
        self.write_policy()

    def new_token(self, name):
        token = secrets.token_hex(32)
        path = self.place.path / f"{name}.token"
        path.write_text(token + "\n")
        path.chmod(0o600)
        return token

    def token_entry(self, name, read_only=False):
        return {"name": name, "file": str(self.place.path / f"{name}.token"), "read_only": read_only}

    def write_policy(self, **changes):
        document = {
            "allowed_hosts": [],
            "allowed_origins": [],
            "allow_non_loopback": False,
            "allow_unauthenticated": False,
            "tokens": [self.token_entry("tester")],
            "tls": None,
            "limits": {**LIMITS, **self.limits},
            **changes,
        }
        self.place.write_front(http=document)

    def run_http(self, *options):
        front = McpHttp(self.place.front_json, *(options or ("--http", "127.0.0.1:0")))
        self.addCleanup(front.kill)
        return front

    def connect(self, front):
        connection = http.client.HTTPConnection(*front.http, timeout=PATIENCE)
        self.addCleanup(connection.close)
        return connection

    def headers(self, **more):
        return {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": BOTH,
            **more,
        }

    def post(self, connection, message, headers=None, path="/mcp"):
        """A POST with the usual headers, changed by `headers`; a value of None leaves one out."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        all_headers = {**self.headers(), **(headers or {})}
        connection.request("POST", path, body, {k: v for k, v in all_headers.items() if v is not None})
        return Answer(connection.getresponse())

    def start_post(self, front, message, headers=None):
        """Sends a POST and returns its socket, before anything of the answer is read."""
        client = socket.create_connection(front.http, timeout=PATIENCE)
        self.addCleanup(client.close)
        client.sendall(self.raw_post(message, headers))
        return client

    def raw_post(self, message, headers=None):
        body = json.dumps(message).encode()
        all_headers = {"Host": "localhost", **self.headers(), **(headers or {})}
        lines = [f"{name}: {value}" for name, value in all_headers.items()]
        head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", ""])
        return head.encode() + body


def read_answer(client, method="POST"):
    """The next answer on a socket. Not for pipelined ones: what comes behind it may be read too."""
    response = http.client.HTTPResponse(client, method=method)
    response.begin()
    return Answer(response)
