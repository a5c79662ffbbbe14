"""Many clients at once: over HTTP, one front, one bridge, one repository, one token."""

import asyncio
import json
import socket
import unittest

from bridge_case import BridgeCase
from crash_case import children_of, name_of
from harness import PATIENCE, strict_json
from http_case import McpHttp, read_answer, request

CLIENTS = 64
CALLS = 8  # of each
WORKERS_AT_ONCE = 4  # bridge/git/worker_pool.h
LOOK = request("tools/call", name="inspect_repo", arguments={"workdir": "app", "view": "status"})


async def ask(reader, writer, message):
    """The result over a connection that is kept."""
    writer.write(message)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = head.split("\r\n")
    assert lines[0] == "HTTP/1.1 200 OK", head
    [length] = [int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")]
    return strict_json((await reader.readexactly(length)).decode())["result"]


class Load(BridgeCase):
    def setUp(self):
        super().setUp()
        self.repo.save(**{"a.txt": "one\n"})
        self.repo.write("b.txt", "new\n")
        self.front = McpHttp(self.host.out / "front.json", "--http", "127.0.0.1:0")
        self.addCleanup(self.front.kill)

    def message(self, content):
        body = json.dumps(content).encode()
        head = (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n"
            f"Authorization: Bearer {(self.host.out / 'front.token').read_text().strip()}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    async def one_client(self, name, answered):
        reader, writer = await asyncio.open_connection(*self.front.http)
        message = self.message(LOOK)
        for _ in range(CALLS):
            result = await ask(reader, writer, message)
            self.assertFalse(result["isError"], result)
            self.assertEqual([one["path"] for one in result["structuredContent"]["data"]["entries"]], ["b.txt"])
            answered.append(name)
            self.count_workers()
        writer.close()

    def count_workers(self):
        names = [name_of(child) for child in children_of(self.host.pid)]
        self.workers = max(self.workers, sum(name.startswith("repobridge-git") for name in names))

    def test_every_client_is_served_and_none_waits_for_the_others_to_end(self):
        answered = []
        self.workers = 0

        async def all_of_them():
            await asyncio.gather(*(self.one_client(name, answered) for name in range(CLIENTS)))

        asyncio.run(asyncio.wait_for(all_of_them(), 4 * PATIENCE))

        self.assertEqual([answered.count(name) for name in range(CLIENTS)], [CALLS] * CLIENTS)
        first_end = next(n for n, name in enumerate(answered, 1) if answered[:n].count(name) == CALLS)
        fewest = min(answered[:first_end].count(name) for name in range(CLIENTS))
        self.assertGreaterEqual(fewest, CALLS // 2, "of a client, when another had all its answers")
        self.assertIn(self.workers, range(1, WORKERS_AT_ONCE + 1))

    def test_clients_that_keep_connections_make_room_for_others(self):
        ping = self.message(request("ping"))
        for wave in range(3):
            crowd = [socket.create_connection(self.front.http, timeout=PATIENCE) for _ in range(256)]
            for client in crowd:
                self.addCleanup(client.close)
                client.sendall(ping)
            self.assertEqual([read_answer(client).status for client in crowd], [200] * 256, f"wave {wave}")


if __name__ == "__main__":
    unittest.main()
