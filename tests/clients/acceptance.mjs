// The main job by a real client against a real bridge: node acceptance.mjs CLIENT SERVER, where SERVER is JSON, a
// {command, args} to start or the {url, headers} of a front over HTTP. What is said of the steps goes to stdout as one
// JSON object, for whoever made the repository to compare with git.
import assert from 'node:assert/strict';

const [generation, text] = process.argv.slice(2);
const server = JSON.parse(text);
const about = { name: 'acceptance', version: '1.0.0' };

const transport = (Stdio, Http) =>
  server.url
    ? new Http(new URL(server.url), { requestInit: { headers: server.headers } })
    : new Stdio({ ...server, env: { PATH: process.env.PATH } });

const sdk1 = async () => {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const client = new Client(about);
  await client.connect(transport(StdioClientTransport, StreamableHTTPClientTransport));
  return client;
};

const client2 = (mode) => async () => {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const client = new Client(about, { versionNegotiation: { mode } });
  await client.connect(transport(StdioClientTransport, StreamableHTTPClientTransport));
  return client;
};

const connect = {
  sdk1,
  'client2-legacy': client2('legacy'),
  'client2-auto': client2('auto'),
  'client2-pinned': client2({ pin: '2026-07-28' }),
}[generation];

const client = await connect();
// The client checks each answer against the tool's output schema, which it knows from here.
const { tools } = await client.listTools();
assert.equal(tools.length, 4);

const call = async (name, given) => {
  const result = await client.callTool({ name, arguments: given });
  assert.ok(!result.isError, JSON.stringify(result.content));
  return result.structuredContent.data;
};

const workdir = 'app';
const inspect = (view, more = {}) => call('inspect_repo', { view, ...(view === 'workdirs' ? {} : { workdir }), ...more });

const { workdirs } = await inspect('workdirs');
const { actions } = await inspect('actions');
const status = await inspect('status');
const run = await call('run_repo_action', { workdir, action: actions[0].name });
const { files } = await inspect('diff', { paths: ['notes.txt'] });
const commit = await call('commit_repo_changes', {
  workdir,
  paths: ['notes.txt'],
  message: 'notes: a second one',
  expect: { 'notes.txt': files[0].new_oid },
});
const push = await call('push_repo', { workdir });
await client.close();

console.log(JSON.stringify({ workdirs, actions, status, run, files, commit, push }));
