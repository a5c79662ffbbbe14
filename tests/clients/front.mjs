// What the client tests begin with: a front.json in a private place, a HOME that is nobody's, the front over HTTP,
// and the bridge that does as it is told. Everything is gone when the test is.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { ENDLESS, answerTo, cancelled } from './answers.mjs';

const BIN = process.env.REPOBRIDGE_BIN;
if (!BIN) throw new Error('REPOBRIDGE_BIN must name the folder of the built programs');

const FRONT = join(BIN, 'repobridge-mcp');

export const TOOLS = ['inspect_repo', 'run_repo_action', 'commit_repo_changes', 'push_repo'];

const writePrivate = (path, data) => {
  writeFileSync(path, data, { mode: 0o600 });
  chmodSync(path, 0o600);
  return path;
};

const workdir = ([alias, readOnly]) => ({
  alias,
  description: `The ${alias}`,
  read_only: readOnly,
  rules: { allow_hidden: false, disable_default_deny: false, extra_deny_globs: [] },
});

export class Place {
  #config;

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'repobridge-clients-'));
    this.home = join(this.path, 'home');
    mkdirSync(this.home);
    this.digest = randomBytes(32).toString('hex');
    this.socket = join(this.path, 'run', 'bridge.sock');
    this.key = writePrivate(join(this.path, 'bridge.key'), randomBytes(32));
    this.token = this.#newToken('writer');
    this.readingToken = this.#newToken('reader');
    this.config = join(this.path, 'front.json');
    this.#config = {
      version: 1,
      digest: this.digest,
      bridges: [{ name: 'local', socket_path: this.socket, key_name: 'front', key_file: this.key }],
      limits: { secret_detection: 'mask', max_response_items: 1000, max_response_chars: 100000 },
      workdirs: [['app', false], ['docs', true]].map(workdir),
      http: this.#http([['writer', false], ['reader', true]], false),
    };
    this.#write();
  }

  // Who calls over HTTP comes with a token of the authorization server of `oauth`, and of no other kind.
  takeTokensOf(oauth) {
    this.#config = { ...this.#config, oauth, http: this.#http([], false) };
    this.#write();
  }

  // Anybody may call over HTTP.
  takeAnybody() {
    this.#config = { ...this.#config, http: this.#http([], true) };
    this.#write();
  }

  // How a client starts the front.
  get server() {
    return { command: FRONT, args: ['--config', this.config, '--stdio'] };
  }

  get env() {
    return { HOME: this.home, PATH: process.env.PATH };
  }

  remove() {
    rmSync(this.path, { recursive: true });
  }

  #newToken(name) {
    const token = randomBytes(32).toString('hex');
    writePrivate(this.#tokenFile(name), token);
    return token;
  }

  #tokenFile(name) {
    return join(this.path, `${name}.token`);
  }

  #http(tokens, anybody) {
    return {
      allowed_hosts: [],
      allowed_origins: [],
      allow_non_loopback: false,
      allow_unauthenticated: anybody,
      tokens: tokens.map(([name, readOnly]) => ({ name, file: this.#tokenFile(name), read_only: readOnly })),
      tls: null,
      limits: {
        connections: 64,
        calls_at_once_per_caller: 4,
        read_seconds: 20,
        write_seconds: 20,
        idle_seconds: 20,
        keepalive_seconds: 20,
      },
    };
  }

  #write() {
    writePrivate(this.config, JSON.stringify(this.#config));
  }
}

export const bearer = (token) => ({ Authorization: `Bearer ${token}` });

// The front over HTTP. `url` and `headers` are what a client is told of it, `env` what it runs in as a program.
export class HttpFront {
  #place;
  #address;
  #process;

  static async start(place, address = '127.0.0.1:0') {
    const front = new HttpFront(place, address);
    await front.start();
    return front;
  }

  constructor(place, address) {
    this.#place = place;
    this.#address = address;
    this.headers = bearer(place.token);
    this.env = place.env;
  }

  // The second time at the address of the first.
  async start() {
    const options = ['--config', this.#place.config, '--http', this.#address, '--ready-fd', '3'];
    this.#process = spawn(FRONT, options, { stdio: ['ignore', 'inherit', 'inherit', 'pipe'] });
    const [line] = await once(createInterface({ input: this.#process.stdio[3] }), 'line');
    this.#address = line.replace('ready http=', '');
    this.url = `http://${this.#address}/mcp`;
  }

  async stop() {
    this.#process.kill();
    const [status] = await once(this.#process, 'exit');
    if (status !== 0) throw new Error(`the front ended with ${status}`);
  }
}

// The ways to the front, each with what the transport of a client is made of.
export const ways = {
  stdio: (t, place) => ({ ...place.server, env: place.env }),
  http: async (t, place) => {
    const front = await HttpFront.start(place);
    t.after(() => front.stop());
    return front;
  },
};

// Answers every call with what answers.mjs has for it, as soon as it is asked; an endless one when it is
// cancelled, which `heardCancel` then tells, or when the bridge is stopped.
export class Bridge {
  #process;
  #lines;
  #cancelHeard = Promise.withResolvers();

  static async start(place) {
    const bridge = new Bridge(place);
    const first = await bridge.#lines.next();
    if (JSON.parse(first.value).event !== 'ready') throw new Error(`the bridge says ${first.value}`);
    bridge.#serve();
    return bridge;
  }

  constructor(place) {
    const options = { '--socket': place.socket, '--key-name': 'front', '--key-file': place.key, '--digest': place.digest };
    this.#process = spawn(join(BIN, 'fake_bridge'), Object.entries(options).flat(), {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  async #serve() {
    for await (const line of this.#lines) {
      const event = JSON.parse(line);
      if (event.event === 'request') {
        this.#tell({ do: 'progress', call: event.call, elapsed_ms: 1500 });
        if (event.arguments.action === ENDLESS) continue;
        this.#tell({ do: 'result', call: event.call, ...answerTo(event) });
      } else if (event.event === 'cancel') {
        this.#tell({ do: 'result', call: event.call, ...cancelled });
        this.#cancelHeard.resolve();
      }
    }
  }

  get heardCancel() {
    return this.#cancelHeard.promise;
  }

  #tell(command) {
    this.#process.stdin.write(`${JSON.stringify(command)}\n`);
  }

  async stop() {
    this.#process.stdin.end();
    await this.ended;
  }
}

// A place and, if wanted, a bridge for one test of node:test. What was begun last ends first, unlike the hooks of the
// test itself: a client before its front, all before their place.
export const withPlace = (body, { bridge = false } = {}) => async () => {
  await using begun = new AsyncDisposableStack();
  const after = (end) => begun.defer(end);
  const place = new Place();
  after(() => place.remove());
  const running = bridge ? await Bridge.start(place) : null;
  if (running) after(() => running.stop());
  await body({ after }, place, running);
};

export const errorOf = (result) => {
  if (result.isError !== true || 'structuredContent' in result) throw new Error(JSON.stringify(result));
  return JSON.parse(result.content[0].text).error;
};
