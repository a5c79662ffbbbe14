// What the client tests begin with: a front.json in a private place, a HOME that is nobody's, and the bridge
// that does as it is told. Everything is gone when the test is.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { ENDLESS, answerTo, cancelled } from './answers.mjs';

const BIN = process.env.REPOBRIDGE_BIN;
if (!BIN) throw new Error('REPOBRIDGE_BIN must name the folder of the built programs');

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
  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'repobridge-clients-'));
    this.home = join(this.path, 'home');
    mkdirSync(this.home);
    this.digest = randomBytes(32).toString('hex');
    this.socket = join(this.path, 'run', 'bridge.sock');
    this.key = writePrivate(join(this.path, 'bridge.key'), randomBytes(32));
    this.config = writePrivate(
      join(this.path, 'front.json'),
      JSON.stringify({
        version: 1,
        digest: this.digest,
        bridges: [{ name: 'local', socket_path: this.socket, key_name: 'front', key_file: this.key }],
        limits: { secret_detection: 'mask', max_response_items: 1000, max_response_chars: 100000 },
        workdirs: [['app', false], ['docs', true]].map(workdir),
      }),
    );
  }

  // How a client starts the front.
  get server() {
    return { command: join(BIN, 'repobridge-mcp'), args: ['--config', this.config, '--stdio'] };
  }

  get env() {
    return { HOME: this.home, PATH: process.env.PATH };
  }

  remove() {
    rmSync(this.path, { recursive: true });
  }
}

// Answers every call with what answers.mjs has for it, as soon as it is asked; an endless one when it is
// cancelled, which `heardCancel` then tells.
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

// A place and, if wanted, a bridge for one test of node:test.
export const withPlace = (body, { bridge = false } = {}) => async (t) => {
  const place = new Place();
  t.after(() => place.remove());
  const running = bridge ? await Bridge.start(place) : null;
  if (running) t.after(() => running.stop());
  await body(t, place, running);
};

export const errorOf = (result) => {
  if (result.isError !== true || 'structuredContent' in result) throw new Error(JSON.stringify(result));
  return JSON.parse(result.content[0].text).error;
};
