// The first generation of the official SDK over stdio.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import assert from 'node:assert/strict';
import test from 'node:test';

import { clientCases } from './client_cases.mjs';
import { withPlace } from './front.mjs';

const connect = async (place) => {
  const client = new Client({ name: 'sdk1', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ ...place.server, env: place.env }));
  return client;
};

clientCases('sdk 1', {
  connect,
  callTool: (client, params, options) => client.callTool(params, undefined, options),
});

test('sdk 1: pings', withPlace(async (t, place) => {
  const client = await connect(place);
  t.after(() => client.close());
  assert.deepEqual(await client.ping(), {});
}));
