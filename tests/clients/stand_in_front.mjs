// A front whose decision about tokens is the real one (check_token), and whose HTTP and MCP are the SDK's: the
// way of a token, without the product's own server around it.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

class Decider {
  #waiting = new Map();
  #count = 0;

  static async start(t, policyFile) {
    const decider = new Decider(policyFile);
    t.after(() => decider.process.stdin.end());
    const [line] = await once(decider.lines, 'line');
    decider.metadata = JSON.parse(line).metadata;
    decider.lines.on('line', (text) => {
      const answer = JSON.parse(text);
      decider.#waiting.get(answer.id)?.(answer);
    });
    return decider;
  }

  constructor(policyFile) {
    this.process = spawn(join(process.env.REPOBRIDGE_BIN, 'check_token'), [policyFile], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.lines = createInterface({ input: this.process.stdout });
  }

  decide(authorization = '') {
    const { promise, resolve } = Promise.withResolvers();
    this.#waiting.set(++this.#count, resolve);
    this.process.stdin.write(`${JSON.stringify({ id: this.#count, authorization })}\n`);
    return promise;
  }
}

const sayJson = (response, status, text, headers = {}) => {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(text);
};

// One tool, which says who called.
async function serveMcp(request, response, caller) {
  const server = new Server({ name: 'stand-in', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: 'inspect_repo', inputSchema: { type: 'object' } }],
  }));
  server.setRequestHandler(CallToolRequestSchema, () => {
    const value = { identity: { login: caller.login, mode: caller.mode, sudo: null } };
    return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

// `policyOf` is given the URL under which the front is, and says its policy. Returns that URL.
export async function startStandIn(t, folder, policyOf) {
  const http = createServer();
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${http.address().port}/mcp`;
  const policyFile = join(folder, 'oauth.json');
  writeFileSync(policyFile, JSON.stringify(await policyOf(url)));
  const decider = await Decider.start(t, policyFile);
  http.on('request', async (request, response) => {
    const document = decider.metadata[request.url];
    if (request.method === 'GET' && document) return sayJson(response, 200, document);
    if (request.url !== '/mcp') return sayJson(response, 404, '{"error":"not_found"}');
    const decision = await decider.decide(request.headers.authorization);
    if (decision.allowed) return serveMcp(request, response, decision);
    const body = JSON.stringify({ error: decision.error, error_description: decision.message });
    return sayJson(response, decision.status, body, { 'WWW-Authenticate': decision.www_authenticate });
  });
  return url;
}
