// The inspector's command line: its --strict looks for whatever some client cannot take in a tool's schemas.
import assert from 'node:assert/strict';
import test from 'node:test';

import { TOOLS, ways, withPlace } from './front.mjs';
import { program, run } from './program.mjs';

const LAUNCHER = '@modelcontextprotocol/inspector/clients/launcher/build/index.js';
const REFUSED_BY_THE_TOOL = 5; // the inspector's exit code for a result with isError
const LIST = ['--method', 'tools/list', '--strict'];
const CALL = ['--method', 'tools/call', '--tool-name', 'inspect_repo', '--tool-arg', 'view=workdirs'];

// What names the front on its command line; without the dashes it would take --config for its own.
const targets = {
  stdio: ({ command, args }) => ['--', command, ...args],
  http: ({ url, headers }) => ['--transport', 'http', '--header', `Authorization: ${headers.Authorization}`, '--', url],
};

for (const way of Object.keys(ways)) {
  for (const era of ['legacy', 'modern']) {
    const inspecting = (body, options) =>
      withPlace(async (t, place) => {
        const target = targets[way](await ways[way](t, place));
        const usual = ['--cli', '--format', 'json', '-q', '--protocol-era', era];
        await body((...words) => run(program(LAUNCHER, ...usual, ...words, ...target), place.env));
      }, options);

    test(`inspector ${era} over ${way}: has nothing to say about the tools`, inspecting(async (inspect) => {
      const done = await inspect(...LIST);
      assert.equal(done.status, 0, done.stderr);
      assert.equal(done.stderr, '');
      assert.deepEqual(JSON.parse(done.stdout).result.tools.map((tool) => tool.name), TOOLS);
    }));

    test(`inspector ${era} over ${way}: calls a tool`, inspecting(async (inspect) => {
      const done = await inspect(...CALL);
      assert.equal(done.status, 0, done.stderr);
      assert.equal(JSON.parse(done.stdout).result.structuredContent.request.tool, 'inspect_repo');
    }, { bridge: true }));

    test(`inspector ${era} over ${way}: reads a refusal`, inspecting(async (inspect) => {
      const done = await inspect(...CALL);
      assert.equal(done.status, REFUSED_BY_THE_TOOL, done.stderr);
      assert.match(done.stdout, /BRIDGE_UNAVAILABLE/);
    }));
  }
}
