// What every client must see, whatever its generation and its way to the front (one of front.mjs). `connect` gives a
// connected client of what the way opens; `callTool` passes options along where that generation takes them; `cancels`
// says whether a call that the client gives up is given up by the bridge too; `unknown` is how a client that comes with
// a token nobody knows is told so.
import assert from 'node:assert/strict';
import test from 'node:test';

import { BUSY, ENDLESS, calls } from './answers.mjs';
import { TOOLS, bearer, errorOf, ways, withPlace } from './front.mjs';

// Of a token: the words of the front, or, where the client has only looked at the status, its own.
const SAYS_SO = /not one of this server's|requires authorization/;

// The body of a test with a connected client, and what it is connected to.
const connecting = (open, connect) => (body, options) =>
  withPlace(async (t, place, bridge) => {
    const front = await open(t, place);
    const client = await connect(front);
    t.after(() => client.close());
    await body(client, { front, bridge });
  }, options);

export function clientCases(name, { way, connect, callTool, cancels = true, unknown = SAYS_SO }) {
  const connected = connecting(ways[way], connect);

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

  const says = cancels ? 'cancels the call' : 'leaves the call at work';
  test(`${name}: hears of progress, ${says}, and goes on`, connected(async (client, { bridge }) => {
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
    if (cancels) await bridge.heardCancel;
    assert.deepEqual(heard, [1.5]);
    assert.equal((await client.listTools()).tools.length, 4);
  }, { bridge: true }));

  if (way === 'http') httpCases(name, connect, unknown);
}

function httpCases(name, connect, unknown) {
  const connected = connecting(ways.http, connect);
  const workdirs = (client) => client.callTool({ name: 'inspect_repo', arguments: { view: 'workdirs' } });

  test(`${name}: notices nothing of a front that was started again`, connected(async (client, { front }) => {
    const { tools } = await client.listTools();
    await workdirs(client);

    await front.stop();
    await assert.rejects(workdirs(client));
    await front.start();

    assert.equal((await workdirs(client)).structuredContent.request.tool, 'inspect_repo');
    assert.deepEqual((await client.listTools()).tools, tools);
  }, { bridge: true }));

  test(`${name}: is told that its token lets it look only`, withPlace(async (t, place) => {
    const front = await ways.http(t, place);
    front.headers = bearer(place.readingToken);
    const client = await connect(front);
    t.after(() => client.close());
    const result = await client.callTool({ name: 'push_repo', arguments: { workdir: 'app' } });
    assert.equal(errorOf(result).code, 'CALLER_READ_ONLY');
  }));

  test(`${name}: is told that its token is not known`, withPlace(async (t, place) => {
    const front = await ways.http(t, place);
    front.headers = bearer('unknown');
    await assert.rejects(connect(front), unknown);
  }));
}
