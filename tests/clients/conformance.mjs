// The conformance suite: all that it wants of a server of a revision, beside what conformance_exceptions.mjs excepts.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

import { exceptions } from './conformance_exceptions.mjs';
import { ways, withPlace } from './front.mjs';
import { program, run } from './program.mjs';

// How many scenarios there are; one that was not run has not passed.
const scenarios = { '2025-11-25': 33, '2026-07-28': 50 };

// It sends no headers of ours, so anybody may call; and it only looks behind the name localhost for rebinding.
async function resultsOf(t, place, revision) {
  place.takeAnybody();
  const { url } = await ways.http(t, place);
  const target = url.replace('127.0.0.1', 'localhost');
  const folder = join(place.path, 'results');
  const options = ['--url', target, '--requirements', revision, '-o', folder];
  const done = await run(program('@modelcontextprotocol/conformance/dist/index.js', 'server', ...options), place.env);
  const said = `${done.stdout}\n${done.stderr}`;
  // A folder each: server-NAME-TIME, where TIME is like 2026-01-01T00-00-00-000Z.
  const results = readdirSync(folder).map((name) => ({
    scenario: name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ''),
    checks: JSON.parse(readFileSync(join(folder, name, 'checks.json'))),
  }));
  return { results, said };
}

// What no exception is about: every message must be of the revision's schema, and every scenario must end.
const NEVER_EXCEPTED = ['wire-schema-valid', 'scenario-timeout'];

// In the words of the exceptions.
const failuresOf = (results, excepted) => {
  const name = (scenario, id) =>
    scenario in excepted && !NEVER_EXCEPTED.includes(id) ? scenario : `${scenario}:${id}`;
  const failed = ({ status }) => status === 'FAILURE' || status === 'WARNING';
  const failures = results.flatMap(({ scenario, checks }) => checks.filter(failed).map(({ id }) => name(scenario, id)));
  return [...new Set(failures)].sort();
};

for (const revision of Object.keys(exceptions)) {
  test(`conformance ${revision}: fails where it is excepted, and nowhere else`, withPlace(async (t, place) => {
    const { results, said } = await resultsOf(t, place, revision);
    assert.equal(results.length, scenarios[revision], said);
    assert.deepEqual(failuresOf(results, exceptions[revision]), Object.keys(exceptions[revision]).sort(), said);
  }));
}

test('conformance: an exception that is not needed, and one that is missing, are noticed', () => {
  const results = [
    { scenario: 'good', checks: [{ id: 'one', status: 'SUCCESS' }] },
    { scenario: 'bad', checks: [{ id: 'one', status: 'SUCCESS' }, { id: 'two', status: 'FAILURE' }] },
    { scenario: 'doubtful', checks: [{ id: 'one', status: 'WARNING' }, { id: 'two', status: 'FAILURE' }] },
    { scenario: 'broken', checks: [{ id: 'wire-schema-valid', status: 'FAILURE' }] },
  ];
  const excepted = { good: 'stale', doubtful: 'as a whole', broken: 'in vain' };
  assert.deepEqual(failuresOf(results, excepted), ['bad:two', 'broken:wire-schema-valid', 'doubtful']);
});
