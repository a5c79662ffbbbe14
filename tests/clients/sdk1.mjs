// The first generation of the official SDK.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import assert from 'node:assert/strict';
import test from 'node:test';

import { clientCases } from './client_cases.mjs';
import { ways, withPlace } from './front.mjs';

const transports = {
  stdio: (server) => new StdioClientTransport(server),
  http: ({ url, headers }) => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
};

for (const way of Object.keys(ways)) {
  const connect = async (front) => {
    const client = new Client({ name: 'sdk1', version: '1.0.0' });
    await client.connect(transports[way](front));
    return client;
  };

  clientCases(`sdk 1 over ${way}`, {
    way,
    connect,
    callTool: (client, params, options) => client.callTool(params, undefined, options),
  });

  test(`sdk 1 over ${way}: pings`, withPlace(async (t, place) => {
    const client = await connect(await ways[way](t, place));
    t.after(() => client.close());
    assert.deepEqual(await client.ping(), {});
  }));
}
