// One answer of every shape that docs/PROTOCOL.md promises, the nullable members once null and once not, so
// that clients which hold answers against outputSchema show whether the schema means what it should.
const OID = '0123456789abcdef0123456789abcdef01234567';

const envelope = (event, data) => ({
  is_error: false,
  body: {
    identity: { login: event.caller.login, mode: event.caller.mode, sudo: null },
    request: { tool: event.tool, ...event.arguments },
    status: 200,
    pagination: null,
    untrusted_content: 'Data below is data.',
    data,
  },
});

const file = (more) => ({
  path: 'src/a.cc',
  status: 'modified',
  binary: false,
  additions: 1,
  deletions: 2,
  new_oid: OID,
  patch: '@@ -1 +1 @@\n-a\n+b\n',
  truncated: false,
  ...more,
});

const status = {
  app: {
    head: { branch: 'main', oid: OID, unborn: false },
    upstream: { remote: 'origin', branch: 'main', ahead: 1, behind: 0 },
    operation: 'merge',
    clean: false,
    entries: [
      { path: 'a', index: 'unmodified', worktree: 'modified' },
      { path: 'b', index: 'renamed', worktree: 'unmodified', old_path: 'c' },
    ],
    hidden_count: 1,
    freshness: 'scanned',
    truncated: false,
  },
  docs: {
    head: { branch: null, oid: null, unborn: true },
    upstream: null,
    operation: null,
    clean: true,
    entries: [],
    hidden_count: 0,
    freshness: 'scanned',
    truncated: false,
  },
};

const inspect = {
  workdirs: () => ({
    workdirs: [
      { alias: 'app', description: 'The app', read_only: false },
      { alias: 'docs', description: '', read_only: true },
    ],
  }),
  status: ({ workdir }) => status[workdir],
  diff: () => ({
    files: [
      file(),
      file({ status: 'deleted', new_oid: null, patch: null }),
      file({ binary: true, additions: null, deletions: null, old_path: 'old', truncated: true }),
    ],
    truncated: true,
  }),
  staged_diff: () => ({ files: [], truncated: false }),
  actions: () => ({
    actions: [
      { name: 'test', kind: 'command', argument: 'none', mutates: false, timeout_seconds: 40, pins: { count: 2, state: 'ok' } },
      { name: 'format', kind: 'command', argument: 'path', mutates: true, description: 'Formats a file', timeout_seconds: 5, pins: { count: 1, state: 'drift' } },
    ],
  }),
};

const run = ({ action }) => ({
  run_id: 'r1',
  action,
  state: 'finished',
  exit_code: action === 'killed' ? null : 1,
  signal: action === 'killed' ? 9 : null,
  stdout: 'out\n',
  stderr: '',
  stdout_truncated: false,
  stderr_truncated: false,
  started_at: '2026-01-01T00:00:00Z',
  duration_ms: 12,
  pins: { count: 1, protection: 'reverified' },
  containment: { level: 'L1' },
});

const commit = ({ paths, message }) => ({
  commit: OID,
  parent: message === 'first' ? null : OID,
  branch: 'main',
  paths,
  files_changed: paths.length,
  insertions: 1,
  deletions: 0,
});

const push = () => ({
  ref: 'refs/heads/main',
  from: null,
  to: OID,
  result: 'pushed',
  host: null,
  tracking_updated: true,
  commits: [{ oid: OID, subject: 'Why', paths_count: 1 }],
});

const makers = {
  inspect_repo: (given) => inspect[given.view](given),
  run_repo_action: run,
  commit_repo_changes: commit,
  push_repo: push,
};

const refusal = (error) => ({ is_error: true, body: { error } });

// Actions of these names: one finds the workdir busy, one ends only when it is cancelled.
export const BUSY = 'busy';
export const ENDLESS = 'endless';

const busy = refusal({ status: 423, kind: 'busy', code: 'WORKDIR_BUSY', message: 'busy', details: { holder: { tool: 'push_repo' } } });
export const cancelled = refusal({ status: 409, kind: 'conflict', code: 'CALL_CANCELLED', message: 'cancelled' });

export const answerTo = (event) =>
  event.arguments.action === BUSY ? busy : envelope(event, makers[event.tool](event.arguments));

// A call for every shape.
export const calls = [
  ['inspect_repo', { view: 'workdirs' }],
  ['inspect_repo', { view: 'status', workdir: 'app' }],
  ['inspect_repo', { view: 'status', workdir: 'docs' }],
  ['inspect_repo', { view: 'diff', workdir: 'app', paths: ['src/a.cc'] }],
  ['inspect_repo', { view: 'staged_diff', workdir: 'app', paths: ['src/a.cc'] }],
  ['inspect_repo', { view: 'actions', workdir: 'app' }],
  ['run_repo_action', { workdir: 'app', action: 'test' }],
  ['run_repo_action', { workdir: 'app', action: 'killed', path: 'src/a.cc' }],
  ['commit_repo_changes', { workdir: 'app', paths: ['src/a.cc'], message: 'first' }],
  ['commit_repo_changes', { workdir: 'app', paths: ['src/a.cc', 'b'], message: 'Why\n\nBecause.\n' }],
  ['push_repo', { workdir: 'app' }],
];
