// mcporter's command line, which scripts and agents use to call tools.
import assert from 'node:assert/strict';
import test from 'node:test';

import { BUSY } from './answers.mjs';
import { TOOLS, bearer, ways, withPlace } from './front.mjs';
import { program, run } from './program.mjs';

// What names the front on its command line; words of their own it would take for its options.
const targets = {
  stdio: ({ command, args }) => ['--stdio', [command, ...args].map((word) => `"${word}"`).join(' ')],
  http: ({ url, headers }) => ['--http-url', url, '--allow-http', '--header', `Authorization=${headers.Authorization}`],
};

for (const way of Object.keys(ways)) {
  const asking = (body) =>
    withPlace(async (t, place) => {
      const target = targets[way](await ways[way](t, place));
      const named = ['--name', 'front', '--no-oauth'];
      await body((command, ...words) =>
        run(program('mcporter/dist/cli.js', command, ...target, ...named, ...words), place.env));
    }, { bridge: true });

  test(`mcporter over ${way}: lists four tools`, asking(async (mcporter) => {
    const done = await mcporter('list', '--json', '--exit-code');
    assert.equal(done.status, 0, done.stderr);
    const { status, tools, instructions } = JSON.parse(done.stdout);
    assert.equal(status, 'ok');
    assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
    assert.match(instructions, /Workdirs: app, docs/);
  }));

  test(`mcporter over ${way}: calls a tool`, asking(async (mcporter) => {
    const done = await mcporter('call', 'inspect_repo', 'view=workdirs', '--output', 'json');
    assert.equal(done.status, 0, done.stderr);
    assert.equal(JSON.parse(done.stdout).data.workdirs[0].alias, 'app');
  }));

  test(`mcporter over ${way}: reads a refusal`, asking(async (mcporter) => {
    const call = ['call', 'run_repo_action', 'workdir=app', `action=${BUSY}`, '--output', 'json'];
    const done = await mcporter(...call);
    assert.equal(done.status, 1, done.stdout);
    assert.equal(JSON.parse(done.stdout).error.code, 'WORKDIR_BUSY');
  }));
}

test('mcporter over http: is told that its token is not known', withPlace(async (t, place) => {
  const front = await ways.http(t, place);
  front.headers = bearer('unknown');
  const words = [...targets.http(front), '--no-oauth', '--json', '--exit-code'];
  const done = await run(program('mcporter/dist/cli.js', 'list', ...words), place.env);
  assert.equal(done.status, 1, done.stderr);
  assert.equal(JSON.parse(done.stdout).issue.statusCode, 401);
}));
