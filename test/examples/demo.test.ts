import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { ServerTurn } from '../support/provider-server/server-turn.ts';
import { type ProviderServer, startProviderServer } from '../support/provider-server/start-provider-server.ts';

const command = join(import.meta.dirname, '..', '..', 'src', 'cli', 'holdfast.ts');
const dir = mkdtempSync(join(tmpdir(), 'holdfast-demo-test-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let demos = 0;

let server: ProviderServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

type Demo = ChildProcessByStdio<null, Readable, Readable>;

function startDemo(args: readonly string[], env: NodeJS.ProcessEnv = {}): Demo {
  const { OPENAI_API_KEY: _, ANTHROPIC_API_KEY: __, ...inherited } = process.env;
  const options = { env: { ...inherited, NO_COLOR: '1', FORCE_COLOR: '0', ...env } };
  return spawn(process.execPath, [command, 'demo', '--dir', join(dir, String(++demos)), ...args], {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function endOf(
  demo: Demo,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const [stdout, stderr, [code]] = await Promise.all([text(demo.stdout), text(demo.stderr), once(demo, 'close')]);
  return { code, stdout, stderr };
}

const ask = (url: string): NodeJS.ProcessEnv => ({ OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `${url}/openai/v1` });

async function demoWith(script: (turn: number) => ServerTurn): ReturnType<typeof endOf> {
  server = await startProviderServer({ script: ({ turn }) => script(turn) });
  return endOf(startDemo(['--model', 'openai/gpt-5'], ask(server.url)));
}

test('the demo is killed twice and ends like an uninterrupted run', async () => {
  const place = join(dir, 'twice');
  const { code, stdout } = await endOf(startDemo(['--dir', place]));
  expect(stdout).toContain('SIGKILL inside send_mail');
  expect(stdout).toContain('SIGKILL in the middle of the final response');
  expect(stdout).toContain('6, each executed exactly once');
  expect(stdout).toContain('the same 13 messages');
  expect(stdout).toContain('OPENAI_API_KEY=… npm start -- --model openai/gpt-5'); // the advice fits the place where it was started
  expect(code).toBe(0);
  expect(readFileSync(join(place, 'killed', 'workspace', 'report.md'), 'utf8')).toContain('Total: EUR 357.70');
});

describe('I10: a mistake of the user prints one sentence and exits with code 1', () => {
  test.for([
    [['--model', 'openai/gpt-5'], 'set OPENAI_API_KEY in the environment to use openai/gpt-5'],
    [['--model', 'anthropic/claude'], 'set ANTHROPIC_API_KEY in the environment'],
    [['--model', 'gpt-5'], '"gpt-5" is not a known model; use openai/<model> or anthropic/<model>'],
    [['--model', 'openai/'], '"openai/" is not a known model'],
    [['--dir', join(command, 'x')], 'ENOTDIR'],
  ] as const)('demo %o', async ([args, sentence]) => {
    const { code, stderr } = await endOf(startDemo(args));
    expect(stderr).toContain(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  });

  test('a model that the provider does not have', async () => {
    const unknown = createServer((_, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      const message = 'The model `gpt-nonsense` does not exist \u001b]0;owned\u0007';
      response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', code: 'model_not_found' } }));
    });
    await once(unknown.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(unknown.address() as AddressInfo).port}`;
    const { code, stderr } = await endOf(startDemo(['--model', 'openai/gpt-nonsense'], ask(url)));
    unknown.close();
    expect(stderr).toContain('The model `gpt-nonsense` does not exist ␛]0;owned␇');
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  });

  test('a directory that contains a demo', async () => {
    expect((await endOf(startDemo(['--dir', join(dir, 'again')]))).code).toBe(0);
    const { code, stderr } = await endOf(startDemo(['--dir', join(dir, 'again')]));
    expect(stderr).toContain('already contains a demo; choose another directory');
    expect(code).toBe(1);
  });
});

test("the model's text reaches the terminal as text: without escape sequences and lines of its own", async () => {
  const evil = 'Hi\u001b]0;owned\u0007\u009b2J\r\u202e\n✓ done';
  const { stdout, stderr } = await demoWith((turn) =>
    turn === 1
      ? {
          text: evil,
          toolCalls: [
            { name: 'read_file', arguments: { file: evil } },
            { name: 'list_files', arguments: {} },
          ],
        }
      : evil,
  );
  expect(stdout).toContain('Hi␛]0;owned␇�2J␍�');
  expect(stdout).toContain('is not a file of this workspace');
  expect(`${stdout}${stderr}`).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
  expect(stdout.split('\n').filter((line) => line.startsWith('✓'))).toEqual([]);
});

describe('the agent ends with its parent', () => {
  test.for(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    '%s to the parent while the model is silent',
    { timeout: 60_000 },
    async (signal) => {
      const silent = createServer();
      await once(silent.listen(0, '127.0.0.1'), 'listening');
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      const demo = startDemo(['--model', 'openai/gpt-5'], ask(url));
      const ended = endOf(demo);
      const [request] = await once(silent, 'request'); // from the agent, which now waits for a response
      const agentEnded = once(request.socket, 'close');
      demo.kill(signal);
      await agentEnded;
      const { stderr } = await ended; // the agent shares it: it closes when both have ended
      silent.close();
      expect(demo.signalCode).toBe(signal);
      expect(stderr).toBe('');
    },
  );

  test('when its reader stops reading, both processes end without a stack trace', async () => {
    const demo = startDemo([]);
    const stderr = text(demo.stderr);
    await once(demo.stdout, 'data');
    demo.stdout.destroy();
    await once(demo, 'close');
    expect(await stderr).toBe('');
  });
});
