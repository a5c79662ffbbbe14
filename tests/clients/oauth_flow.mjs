// A client that knows nothing but an address: it is refused, finds out whose tokens are taken, registers, signs in
// with PKCE, and calls.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'node:test';

import { Provider, oauthPolicy, signIn, startAuthorizationServer } from './authorization_server.mjs';
import { HttpFront, withPlace } from './front.mjs';
import { startStandIn } from './stand_in_front.mjs';

async function signsInAndCalls(t, url) {
  const provider = new Provider();
  const client = await signIn(t, url, provider);

  const asked = provider.asked.searchParams;
  assert.equal(asked.get('resource'), url);
  assert.equal(asked.get('code_challenge_method'), 'S256');
  assert.equal(asked.get('scope'), 'repo:read repo:write');
  const result = await client.callTool({ name: 'inspect_repo', arguments: { view: 'workdirs' } });
  assert.deepEqual(result.structuredContent.identity, { login: 'me', mode: 'oauth', sudo: null });
}

const started = async (t, url) => oauthPolicy(await startAuthorizationServer(t, url), url);

test('oauth: a client signs in and calls, with a stand-in for the HTTP server', withPlace(async (t, place) => {
  await signsInAndCalls(t, await startStandIn(t, place.path, (url) => started(t, url)));
}));

test('oauth: a token for another resource does not do', withPlace(async (t, place) => {
  const elsewhere = 'https://elsewhere.example/mcp';
  let issuer;
  const url = await startStandIn(t, place.path, async (here) => {
    issuer = await startAuthorizationServer(t, elsewhere);
    return oauthPolicy(issuer, here);
  });
  // Straight to the authorization server, as a client of that other resource would.
  const post = (path, body) => fetch(`${issuer}${path}`, { method: 'POST', body }).then((answer) => answer.json());
  const redirect = 'http://127.0.0.1:1/callback';
  const { client_id } = await post('/register', JSON.stringify({ redirect_uris: [redirect] }));
  const query = {
    client_id, redirect_uri: redirect, response_type: 'code', resource: elsewhere, scope: 'repo:read',
    code_challenge_method: 'S256', code_challenge: '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU', // of ""
  };
  const answer = await fetch(`${issuer}/authorize?${new URLSearchParams(query)}`, { redirect: 'manual' });
  const code = new URL(answer.headers.get('location')).searchParams.get('code');
  const token = await post('/token', new URLSearchParams({
    grant_type: 'authorization_code', code, redirect_uri: redirect, client_id, resource: elsewhere, code_verifier: '',
  }));
  assert.equal(typeof token.access_token, 'string', JSON.stringify(token));

  const refused = await fetch(url, { method: 'POST', headers: { Authorization: `Bearer ${token.access_token}` } });

  assert.equal(refused.status, 401);
  assert.equal((await refused.json()).error_description, 'the token is for another resource');
}));

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
};

test('oauth: a client signs in and calls the front',
  withPlace(async (t, place) => {
    const address = `127.0.0.1:${await freePort()}`;
    const url = `http://${address}/mcp`;
    place.takeTokensOf(await started(t, url));
    const front = await HttpFront.start(place, address);
    t.after(() => front.stop());

    await signsInAndCalls(t, url);
  }, { bridge: true }));
