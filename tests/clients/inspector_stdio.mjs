// The inspector's command line: its --strict looks for whatever some client cannot take in a tool's schemas.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'node:test';

import { TOOLS, withPlace } from './front.mjs';

const INSPECTOR = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url),
);
const REFUSED_BY_THE_TOOL = 5; // the inspector's exit code for a result with isError

const inspect = (place, era, ...words) => {
  const { command, args } = place.server;
  return spawnSync(
    process.execPath,
    // Without the dashes it would take --config for its own.
    [INSPECTOR, '--cli', '--protocol-era', era, '--format', 'json', '-q', ...words, '--', command, ...args],
    { env: place.env, encoding: 'utf8', timeout: 120_000 },
  );
};

for (const era of ['legacy', 'modern']) {
  test(`inspector ${era}: has nothing to say about the tools`, withPlace((t, place) => {
    const done = inspect(place, era, '--method', 'tools/list', '--strict');
    assert.equal(done.status, 0, done.stderr);
    assert.equal(done.stderr, '');
    assert.deepEqual(JSON.parse(done.stdout).result.tools.map((tool) => tool.name), TOOLS);
  }));

  test(`inspector ${era}: calls a tool`, withPlace((t, place) => {
    const done = inspect(place, era, '--method', 'tools/call', '--tool-name', 'inspect_repo', '--tool-arg', 'view=workdirs');
    assert.equal(done.status, REFUSED_BY_THE_TOOL, done.stderr);
    assert.match(done.stdout, /BRIDGE_UNAVAILABLE/);
  }));
}
