/** `holdfast studio` as a process, used over HTTP as its page does. */

import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { canOpenBrowser, commandFor } from '../../src/cli/studio/open-browser.ts';
import { openSession } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { prompt } from '../importers/kept/support.ts';
import { type CommandOptions, RunningCommand } from './running-command.ts';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-studio-test-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const database = join(dir, 'agent.db');
const WAIT = { timeout: 60_000, interval: 100 };

const running = new Set<RunningCommand>();
afterEach(async () => {
  await Promise.all([...running].map((command) => command.stop()));
  running.clear();
});

function studio(args: readonly string[], options: CommandOptions = {}): RunningCommand {
  const env = { HOLDFAST_HOME: join(dir, 'home'), ...options.env };
  const command = new RunningCommand(['studio', ...args], { ...options, env });
  running.add(command);
  return command;
}

interface Listed {
  readonly sessions: readonly { readonly id: string; readonly title?: string }[];
}

async function sessionsAt(address: URL, headers: Record<string, string> = {}): Promise<Listed['sessions']> {
  const response = await fetch(new URL('/sessions', address), { headers });
  return ((await response.json()) as Listed).sessions;
}

beforeAll(async () => {
  const store = await sqliteStore(database);
  const session = await openSession({ store, id: 'ada' });
  await session.describe({ title: 'The first session' });
  await store.close();
});

describe('a database', () => {
  test('is served with Studio, and a person can act on it', async () => {
    const command = studio([database, '--port', '0']);
    const address = await command.address();
    expect(command.stdout.trim().split('\n')).toHaveLength(1);
    expect(command.stdout).toContain(database);
    expect(address.hostname).toBe('127.0.0.1');
    const page = await fetch(address);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(await sessionsAt(address)).toMatchObject([{ id: 'ada', title: 'The first session' }]);
    const sent = await fetch(new URL('/sessions/ada/inputs', address), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-holdfast-request': '1' },
      body: JSON.stringify({ input: 'Hello', id: 'm1' }),
    });
    expect(sent.status).toBe(202);
    expect(command.stderr).toBe('');
  });

  test.for(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s ends the command by that signal', async (signal) => {
    const command = studio([database, '--port', '0']);
    const address = await command.address();
    const streaming = await fetch(new URL('/sessions/ada/stream', address)); // an open page does not hold it up
    command.kill(signal);
    expect(await command.ended).toEqual({ code: null, signal });
    expect(command.stderr).toBe('');
    await streaming.body?.cancel().catch(() => {});
    const store = await sqliteStore(database, { readOnly: true });
    await store.close();
  });

  test('the usual port is left to the program that has it, unless it was named', async () => {
    const taken = createServer();
    await once(taken.listen(0, '127.0.0.1'), 'listening');
    const { port } = taken.address() as AddressInfo;
    const refused = studio([database, '--port', String(port)]);
    expect(await refused.ended).toEqual({ code: 1, signal: null });
    expect(refused.stderr).toBe(
      `holdfast studio: port ${port} of 127.0.0.1 is in use; choose another one, or --port 0 for any free one (INVALID_ARGUMENT)\n`,
    );
    taken.close();
    const [first, second] = [studio([database]), studio([database])];
    expect((await first.address()).port).not.toBe((await second.address()).port);
  });
});

describe('other machines', () => {
  test('a host that others can reach gets a token, which the printed address carries', async () => {
    const command = studio([database, '--port', '0', '--host', '0.0.0.0']);
    const address = await command.address();
    const [, token = ''] = /^#token=(.{16,})$/.exec(address.hash) ?? [];
    expect(token).not.toBe('');
    expect((await fetch(new URL('/sessions', address))).status).toBe(401);
    const sessions = await sessionsAt(address, { authorization: `Bearer ${decodeURIComponent(token)}` });
    expect(sessions).toMatchObject([{ id: 'ada' }]);
  });

  test('a token that is given is the one', async () => {
    const token = 'the-token-of-this-test';
    const command = studio([database, '--port', '0', '--token', token]);
    const address = await command.address();
    expect(address.hash).toBe(`#token=${token}`);
    expect((await fetch(new URL('/sessions', address))).status).toBe(401);
    expect(await sessionsAt(address, { authorization: `Bearer ${token}` })).toMatchObject([{ id: 'ada' }]);
  });
});

describe('transcripts', () => {
  test('of a folder are imported into a database of their own, followed, and only read', async () => {
    const folder = join(dir, 'transcripts');
    mkdirSync(join(folder, 'p'), { recursive: true });
    const file = join(folder, 'p', 'a.jsonl');
    writeFileSync(file, prompt('a', 0));
    const command = studio([folder, '--port', '0']);
    const address = await command.address();
    const [, store = ''] = await command.printed(
      /^Transcripts of .+ are imported into (.+?); the originals are only read\.\n/,
    );
    expect(store).toMatch(join(dir, 'home'));
    expect(basename(store)).toMatch(/^studio-transcripts-[0-9a-f]{8}\.db$/);
    await command.printed(/Imported 1 of 1 sessions/);
    expect(await sessionsAt(address)).toMatchObject([{ id: 'claude-sdk:a' }]);
    expect(readFileSync(file, 'utf8')).toBe(prompt('a', 0));

    const seqOf = async (): Promise<number> => {
      const response = await fetch(new URL('/sessions/claude-sdk%3Aa', address));
      return ((await response.json()) as { readonly seq: number }).seq;
    };
    const before = await seqOf();
    appendFileSync(file, prompt('a', 1));
    await vi.waitUntil(async () => (await seqOf()) > before, WAIT);
    await command.stop();

    const again = studio([folder, '--port', '0']);
    await again.printed(/Nothing new in 1 sessions/);
    expect(await sessionsAt(await again.address())).toMatchObject([{ id: 'claude-sdk:a' }]);
  });

  test('of the usual folders are imported when nothing is named; new ones appear', async () => {
    const home = join(dir, 'user');
    mkdirSync(home);
    const env = {
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, 'claude'),
      CODEX_HOME: join(home, 'codex'),
      XDG_DATA_HOME: join(home, 'data'),
      HOLDFAST_HOME: '',
    };
    const command = studio(['--port', '0'], { env });
    const address = await command.address();
    await command.printed(/There are no transcripts in the folders of Claude Code, Codex and OpenCode yet/);
    expect(command.stdout).toContain(join(home, '.holdfast', 'studio.db'));
    mkdirSync(join(home, 'claude', 'projects', 'p'), { recursive: true });
    writeFileSync(join(home, 'claude', 'projects', 'p', 'b.jsonl'), prompt('b', 0));
    await vi.waitUntil(async () => (await sessionsAt(address)).length === 1, WAIT);
  });

  test('that cannot be imported are named, and the others are shown', async () => {
    const folder = join(dir, 'mixed');
    mkdirSync(join(folder, 'p'), { recursive: true });
    writeFileSync(join(folder, 'p', 'good.jsonl'), prompt('good', 0));
    writeFileSync(join(folder, 'opencode.db'), 'not a database');
    const command = studio([folder, '--port', '0']);
    await command.printed(/Imported 1 of 1 sessions/);
    await command.printed(/not imported: .*opencode\.db/);
    expect(await sessionsAt(await command.address())).toHaveLength(1);
  });
});

describe('I10: a mistake of the user prints one sentence', () => {
  const foreign = join(dir, 'foreign.db');
  beforeAll(() => {
    const other = new DatabaseSync(foreign);
    other.exec('CREATE TABLE things (id)');
    other.close();
    writeFileSync(join(dir, 'text.db'), 'no database at all, but some text\n'.repeat(100));
    writeFileSync(join(dir, 'empty.db'), '');
  });

  test.for([
    [[join(dir, 'missing.db')], 'there is no database and no folder'],
    [[foreign], 'foreign.db'],
    [[join(dir, 'text.db')], 'text.db'],
    [[join(dir, 'empty.db')], 'is empty; name a Holdfast database or a folder'],
    [[database, foreign], 'one database or folder, not 2'],
    [[database, '--port', 'many'], '--port takes a number from 0 to 65535'],
    [[database, '--port', '70000'], '--port takes a number from 0 to 65535'],
    [[database, '--token', 'short'], 'a token has at least 16 characters'],
    [[database, '--host', '192.0.2.1', '--port', '0'], 'EADDRNOTAVAIL'],
  ] as const)('studio %o', async ([args, sentence]) => {
    const command = studio(args);
    expect(await command.ended).toEqual({ code: 1, signal: null });
    expect(command.stderr).toContain(sentence);
    expect(command.stderr.trim().split('\n')).toHaveLength(1);
  });

  test('an unknown option prints the usage and exits with code 2', async () => {
    const command = studio(['--prot', '1']);
    expect(await command.ended).toEqual({ code: 2, signal: null });
    expect(command.stderr).toContain('holdfast studio [<database> | <folder>]');
  });

  test('a database of another program is left as it was', () => {
    const other = new DatabaseSync(foreign, { readOnly: true });
    expect(other.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'things' }]);
    other.close();
    expect(existsSync(`${foreign}-wal`)).toBe(false);
  });
});

describe('the browser', () => {
  test.for([
    ['a terminal with a display', { platform: 'linux', env: { DISPLAY: ':0' }, isTerminal: true }, true],
    ['Wayland', { platform: 'linux', env: { WAYLAND_DISPLAY: 'wayland-0' }, isTerminal: true }, true],
    ['macOS', { platform: 'darwin', env: {}, isTerminal: true }, true],
    ['no display', { platform: 'linux', env: {}, isTerminal: true }, false],
    ['no terminal', { platform: 'darwin', env: {}, isTerminal: false }, false],
    ['a build server', { platform: 'darwin', env: { CI: 'true' }, isTerminal: true }, false],
  ] as const)('%s', ([, surroundings, isOpened]) => {
    expect(canOpenBrowser(surroundings)).toBe(isOpened);
  });

  test('each system has its program', () => {
    const address = 'http://127.0.0.1:1/studio/';
    expect(commandFor(address, 'linux')).toEqual(['xdg-open', address]);
    expect(commandFor(address, 'darwin')).toEqual(['open', address]);
    expect(commandFor(address, 'win32')).toEqual(['rundll32', 'url.dll,FileProtocolHandler', address]);
  });

  test('is opened at the printed address in a terminal, unless --no-open is given', async () => {
    const bin = join(dir, 'bin');
    mkdirSync(bin);
    const opened = join(dir, 'opened');
    const script = `#!${process.execPath}\nrequire('node:fs').writeFileSync(${JSON.stringify(opened)}, process.argv[2]);\n`;
    writeFileSync(join(bin, 'xdg-open'), script);
    chmodSync(join(bin, 'xdg-open'), 0o755);
    const env = { PATH: `${bin}${delimiter}${process.env.PATH}`, DISPLAY: ':0' };

    const silent = studio([database, '--port', '0', '--no-open'], { env, isTerminal: true });
    await silent.address();
    await silent.stop();
    expect(existsSync(opened)).toBe(false);

    const command = studio([database, '--port', '0'], { env, isTerminal: true });
    const address = await command.address();
    await vi.waitUntil(() => existsSync(opened) && readFileSync(opened, 'utf8') !== '', WAIT);
    expect(readFileSync(opened, 'utf8')).toBe(address.href);
  });

  test('that is missing does not matter', async () => {
    const env = { PATH: join(dir, 'no-programs'), DISPLAY: ':0' };
    const command = studio([database, '--port', '0'], { env, isTerminal: true });
    const address = await command.address();
    expect(await sessionsAt(address)).toHaveLength(1);
    command.kill('SIGINT');
    expect(await command.ended).toEqual({ code: null, signal: 'SIGINT' });
    expect(command.stderr).toBe('');
  });
});
