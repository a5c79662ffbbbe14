// mcp-remote: by which clients that only start programs reach a front over HTTP.
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import assert from 'node:assert/strict';
import test from 'node:test';

import { clientCases } from './client_cases.mjs';
import { bearer, ways, withPlace } from './front.mjs';
import { program, run } from './program.mjs';

const proxy = ({ url, headers }, ...options) => {
  const header = `Authorization:${headers.Authorization}`;
  const words = ['--allow-http', '--transport', 'http-only', '--header', header, ...options];
  return program('mcp-remote/dist/proxy.js', url, ...words);
};
const quiet = (front) => ({ ...proxy(front, '--silent'), env: front.env });

const about = { name: 'behind a proxy', version: '1.0.0' };

const generations = {
  'sdk 1': {
    connect: async (front) => {
      const client = new Client1(about);
      await client.connect(new Stdio1(quiet(front)));
      return client;
    },
    callTool: (client, params, options) => client.callTool(params, undefined, options),
  },
  'client 2 pinned': {
    connect: async (front) => {
      const client = new Client2(about, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
      await client.connect(new Stdio2(quiet(front)));
      return client;
    },
    callTool: (client, params, options) => client.callTool(params, options),
    cancels: false, // the notification is passed on, which means nothing in this era, and the stream is kept
  },
};

for (const [name, client] of Object.entries(generations)) {
  clientCases(`${name} through mcp-remote`, {
    ...client,
    way: 'http',
    unknown: /closed/i, // what it says of that goes to stderr
  });
}

test('mcp-remote: says that nobody signs in here when its token is not known', withPlace(async (t, place) => {
  const front = await ways.http(t, place);
  front.headers = bearer('unknown');
  const done = await run(proxy(front), place.env);
  assert.equal(done.status, 1);
  assert.match(done.stderr, /nobody registers or signs in here/);
}));
