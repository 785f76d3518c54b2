/** Handed-over conversations on disk: complete or not at all, never in place of another session, never outside the agent's folder. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WriteTranscriptOptions } from '../../src/importers/handoff/write-transcript.ts';
import type { HandoffTarget } from '../../src/transcripts/handoff/build-transcript.ts';
import { findTranscripts, loadTranscript, type WrittenTranscript, writeTranscript } from '../../src/transcripts.ts';
import { FIXTURES } from '../transcripts/fixtures.ts';
import { assistant, conversation, TARGETS, user } from '../transcripts/handoff/written.ts';
import { folder } from './places.ts';

const UUID = '01234567-89ab-4cde-8f01-23456789abcd';
const MESSAGES = conversation(user('Count it.'), assistant('Six.'));

let home = '';
let cwd = '';

beforeEach(() => {
  const directory = realpathSync(folder());
  [home, cwd] = [join(directory, 'home'), join(directory, 'work')];
  mkdirSync(cwd);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

function write(to: HandoffTarget, options: Partial<WriteTranscriptOptions> = {}): Promise<WrittenTranscript> {
  return writeTranscript(MESSAGES, { to, cwd, configDir: home, ...options });
}

/** Every file below a folder. */
function filesIn(folder: string): readonly string[] {
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true, recursive: true }) : [];
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}

const idFor = (to: HandoffTarget): string => (to === 'opencode' ? 'ses_0123456789abcdef' : UUID);

describe.for(TARGETS)('a session written for %s', (to) => {
  test('is one private file in private folders, in the place where the agent looks', async () => {
    const { path, sessionId } = await write(to);
    expect(filesIn(home)).toEqual([path]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    for (let folder = join(path, '..'); folder !== join(home, '..'); folder = join(folder, '..')) {
      expect(statSync(folder).mode & 0o777).toBe(0o700);
    }
    const now = new Date(statSync(path).mtimeMs).toISOString();
    const expected = {
      'claude-sdk': join('projects', cwd.replaceAll(/[^A-Za-z0-9]/g, '-'), `${sessionId}.jsonl`),
      codex: join('sessions', ...now.slice(0, 10).split('-'), basename(path)),
      opencode: join('handoff', `${sessionId}.json`),
    };
    expect(path).toBe(join(home, expected[to]));
    if (to === 'codex') expect(basename(path)).toMatch(/^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9a-f-]{36}\.jsonl$/);
  });

  test('has the commands that continue it, in its directory and with its folder', async () => {
    const folder = to === 'opencode' ? join(home, 'opencode') : home;
    const { sessionId, path, resume, open, ...rest } = await write(to, { configDir: folder });
    const env = {
      'claude-sdk': { CLAUDE_CONFIG_DIR: home },
      codex: { CODEX_HOME: home },
      opencode: { XDG_DATA_HOME: home },
    }[to];
    const [program, headless, interactive] = {
      'claude-sdk': ['claude', ['-p', '--resume', sessionId], ['--resume', sessionId]] as const,
      codex: ['codex', ['exec', 'resume', sessionId], ['resume', sessionId]] as const,
      opencode: ['opencode', ['run', '--session', sessionId], ['--session', sessionId]] as const,
    }[to];
    expect(resume).toEqual({ command: program, args: headless, cwd, env });
    expect(open).toEqual({ command: program, args: interactive, cwd, env });
    if (to === 'opencode') expect(rest.import).toEqual({ command: program, args: ['import', path], cwd, env });
    else expect(rest.import).toBeUndefined();
  });

  test("goes to the folder that the agent's own variable names", async () => {
    const [name, folder] = {
      'claude-sdk': ['CLAUDE_CONFIG_DIR', home] as const,
      codex: ['CODEX_HOME', home] as const,
      opencode: ['XDG_DATA_HOME', join(home, 'opencode')] as const,
    }[to];
    vi.stubEnv(name, home);
    const { path, resume } = await writeTranscript(MESSAGES, { to, cwd });
    expect(path.startsWith(`${folder}/`)).toBe(true);
    expect(resume.env).toBeUndefined();
  });

  test('is never written over another one: of many writers with one id, one succeeds', async () => {
    const sessionId = idFor(to);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-17T12:00:00Z') });
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => write(to, { sessionId })));
    vi.useRealTimers();
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of all) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'SESSION_EXISTS' });
    }
    const [file = '', ...others] = filesIn(home);
    expect(others).toEqual([]);
    const before = readFileSync(file, 'utf8');
    await expect(write(to, { sessionId, cwd: home })).rejects.toMatchObject({ code: 'SESSION_EXISTS' });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(filesIn(home)).toEqual([file]);
  });

  test("is not written through a symbolic link below the agent's folder", async () => {
    const elsewhere = join(home, '..', 'elsewhere');
    mkdirSync(elsewhere);
    mkdirSync(home);
    const first = { 'claude-sdk': 'projects', codex: 'sessions', opencode: 'handoff' }[to];
    symlinkSync(elsewhere, join(home, first));
    await expect(write(to)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(filesIn(elsewhere)).toEqual([]);
  });

  test('needs a folder that can be written', async () => {
    writeFileSync(home, 'a file');
    await expect(write(to)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(home) });
    await expect(write(to, { configDir: 'relative' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

test.skipIf(!existsSync('/proc/self'))('a folder in which none can be made is refused', async () => {
  await expect(write('codex', { configDir: '/proc/self/x' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('the folder of the agent may itself be a symbolic link', async () => {
  const real = join(home, '..', 'real');
  mkdirSync(real);
  symlinkSync(real, home);
  expect((await write('claude-sdk')).path.startsWith(real)).toBe(true);
});

test('a file that is a symbolic link to nowhere is not followed', async () => {
  const { path } = await write('claude-sdk');
  const folder = join(path, '..');
  symlinkSync(join(home, 'nowhere'), join(folder, `${UUID}.jsonl`));
  await expect(write('claude-sdk', { sessionId: UUID })).rejects.toMatchObject({ code: 'SESSION_EXISTS' });
  expect(existsSync(join(home, 'nowhere'))).toBe(false);
});

test('Claude Code and Codex are searched for the id: any project, any day, archived', async () => {
  mkdirSync(join(home, 'projects', 'another'), { recursive: true });
  writeFileSync(join(home, 'projects', 'another', `${UUID}.jsonl`), '{}\n');
  await expect(write('claude-sdk', { sessionId: UUID })).rejects.toMatchObject({ code: 'SESSION_EXISTS' });
  for (const folder of [['sessions', '2020', '01', '01'], ['archived_sessions']]) {
    const codex = join(home, '..', `codex-${folder[0]}`);
    mkdirSync(join(codex, ...folder), { recursive: true });
    writeFileSync(join(codex, ...folder, `rollout-2020-01-01T00-00-00-${UUID}.jsonl`), '{}\n');
    await expect(write('codex', { sessionId: UUID, configDir: codex })).rejects.toMatchObject({
      code: 'SESSION_EXISTS',
    });
  }
});

test("OpenCode's database is searched for the id, and names the model of its newest session", async () => {
  mkdirSync(home);
  const database = gunzipSync(readFileSync(join(FIXTURES, 'opencode-1.18.33', 'opencode.db.gz')));
  writeFileSync(join(home, 'opencode.db'), database);
  const sessionId = 'ses_e1f5458d0ffe46FRJV2ckON5jQ';
  await expect(write('opencode', { sessionId })).rejects.toMatchObject({ code: 'SESSION_EXISTS' });
  const { path, losses } = await write('opencode');
  expect(losses).toEqual([]);
  expect(readFileSync(path, 'utf8')).toMatch(/"providerID": "fake",\s+"modelID": "fake-model"/);
});

test('opencode import is run on request; a program that is missing or fails is a typed error', async () => {
  await expect(write('opencode', { runImport: { command: 'no-such-opencode' } })).rejects.toMatchObject({
    ...{ code: 'DEPENDENCY_MISSING', message: expect.stringContaining('no-such-opencode') },
  });
  // Node finds no module called "import".
  await expect(write('opencode', { runImport: { command: process.execPath } })).rejects.toMatchObject({
    ...{ code: 'STORE_FAILED', message: expect.stringContaining('import') },
  });
});

test('the directory is written without its symbolic links, and may be one of another machine', async () => {
  symlinkSync(cwd, join(cwd, '..', 'alias'));
  expect((await write('claude-sdk', { cwd: join(cwd, '..', 'alias') })).resume.cwd).toBe(cwd);
  expect((await write('codex', { cwd: '/srv/of/another/machine' })).resume.cwd).toBe('/srv/of/another/machine');
  const file = join(cwd, 'file');
  writeFileSync(file, '');
  await expect(write('codex', { cwd: file })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('a directory with a very long path has the folder that Claude Code itself uses', async () => {
  const { path } = await write('claude-sdk', { cwd: `/${'long-directory/'.repeat(20)}end` });
  const name = `-${'long-directory-'.repeat(14)}`.slice(0, 200);
  expect(basename(join(path, '..'))).toBe(`${name}-fnr1qk`);
});

test('a written session is found and loaded like any other', async () => {
  const { path, sessionId } = await write('claude-sdk');
  expect(await findTranscripts(home)).toMatchObject([{ architecture: 'claude-sdk', sessionId, path, messages: 2 }]);
  const again = await writeTranscript(await loadTranscript(path), { to: 'opencode', cwd, configDir: home });
  expect((await loadTranscript(again.path)).architecture).toBe('opencode');
});

test('unknown agents and options are refused before anything is written', async () => {
  await expect(write('gemini' as HandoffTarget)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(write('codex', { sessionID: UUID } as object)).rejects.toMatchObject({
    ...{ code: 'INVALID_ARGUMENT', message: expect.stringContaining('sessionId') },
  });
  await expect(write('codex', { sessionId: `../${UUID}` })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(writeTranscript([], { to: 'codex', cwd, configDir: home })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  expect(filesIn(home)).toEqual([]);
});
