import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { findTranscripts, loadTranscript, readTranscript } from '../../src/transcripts.ts';
import { fixture, openCodeSession, plain } from '../transcripts/fixtures.ts';
import { type Exported, folder, stateOfReading, write, writeDatabase, writeStorage } from './places.ts';

const NESTED = 'ses_e1f4c47a4ffeU70Kil2kXlLZqM';

async function load(path: string, sessionId?: string): Promise<ReturnType<typeof plain>> {
  const { architecture, raw } = await loadTranscript(path, sessionId === undefined ? {} : { sessionId });
  expect(architecture).toBe('opencode');
  return plain(parseTranscript(architecture, raw).state);
}

const nested = (): string[] => {
  const { main, subagents } = openCodeSession('serve-nested');
  return [main as string, ...subagents.map(({ transcript }) => transcript as string)];
};

describe('OpenCode’s database', () => {
  test('gives the same state as the export of the session, with its children', async () => {
    const path = writeDatabase(folder());
    expect(await load(path, NESTED)).toEqual(plain(parseTranscript('opencode', openCodeSession('serve-nested')).state));
  });

  test('reading every session gives the state of loading it, without unknown blocks', async () => {
    const path = writeDatabase(folder());
    const sessions = await findTranscripts(path.slice(0, -'/opencode.db'.length));
    expect(sessions).toHaveLength(20); // 27, of which 7 are children
    for (const { sessionId } of sessions) {
      const loaded = await load(path, sessionId);
      expect(plain(await stateOfReading(path, { sessionId }))).toEqual(loaded);
      expect(loaded.blocks.filter(({ type, status }) => type === 'unknown' || status === 'pending')).toEqual([]);
    }
  });

  test('a subagent and its calls that a kill left running have ended', async () => {
    const state = await load(writeDatabase(folder()), 'ses_e1f4f058cffe2Xx0SineCs2XEt');
    expect(state.blocks.find(({ type }) => type === 'subagent')?.status).toBe('error');
    expect(state.subagents).toMatchObject([{ status: 'error' }]);
    expect(state.subagents[0]?.blocks.at(-1)).toMatchObject({ type: 'tool_use', status: 'error' });
  });

  test('is not changed, and no file is created beside it', async () => {
    const root = folder();
    const path = writeDatabase(root);
    const hash = (): string => createHash('sha256').update(readFileSync(path)).digest('hex');
    const before = hash();
    await load(path, NESTED);
    for await (const _ of readTranscript(path, { sessionId: NESTED }));
    await findTranscripts(root);
    expect(hash()).toBe(before);
    expect(readdirSync(root)).toEqual(['opencode.db']);
  });

  test('rows in its write-ahead log are read while another process has it open', async () => {
    const path = writeDatabase(folder());
    const writer = new DatabaseSync(path);
    writer.exec('PRAGMA journal_mode = WAL');
    writer.exec(
      `UPDATE part SET data = json_set(data, '$.text', 'Only in the log') WHERE id = 'prt_1e0b3cb8c001iAHVGR56255R19'`,
    );
    const state = await load(path, NESTED);
    writer.close();
    expect(state.blocks.at(-1)?.content).toBe('Only in the log');
  });

  test('needs the id of an existing session when it has several', async () => {
    const path = writeDatabase(folder());
    await expect(loadTranscript(path)).rejects.toThrow(/20 sessions.*sessionId/);
    await expect(loadTranscript(path, { sessionId: 'ses_none' })).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
    });
  });

  test('a loop of parents does not prevent loading', async () => {
    const path = writeDatabase(folder());
    const writer = new DatabaseSync(path);
    writer.exec(`UPDATE session SET parent_id = 'ses_e1f4c38e8ffej8a22ELdgn7IEq' WHERE id = '${NESTED}'`);
    writer.close();
    expect((await load(path, NESTED)).subagents).toHaveLength(2);
  });

  test('rows with invalid content do not prevent loading', async () => {
    const path = writeDatabase(folder());
    const writer = new DatabaseSync(path);
    writer.exec(
      `UPDATE part SET data = '{"type":' WHERE session_id = '${NESTED}'; UPDATE message SET data = x'00ff' WHERE session_id = '${NESTED}'`,
    );
    writer.close();
    await expect(load(path, NESTED)).resolves.toBeDefined();
  });

  test.for([
    ['another program’s', (path: string) => new DatabaseSync(path).exec('CREATE TABLE t (x)')],
    ['a damaged one', (path: string) => writeFileSync(path, 'SQLite format 3\0 and then nothing of the kind')],
  ] as const)('%s is rejected with a HoldfastError', async ([, make]) => {
    const path = join(folder(), 'opencode.db');
    make(path);
    await expect(loadTranscript(path, { sessionId: 'ses_1' })).rejects.toMatchObject({ name: 'HoldfastError' });
    expect(await findTranscripts(path.slice(0, -'/opencode.db'.length))).toEqual([]);
  });
});

describe('OpenCode’s storage folder before 1.2', () => {
  test.for(['the folder and an id', 'the file of the session'] as const)(
    'gives the state of the export, when named by %s',
    async (how) => {
      const root = writeStorage(join(folder(), 'storage'), nested());
      const byFile = how === 'the file of the session';
      const state = byFile ? await load(join(root, `session/global/${NESTED}.json`)) : await load(root, NESTED);
      expect(state).toEqual(plain(parseTranscript('opencode', openCodeSession('serve-nested')).state));
      expect(plain(await stateOfReading(root, { sessionId: NESTED }))).toEqual(state);
    },
  );

  test('its sessions are found with the number of their descendants', async () => {
    const root = folder();
    writeStorage(join(root, 'storage'), [...nested(), fixture('opencode-1.18.33/serve-tools/export.json')]);
    expect(await findTranscripts(root)).toMatchObject([
      { sessionId: NESTED, title: 'serve-nested', messages: 3, subagents: 2, cwd: '/tmp/agents/oc1/proj' },
      { sessionId: 'ses_e1f50b392ffey3Dc7stAHB7CNc', title: 'serve-tools', messages: 5, subagents: 0 },
    ]);
  });

  test('symbolic links and ids that lead outside are not followed', async () => {
    const root = writeStorage(join(folder(), 'storage'), nested());
    const outside = write(folder(), {
      'p.json': '{"type":"text","text":"secret","time":{"end":1}}',
      'd/p.json': '{"type":"text","text":"secret"}',
    });
    const [, second] = (JSON.parse(nested()[0] ?? '') as Exported).messages;
    symlinkSync(join(outside, 'p.json'), join(root, `part/${second?.info.id}/prt_zzz.json`));
    write(root, { [`message/${NESTED}/..%2f.json`]: '{"id":"../../..","role":"user","time":{"created":1}}' });
    symlinkSync(join(outside, 'd'), join(root, 'part/msg_linked'));
    write(root, { [`message/${NESTED}/msg_linked.json`]: '{"role":"assistant","time":{"created":1}}' });
    expect(JSON.stringify(await load(root, NESTED))).not.toContain('secret');
  });
});

describe('exports of OpenCode', () => {
  test('exports of children beside the main one, or in the folder children, are loaded with it', async () => {
    const [main = '', first = '', second = ''] = nested();
    const root = write(folder(), {
      'export.json': main,
      'one.json': first,
      'children/two.json': second,
      'other.json': '{}',
    });
    expect(await load(join(root, 'export.json'))).toEqual(
      plain(parseTranscript('opencode', openCodeSession('serve-nested')).state),
    );
  });

  test('an export without its children has a subagent without blocks', async () => {
    const root = write(folder(), { 'export.json': nested()[0] ?? '' });
    const state = await load(join(root, 'export.json'));
    expect(state.subagents).toMatchObject([{ status: 'success', output: 'Level 1 done.', blocks: [] }]);
    expect(plain(await stateOfReading(join(root, 'export.json')))).toEqual(state);
  });

  test('an export is found by its file name', async () => {
    const root = write(folder(), { 'x/export.json': nested()[0] ?? '', 'x/package.json': '{}' });
    expect(await findTranscripts(root)).toMatchObject([{ architecture: 'opencode', sessionId: NESTED, messages: 3 }]);
  });
});

const MKFIFO = '/usr/bin/mkfifo';
test.runIf(existsSync(MKFIFO))('a pipe among the files of a session does not block the search', async () => {
  const root = writeStorage(folder(), [fixture('opencode-1.18.33', 'serve-tools', 'export.json')]);
  execFileSync(MKFIFO, [join(root, 'session', 'global', 'ses_pipe.json')]);
  expect(await findTranscripts(root)).toHaveLength(1);
});
