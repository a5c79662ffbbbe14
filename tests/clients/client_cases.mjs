// What every client must see, whatever its generation. `connect` gives a connected client of it; `callTool`
// passes options along where that generation takes them.
import assert from 'node:assert/strict';
import test from 'node:test';

import { BUSY, ENDLESS, calls } from './answers.mjs';
import { TOOLS, errorOf, withPlace } from './front.mjs';

export function clientCases(name, { connect, callTool }) {
  const connected = (body, options) =>
    withPlace(async (t, place, bridge) => {
      const client = await connect(place);
      t.after(() => client.close());
      await body(client, place, bridge);
    }, options);

  test(`${name}: connects, is told what to do, and lists four tools while the bridge is down`, connected(async (client) => {
    assert.equal(client.getServerVersion().name, 'repobridge');
    assert.match(client.getInstructions(), /inspect_repo.*Workdirs: app, docs \(read-only\)/s);
    const { tools, nextCursor } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
    assert.equal(nextCursor, undefined);
    assert.equal(tools[0].annotations.readOnlyHint, true);
  }));

  test(`${name}: reads refusals of the front`, connected(async (client) => {
    await client.listTools();
    const code = async (tool, given) => errorOf(await client.callTool({ name: tool, arguments: given })).code;
    assert.equal(await code('inspect_repo', { view: 'workdirs' }), 'BRIDGE_UNAVAILABLE');
    assert.equal(await code('push_repo', { workdir: 'app', force: true }), 'INVALID_ARGUMENT');
    assert.equal(await code('push_repo', { workdir: 'docs' }), 'WORKDIR_READ_ONLY');
  }));

  test(`${name}: gets a protocol error for an unknown tool`, connected(async (client) => {
    await assert.rejects(client.callTool({ name: 'shell', arguments: {} }), (error) => error.code === -32602);
  }));

  test(`${name}: takes an answer of every shape`, connected(async (client) => {
    await client.listTools(); // from here on answers are held against outputSchema
    for (const [tool, given] of calls) {
      const result = await client.callTool({ name: tool, arguments: given });
      assert.notEqual(result.isError, true, JSON.stringify(result));
      assert.deepEqual(result.structuredContent, JSON.parse(result.content[0].text));
      assert.equal(result.structuredContent.request.tool, tool);
    }
  }, { bridge: true }));

  test(`${name}: reads refusals of the bridge`, connected(async (client) => {
    await client.listTools();
    const result = await client.callTool({ name: 'run_repo_action', arguments: { workdir: 'app', action: BUSY } });
    assert.equal(errorOf(result).code, 'WORKDIR_BUSY');
  }, { bridge: true }));

  test(`${name}: hears of progress, cancels the call, and goes on`, connected(async (client, place, bridge) => {
    const stop = new AbortController();
    const heard = [];
    const call = callTool(
      client,
      { name: 'run_repo_action', arguments: { workdir: 'app', action: ENDLESS } },
      {
        signal: stop.signal,
        onprogress: (progress) => {
          heard.push(progress.progress);
          stop.abort('enough');
        },
      },
    );
    await assert.rejects(call, /enough/);
    await bridge.heardCancel;
    assert.deepEqual(heard, [1.5]);
    assert.equal((await client.listTools()).tools.length, 4);
  }, { bridge: true }));
}
