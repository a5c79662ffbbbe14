// The second generation of the official client over stdio, in each way of choosing an era.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import assert from 'node:assert/strict';
import test from 'node:test';

import { clientCases } from './client_cases.mjs';
import { withPlace } from './front.mjs';

const modes = [
  { name: 'legacy', mode: 'legacy', revision: '2025-11-25' },
  { name: 'auto', mode: 'auto', revision: '2026-07-28' },
  { name: 'pinned', mode: { pin: '2026-07-28' }, revision: '2026-07-28' },
];

for (const { name, mode, revision } of modes) {
  const connect = async (place) => {
    const client = new Client({ name: 'client2', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport({ ...place.server, env: place.env }));
    return client;
  };

  clientCases(`client 2 ${name}`, {
    connect,
    callTool: (client, params, options) => client.callTool(params, options),
  });

  test(`client 2 ${name}: speaks ${revision}`, withPlace(async (t, place) => {
    const client = await connect(place);
    t.after(() => client.close());
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
  }));
}
