/** The chat server of docs/inbox.md: killed between any two lines, restarted, the same message sent twice: one response. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { programIn } from '../support/documents.ts';
import { installPackage } from '../support/shell-transcript.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-chat-'));
const running = new Set<ChildProcess>();
beforeAll(() => installPackage(directory));
afterAll(() => {
  for (const server of running) server.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

const program = programIn('docs/inbox.md', 'chat-server.mts');

/** Each line that ends a statement, except the last line of a function. */
const STATEMENTS = program
  .split('\n')
  .flatMap((line, i) => (/;$/.test(line) && !/^(import|\s*return)/.test(line) ? [i] : []));

/** The program with a crash point after each of its statements. */
function mortalProgram(): string {
  const lines = program.split('\n').map((line, i) => (STATEMENTS.includes(i) ? `${line} die(${i});` : line));
  return `${lines.join('\n')}
    function die(line: number) { if (process.env.DIE_AFTER === String(line)) process.kill(process.pid, 'SIGKILL'); }`;
}

interface Server {
  readonly url: string;
  readonly dead: Promise<unknown>;
  stop(): Promise<unknown>;
}

/** Starts the server in its own directory; undefined when it is killed before it listens. */
async function start(cwd: string, dieAfter?: number): Promise<Server | undefined> {
  const env = {
    ...process.env,
    PORT: '0',
    NO_COLOR: '1',
    ...(dieAfter !== undefined && { DIE_AFTER: String(dieAfter) }),
  };
  const child = spawn(process.execPath, ['--no-warnings', 'chat-server.mts'], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  const dead = once(child, 'exit').then(() => running.delete(child));
  const listening = (async () => {
    let said = '';
    for await (const line of createInterface({ input: child.stdout })) {
      said += line;
      const port = /port: (\d+)/.exec(said)?.[1];
      if (port) return port;
    }
    return undefined;
  })();
  const port = await Promise.race([listening, dead.then(() => undefined)]);
  if (port === undefined) return undefined;
  return {
    url: `http://127.0.0.1:${port}/ada`,
    dead,
    stop: () => {
      child.kill('SIGKILL');
      return dead;
    },
  };
}

const post = (server: Server, message: { readonly id: string; readonly text: string }): Promise<Response> =>
  fetch(server.url, { method: 'POST', body: JSON.stringify(message) });

async function said(server: Server): Promise<readonly string[]> {
  const { status, messages } = (await (await fetch(server.url)).json()) as {
    status: string;
    messages: readonly string[];
  };
  expect(status).toBe('idle');
  return messages;
}

function newPlace(name: string): string {
  const place = mkdtempSync(join(directory, `${name}-`));
  writeFileSync(join(place, 'chat-server.mts'), mortalProgram());
  return place;
}

test('it responds to each message once, and not again to a repeated message', async () => {
  const server = await start(newPlace('whole'));
  if (!server) throw new Error('the server did not start');
  await post(server, { id: 'm1', text: 'Hello' });
  await post(server, { id: 'm1', text: 'Hello' });
  await post(server, { id: 'm2', text: 'And?' });
  expect(await (await post(server, { id: 'm2', text: 'Other' })).json()).toMatchObject({
    error: expect.stringContaining('m2'),
  });
  expect(await said(server)).toEqual([
    'user: Hello',
    'assistant: I have read 1 messages.',
    'user: And?',
    'assistant: I have read 3 messages.',
  ]);
  await server.stop();
});

test.each(STATEMENTS)('killed after line %i, restarted, the same message sent again: one response', async (line) => {
  const place = newPlace(`line-${line}`);
  const mortal = await start(place, line);
  const hello = { id: 'm1', text: 'Hello' };
  await (mortal && post(mortal, hello).catch(() => {})); // the connection breaks when the server is killed
  await mortal?.stop();
  const server = await start(place);
  if (!server) throw new Error('the server did not start again');
  await post(server, hello);
  expect(await said(server)).toEqual(['user: Hello', 'assistant: I have read 1 messages.']);
  await server.stop();
});
