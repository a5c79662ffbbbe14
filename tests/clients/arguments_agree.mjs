// What a client's validator says about arguments, and what the front says, must agree: whatever inputSchema
// refuses the front refuses too, by name; whatever the front refuses beyond that needs more than a schema can
// say. The bridge is down, so a call that the front has nothing against ends as BRIDGE_UNAVAILABLE.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import assert from 'node:assert/strict';
import test from 'node:test';

import { errorOf, withPlace } from './front.mjs';

const PASSED = 'BRIDGE_UNAVAILABLE';
const INVALID = 'INVALID_ARGUMENT';
const takes = true;
const refuses = false;

const RUN = '0123456789abcdef'.repeat(2);
const OID = '0123456789abcdef0123456789abcdef01234567';
const many = (count) => Array.from({ length: count }, (_, i) => `f${i}`);

// tool, arguments, what the schema says, what the front says, and about which argument
const rows = [
  ['inspect_repo', { view: 'workdirs' }, takes, PASSED],
  ['inspect_repo', { view: 'status', workdir: 'app' }, takes, PASSED],
  ['inspect_repo', { view: 'actions', workdir: 'docs' }, takes, PASSED],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: ['a'] }, takes, PASSED],
  ['inspect_repo', { view: 'staged_diff', workdir: 'app', paths: ['a', 'b/c'] }, takes, PASSED],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: many(1000) }, takes, PASSED],
  ['inspect_repo', {}, refuses, INVALID, 'view'],
  ['inspect_repo', { view: 'log', workdir: 'app' }, refuses, INVALID, 'view'],
  ['inspect_repo', { view: 'run', workdir: 'app' }, takes, PASSED],
  ['inspect_repo', { view: 'run', workdir: 'app', run_id: RUN, wait_seconds: 44 }, takes, PASSED],
  ['inspect_repo', { view: 'run', workdir: 'app', run_id: 'r' }, takes, INVALID, 'run_id'],
  ['inspect_repo', { view: 'run', workdir: 'app', run_id: 7 }, refuses, INVALID, 'run_id'],
  ['inspect_repo', { view: 'run', workdir: 'app', wait_seconds: 45 }, refuses, INVALID, 'wait_seconds'],
  ['inspect_repo', { view: 'run', workdir: 'app', wait_seconds: -1 }, refuses, INVALID, 'wait_seconds'],
  ['inspect_repo', { view: 'run', workdir: 'app', wait_seconds: '1' }, refuses, INVALID, 'wait_seconds'],
  ['inspect_repo', { view: 'run', workdir: 'app', paths: ['a'] }, takes, INVALID, 'paths'],
  ['inspect_repo', { view: 'status', workdir: 'app', wait_seconds: 1 }, takes, INVALID, 'wait_seconds'],
  ['inspect_repo', { view: 'STATUS', workdir: 'app' }, refuses, INVALID, 'view'],
  ['inspect_repo', { view: 1 }, refuses, INVALID, 'view'],
  ['inspect_repo', { view: null }, refuses, INVALID, 'view'],
  ['inspect_repo', { view: ['status'], workdir: 'app' }, refuses, INVALID, 'view'],
  ['inspect_repo', { view: 'status', workdir: 7 }, refuses, INVALID, 'workdir'],
  ['inspect_repo', { view: 'status', workdir: null }, refuses, INVALID, 'workdir'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: [] }, refuses, INVALID, 'paths'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: 'a' }, refuses, INVALID, 'paths'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: ['a', 1] }, refuses, INVALID, 'paths'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: [null] }, refuses, INVALID, 'paths'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: null }, refuses, INVALID, 'paths'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: many(1001) }, refuses, INVALID, 'paths'],
  ['inspect_repo', { view: 'status', workdir: 'app', run_id: RUN }, takes, INVALID, 'run_id'],
  ['inspect_repo', { view: 'status', workdir: 'app', cwd: '/' }, refuses, INVALID, 'cwd'],
  ['inspect_repo', { view: 'status' }, takes, INVALID, 'workdir'],
  ['inspect_repo', { view: 'status', workdir: '' }, takes, INVALID, 'workdir'],
  ['inspect_repo', { view: 'workdirs', workdir: 'app' }, takes, INVALID, 'workdir'],
  ['inspect_repo', { view: 'status', workdir: 'app', paths: ['a'] }, takes, INVALID, 'paths'],
  ['inspect_repo', { view: 'diff', workdir: 'app' }, takes, INVALID, 'paths'],
  ['inspect_repo', { view: 'status', workdir: 'nope' }, takes, 'WORKDIR_NOT_FOUND'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: ['/a'] }, takes, 'PATH_OUTSIDE_WORKDIR'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: [''] }, takes, 'INVALID_PATH'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: ['.hidden'] }, takes, 'HIDDEN_PATH_NOT_ALLOWED'],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: ['id_rsa'] }, takes, 'DENIED_PATH'],

  ['run_repo_action', { workdir: 'app', action: 'test' }, takes, PASSED],
  ['run_repo_action', { workdir: 'app', action: 'format', path: 'a b/c' }, takes, PASSED],
  ['run_repo_action', { workdir: 'app' }, refuses, INVALID, 'action'],
  ['run_repo_action', { action: 'test' }, refuses, INVALID, 'workdir'],
  ['run_repo_action', { workdir: 'app', action: ['test'] }, refuses, INVALID, 'action'],
  ['run_repo_action', { workdir: 'app', action: 'test', path: ['a'] }, refuses, INVALID, 'path'],
  ['run_repo_action', { workdir: 'app', action: 'test', path: null }, refuses, INVALID, 'path'],
  ['run_repo_action', { workdir: 'app', action: 'test', argv: ['-x'] }, refuses, INVALID, 'argv'],
  ['run_repo_action', { workdir: 'app', action: 'test', env: {} }, refuses, INVALID, 'env'],
  ['run_repo_action', { workdir: 'app', action: 'test', release_tag: 'v1' }, refuses, INVALID, 'release_tag'],
  ['run_repo_action', { workdir: 'docs', action: 'test' }, takes, 'WORKDIR_READ_ONLY'],
  ['run_repo_action', { workdir: 'app', action: 'test', path: '../a' }, takes, 'PATH_OUTSIDE_WORKDIR'],

  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: 'Why' }, takes, PASSED],
  ['commit_repo_changes', { workdir: 'app', paths: ['a', 'a'], message: '# kept\n' }, takes, PASSED],
  ['commit_repo_changes', { workdir: 'app', paths: ['a', 'b'], message: 'Why', expect: { a: OID, b: OID } }, takes, PASSED],
  ['commit_repo_changes', { workdir: 'app', paths: ['a', 'b'], message: 'Why', expect: { a: OID } }, takes, INVALID, 'expect'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: 'Why', expect: { b: OID } }, takes, INVALID, 'expect'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: 'Why', expect: { a: 'HEAD' } }, takes, INVALID, 'expect'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: 'Why', expect: { a: null } }, refuses, INVALID, 'expect'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: 'Why', expect: [OID] }, refuses, INVALID, 'expect'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'] }, refuses, INVALID, 'message'],
  ['commit_repo_changes', { workdir: 'app', message: 'Why' }, refuses, INVALID, 'paths'],
  ['commit_repo_changes', { workdir: 'app', paths: [], message: 'Why' }, refuses, INVALID, 'paths'],
  ['commit_repo_changes', { workdir: 'app', paths: { a: 1 }, message: 'Why' }, refuses, INVALID, 'paths'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: ['Why'] }, refuses, INVALID, 'message'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: 'Why', amend: true }, refuses, INVALID, 'amend'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: 'Why', all: false }, refuses, INVALID, 'all'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: '' }, takes, 'INVALID_COMMIT_MESSAGE'],
  ['commit_repo_changes', { workdir: 'app', paths: ['a'], message: 'x'.repeat(16385) }, takes, 'INVALID_COMMIT_MESSAGE'],
  ['commit_repo_changes', { workdir: 'app', paths: ['.git/config'], message: 'Why' }, takes, 'DENIED_PATH'],
  ['commit_repo_changes', { workdir: 'app', paths: ['"\\377'], message: 'Why' }, takes, 'INVALID_PATH'],

  ['push_repo', { workdir: 'app' }, takes, PASSED],
  ['push_repo', {}, refuses, INVALID, 'workdir'],
  ['push_repo', { workdir: { alias: 'app' } }, refuses, INVALID, 'workdir'],
  ['push_repo', { workdir: 'app', force: true }, refuses, INVALID, 'force'],
  ['push_repo', { workdir: 'app', remote: 'origin' }, refuses, INVALID, 'remote'],
  ['push_repo', { workdir: 'app', ref: 'main' }, refuses, INVALID, 'ref'],
  ['push_repo', { workdir: 'app', '': 1 }, refuses, INVALID, ''],
  ['push_repo', { workdir: 'app', __proto__x: 1 }, refuses, INVALID, '__proto__x'],
  ['push_repo', { workdir: 'docs' }, takes, 'WORKDIR_READ_ONLY'],
];

test('a validator and the front agree about arguments', withPlace(async (t, place) => {
  const client = new Client({ name: 'agree', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ ...place.server, env: place.env, stderr: 'ignore' }));
  t.after(() => client.close());
  const { tools } = await client.listTools();
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  const validate = Object.fromEntries(tools.map((tool) => [tool.name, ajv.compile(tool.inputSchema)]));

  for (const [tool, given, bySchema, byFront, argument] of rows) {
    const row = `${tool} ${JSON.stringify(given).slice(0, 100)}`;
    assert.equal(validate[tool](given), bySchema, `schema: ${row}`);
    const error = errorOf(await client.callTool({ name: tool, arguments: given }));
    assert.equal(error.code, byFront, `front: ${row}`);
    if (argument !== undefined) assert.equal(error.details.argument, argument, `argument: ${row}`);
    if (bySchema === refuses) assert.equal(byFront, INVALID, `the front must refuse too: ${row}`);
  }
}));

test('the schemas are sound in the dialects that clients use', withPlace(async (t, place) => {
  const client = new Client({ name: 'agree', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ ...place.server, env: place.env, stderr: 'ignore' }));
  t.after(() => client.close());
  const { Ajv } = await import('ajv');
  for (const dialect of [Ajv, Ajv2020]) {
    const ajv = new dialect({ strict: true, strictRequired: true });
    for (const tool of (await client.listTools()).tools) {
      ajv.compile(tool.inputSchema);
      ajv.compile(tool.outputSchema);
    }
  }
}));
