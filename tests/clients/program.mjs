// A client that is a program of its own, of an installed package.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const PATIENCE = 60_000; // milliseconds; node itself takes some to start

// Which node runs it, and what it is called with.
export const program = (path, ...words) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL(`node_modules/${path}`, import.meta.url)), ...words],
});

// Runs it to its end. What a test serves is served meanwhile.
export async function run({ command, args }, env) {
  const child = spawn(command, args, { env, cwd: env.HOME, stdio: ['ignore', 'pipe', 'pipe'], timeout: PATIENCE });
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status, stdout, stderr };
}
