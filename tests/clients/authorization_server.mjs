// The authorization server of tests/functional, and a client that signs in at it without a browser.
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../functional/authorization_server.py', import.meta.url));
const REDIRECT = 'http://127.0.0.1:1/callback'; // nobody listens there: the client reads the address itself

// Its issuer; it ends with the test.
export async function startAuthorizationServer(t, resource) {
  const server = spawn('python3', ['-B', PROGRAM, '--resource', resource], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(async () => {
    server.stdin.end();
    if (server.exitCode === null) await once(server, 'exit');
  });
  const [line] = await once(createInterface({ input: server.stdout }), 'line');
  return JSON.parse(line).issuer;
}

// What the front is told of it.
export const oauthPolicy = (issuer, resource) => ({
  issuer,
  resource,
  jwks_url: `${issuer}/keys`,
  jwks_file: '',
  jwks_ca_file: '',
  algorithms: ['RS256'],
  allowed_subjects: ['me'],
  login_claim: 'sub',
  leeway_seconds: 60,
});

// What a client keeps between its requests; in place of a browser it follows one redirect.
export class Provider {
  redirectUrl = REDIRECT;
  clientMetadata = {
    client_name: 'a test',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };

  clientInformation = () => this.client;
  saveClientInformation = (client) => { this.client = client; };
  tokens = () => this.given;
  saveTokens = (tokens) => { this.given = tokens; };
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => { this.verifier = verifier; };

  async redirectToAuthorization(url) {
    this.asked = url;
    const response = await fetch(url, { redirect: 'manual' });
    assert.equal(response.status, 302, await response.text());
    this.code = new URL(response.headers.get('location')).searchParams.get('code');
  }
}

// A client that was refused, signed in, and is connected.
export async function signIn(t, url, provider) {
  const client = () => new Client({ name: 'signs in', version: '1.0.0' });
  const refused = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  await assert.rejects(client().connect(refused), UnauthorizedError);
  await refused.finishAuth(provider.code);
  const connected = client();
  await connected.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: provider }));
  t.after(() => connected.close());
  return connected;
}
