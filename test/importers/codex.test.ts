import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import zlib from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { findTranscripts, loadTranscript, readTranscript } from '../../src/transcripts.ts';
import {
  CODEX_CAPTURES,
  type CodexCapture,
  codexSession,
  MAIN_THREAD,
  RolloutBuilder,
  rolloutNames,
  threadId,
  threadOf,
} from '../transcripts/codex-fixtures.ts';
import { type PlainState, plain, stateOf } from '../transcripts/fixtures.ts';
import { copyOf, folder, stateOfReading, write } from './places.ts';

const capture = (name: string): CodexCapture => ({ version: '0.166.0', folder: name, place: 'sessions' });
const DAY = 'sessions/2026/11/16';
const MKFIFO = '/usr/bin/mkfifo';

/** A capture's folder, which is laid out as Codex's home is. */
function homeWith(name: string): { readonly home: string; readonly paths: readonly string[] } {
  const home = copyOf(`codex-0.166.0/${name}`);
  return { home, paths: rolloutNames(capture(name)).map((file) => join(home, DAY, file)) };
}

async function load(path: string, sessionId?: string): Promise<PlainState> {
  const { architecture, raw } = await loadTranscript(path, sessionId === undefined ? {} : { sessionId });
  expect(architecture).toBe('codex');
  return plain(parseTranscript(architecture, raw).state);
}

function compress(path: string): string {
  writeFileSync(`${path}.zst`, zlib.zstdCompressSync(readFileSync(path)));
  rmSync(path);
  return `${path}.zst`;
}

/** Writes a rollout in its place; returns its path. */
function place(home: string, builder: RolloutBuilder, thread: string, day = '2026/11/16', time = '10-00-00'): string {
  const name = `sessions/${day}/rollout-${day.replaceAll('/', '-')}T${time}-${thread}.jsonl`;
  write(home, { [name]: builder.text });
  return join(home, name);
}

const problemsOf = async (path: string): Promise<readonly string[]> => {
  const reading = readTranscript(path);
  for await (const _ of reading);
  return reading.diagnostics.problems.map(({ code }) => code);
};

const contents = (state: PlainState): unknown[] =>
  state.blocks.flatMap(({ type, content }) => (type === 'user_message' || type === 'assistant_text' ? [content] : []));

describe('loading and reading rollouts', () => {
  test.for(CODEX_CAPTURES.filter(({ version, place: where }) => version === '0.166.0' && where === 'sessions'))(
    'I8: $folder gives the same state loaded, read event by event, and from memory',
    async ({ folder: name }) => {
      const { paths } = homeWith(name);
      const path = (name === 'fork' ? paths[1] : paths[0]) as string;
      const state = await load(path);
      expect(state).toEqual(plain(parseTranscript('codex', codexSession(capture(name))).state));
      expect(plain(await stateOfReading(path))).toEqual(state);
    },
  );

  test('the subagent of a session is found in the folder of another day, and archived ones too', async () => {
    const { home, paths } = homeWith('subagent');
    const state = await load(paths[0] as string);
    const child = paths[1] as string;
    const later = join(
      home,
      'sessions/2026/11/17',
      `rollout-2026-11-17T00-00-01-${threadOf(child.split('/').at(-1) as string)}.jsonl`,
    );
    mkdirSync(dirname(later), { recursive: true });
    renameSync(child, later);
    expect(await load(paths[0] as string)).toEqual(state);
    const archived = join(home, 'archived_sessions', later.split('/').at(-1) as string);
    mkdirSync(dirname(archived));
    renameSync(later, archived);
    expect(await load(paths[0] as string)).toEqual(state);
    expect(state.subagents).toHaveLength(1);
    expect(await findTranscripts(paths[0] as string)).toMatchObject([{ subagents: 1 }]);
    expect(await findTranscripts(home)).toMatchObject([{ subagents: 1 }]);
  });

  test('the past of a fork is found when its parent was archived or compressed', async () => {
    const { home, paths } = homeWith('fork');
    const [parent, fork] = paths as [string, string];
    const state = await load(fork);
    const archived = join(home, 'archived_sessions', parent.split('/').at(-1) as string);
    mkdirSync(dirname(archived));
    renameSync(parent, archived);
    expect(await load(fork)).toEqual(state);
    compress(archived);
    expect(await load(fork)).toEqual(state);
    expect(plain(await stateOfReading(fork))).toEqual(state);
    expect(await problemsOf(fork)).toEqual([]);
  });

  test('a fork whose parent is gone is read, and the loss is reported', async () => {
    const { paths } = homeWith('fork');
    rmSync(paths[0] as string);
    expect(contents(plain(await stateOfReading(paths[1] as string)))).toEqual([
      'Another way [[script:again2]]',
      'Second turn is done.',
    ]);
    expect(await problemsOf(paths[1] as string)).toEqual(['missing-history']);
  });

  test('forks that refer to each other, or to themselves, are read once', async () => {
    const home = folder();
    const [a, b] = [threadId(1), threadId(2)];
    const base = (thread: string): object => ({ thread_id: thread, end_ordinal_exclusive: 100, end_byte_offset: 1 });
    const path = place(home, new RolloutBuilder({ id: a, history_base: base(b) }).prompt('A'), a);
    place(home, new RolloutBuilder({ id: b, history_base: base(a) }).prompt('B'), b);
    expect(contents(plain(await stateOfReading(path)))).toEqual(['B', 'A']);
    expect(await problemsOf(path)).toEqual(['history-cycle']);
    const self = place(folder(), new RolloutBuilder({ id: a, history_base: base(a) }).prompt('A'), a);
    expect(contents(plain(await stateOfReading(self)))).toEqual(['A']);
    expect(await problemsOf(self)).toEqual(['history-cycle']);
  });

  test('a reverted thread is its newest rollout, with the past of the older one', async () => {
    const home = folder();
    const rollout = threadId(9);
    place(
      home,
      new RolloutBuilder({ id: MAIN_THREAD }).prompt('Kept').says('Kept, too').prompt('Taken back'),
      MAIN_THREAD,
    );
    const meta = {
      id: MAIN_THREAD,
      history_base: { thread_id: MAIN_THREAD, end_ordinal_exclusive: 3, end_byte_offset: 0 },
    };
    const newer = new RolloutBuilder(meta, { ordinal: 3, second: 60 }).prompt('Instead');
    const path = place(home, newer, `${MAIN_THREAD}_${rollout}`, '2026/11/16', '10-01-00');
    expect(contents(await load(path))).toEqual(['Kept', 'Kept, too', 'Instead']);
    expect(await problemsOf(path)).toEqual([]);
    const found = await findTranscripts(home);
    expect(found.map((session) => [session.path, session.sessionId])).toEqual([[path, MAIN_THREAD]]);
  });

  test('a subagent that was started after the fork is not part of the fork', async () => {
    const home = folder();
    const [fork, before, after] = [threadId(5), threadId(2), threadId(3)];
    const parent = new RolloutBuilder()
      .prompt('Go')
      .calls('c1', 'spawn_agent', { message: 'Early' })
      .returns('c1', `{"agent_id":"${before}"}`)
      .prompt('More')
      .calls('c2', 'spawn_agent', { message: 'Late' })
      .returns('c2', `{"agent_id":"${after}"}`);
    place(home, parent, MAIN_THREAD);
    for (const id of [before, after]) {
      place(home, new RolloutBuilder({ id, parent_thread_id: MAIN_THREAD }, { second: 10 }).says(`I am ${id}`), id);
    }
    const base = { thread_id: MAIN_THREAD, end_ordinal_exclusive: 4, end_byte_offset: 0 };
    const path = place(
      home,
      new RolloutBuilder({ id: fork, history_base: base }, { ordinal: 4, second: 60 }).prompt('Fork'),
      fork,
    );
    const state = await load(path);
    expect(state.subagents.map(({ toolUseId, agentId }) => [toolUseId, agentId])).toEqual([['c1', before]]);
    expect(contents(state)).toEqual(['Go', 'Fork']);
    expect((await load(place(home, parent, MAIN_THREAD))).subagents).toHaveLength(2);
  });

  test('a rollout that was copied elsewhere under another name is loaded alone', async () => {
    const { paths } = homeWith('plain');
    const root = write(folder(), { 'copy.jsonl': readFileSync(paths[0] as string, 'utf8') });
    expect(await load(join(root, 'copy.jsonl'))).toEqual(await load(paths[0] as string));
    expect(await findTranscripts(join(root, 'copy.jsonl'))).toMatchObject([{ architecture: 'codex', messages: 2 }]);
  });

  test('a combined transcript in a file loads as its value does', async () => {
    const root = write(folder(), { 'session.json': JSON.stringify(codexSession(capture('subagent'))) });
    expect(await load(join(root, 'session.json'))).toEqual(
      plain(parseTranscript('codex', codexSession(capture('subagent'))).state),
    );
  });
});

describe('hostile and damaged files', () => {
  test('a compressed rollout that ends early gives what was unpacked, and reports it', async () => {
    const builder = new RolloutBuilder().prompt('First');
    for (let i = 0; i < 3000; i++) builder.says(`Text ${i}: ${Math.sin(i)} ${Math.cos(i)}`);
    const path = compress(place(folder(), builder, MAIN_THREAD));
    const whole = await load(path);
    truncateSync(path, Math.floor(readFileSync(path).length * 0.6));
    const torn = plain(await stateOfReading(path));
    expect(torn.blocks.length).toBeGreaterThan(100);
    expect(torn.blocks.length).toBeLessThan(whole.blocks.length);
    expect(await problemsOf(path)).toContain('torn-compression');
    expect((await load(path)).blocks).toEqual(torn.blocks);
    const { raw } = await loadTranscript(path);
    const codes = parseTranscript('codex', raw).diagnostics.problems.map(({ code }) => code);
    expect(codes).toContain('torn-compression');
    expect(codes.toSorted()).toEqual((await problemsOf(path)).toSorted());
  });

  test.for(['', 'no frame at all', '\x28\xb5\x2f\xfd', '\x28\xb5\x2f\xfd\0\0\0\0\0\0'])(
    'a compressed file with the content %j gives no block and no error',
    async (content) => {
      const path = join(folder(), `rollout-2026-11-16T10-00-00-${MAIN_THREAD}.jsonl.zst`);
      writeFileSync(path, content, 'latin1');
      expect(plain(await stateOfReading(path)).blocks).toEqual([]);
      expect((await load(path)).blocks).toEqual([]);
      expect(await findTranscripts(path)).toHaveLength(1);
    },
  );

  test('a small file that unpacks to far more than a rollout does is read no further', async () => {
    const path = join(folder(), `rollout-2026-11-16T10-00-00-${MAIN_THREAD}.jsonl.zst`);
    const before = new RolloutBuilder().prompt('Before').text;
    writeFileSync(
      path,
      zlib.zstdCompressSync(Buffer.concat([Buffer.from(before), Buffer.alloc(70 * 1024 * 1024, 120)])),
    );
    const reading = readTranscript(path);
    const events: ConversationEvent[] = [];
    for await (const event of reading) events.push(event);
    expect(contents(plain(stateOf(events)))).toEqual(['Before']);
    expect(reading.diagnostics.problems.map(({ code }) => code)).toContain('torn-compression');
  });

  test('lines longer than a chunk are read whole, plain and compressed', async () => {
    const long = 'é'.repeat(2_000_000);
    const builder = new RolloutBuilder().prompt('Before').says(long).prompt('After').says(`${long}!`);
    const path = place(folder(), builder, MAIN_THREAD);
    const expected = ['Before', long, 'After', `${long}!`];
    expect(contents(plain(await stateOfReading(path)))).toEqual(expected);
    expect(contents(plain(await stateOfReading(compress(path))))).toEqual(expected);
  });

  test('a line over the limit is skipped and reported, and the next one is read', async () => {
    const builder = new RolloutBuilder().prompt('Before').prompt('After');
    const lines = builder.text.split('\n');
    const path = place(folder(), new RolloutBuilder().prompt('Before'), MAIN_THREAD);
    truncateSync(path, 66 * 1024 * 1024); // a hole, which is fast to write
    appendFileSync(path, `\n${lines[2]}\n`);
    expect(contents(plain(await stateOfReading(path)))).toEqual(['Before', 'After']);
    expect(await problemsOf(path)).toEqual(['line-too-long']);
  });

  test('lines end at \\n only: other line breaks and NUL inside a line stay', async () => {
    const text = 'a\u2028b\u2029c\u0085d\re\u0000f';
    const path = place(folder(), new RolloutBuilder().prompt(text), MAIN_THREAD);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('\\u2028', '\u2028'));
    expect(contents(plain(await stateOfReading(path)))).toEqual([text]);
    expect(contents(await load(path))).toEqual([text]);
    expect(await problemsOf(path)).toEqual([]);
  });

  test('a symbolic link in place of a rollout is not followed', async () => {
    const outside = write(folder(), {
      'secret.jsonl': new RolloutBuilder({ id: threadId(2), parent_thread_id: MAIN_THREAD }).says('secret').text,
    });
    const home = folder();
    const path = place(home, new RolloutBuilder().prompt('Go'), MAIN_THREAD);
    symlinkSync(join(outside, 'secret.jsonl'), join(dirname(path), `rollout-2026-11-16T10-00-01-${threadId(2)}.jsonl`));
    expect(JSON.stringify((await loadTranscript(path)).raw)).not.toContain('secret');
    expect(JSON.stringify(await stateOfReading(path))).not.toContain('secret');
    expect(await findTranscripts(home)).toHaveLength(1);
  });

  test('folders, pipes and unreadable files with the name of a rollout are passed over', async () => {
    const home = folder();
    const path = place(home, new RolloutBuilder().prompt('Go'), MAIN_THREAD);
    const beside = (thread: number): string =>
      join(dirname(path), `rollout-2026-11-16T10-00-01-${threadId(thread)}.jsonl`);
    mkdirSync(beside(2));
    if (existsSync(MKFIFO)) execFileSync(MKFIFO, [beside(3)]);
    writeFileSync(beside(4), '\0'.repeat(1000));
    writeFileSync(
      beside(5),
      '{"timestamp":"x","type":"session_meta","payload":{"id":"../../../etc","history_base":{"thread_id":"../../../etc/passwd","end_ordinal_exclusive":9}}}\n',
    );
    expect(contents(await load(path))).toEqual(['Go']);
    expect(contents(plain(await stateOfReading(path)))).toEqual(['Go']);
    const found = await findTranscripts(home);
    expect(found.filter(({ sessionId }) => sessionId === MAIN_THREAD)).toHaveLength(1);
    expect(await problemsOf(beside(5))).toEqual(['missing-history']);
    if (!existsSync(MKFIFO)) return;
    await expect(loadTranscript(beside(3))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('a session that is being written is read up to its last whole line', async () => {
    const lines = new RolloutBuilder().prompt('Go').says('Half').text;
    const path = place(folder(), new RolloutBuilder(), MAIN_THREAD);
    writeFileSync(path, lines.slice(0, -30));
    expect(contents(plain(await stateOfReading(path)))).toEqual(['Go']);
    expect(await problemsOf(path)).toEqual(['torn-line']);
  });

  test('an iteration can be stopped in the middle, and the next one starts from the beginning', async () => {
    const { paths } = homeWith('tools');
    for (const path of [paths[0] as string, compress(paths[0] as string)].slice(1)) {
      const reading = readTranscript(path);
      for await (const event of reading) if (event.type === 'block:upsert') break;
      let count = 0;
      for await (const _ of reading) count++;
      expect(count).toBeGreaterThan(20);
    }
  });
});

describe('findTranscripts', () => {
  test('lists the sessions of a home, without subagents, the newest first', async () => {
    const home = folder();
    for (const name of ['plain', 'subagent', 'fork', 'tools']) {
      for (const file of rolloutNames(capture(name))) {
        write(home, { [`${DAY}/${file}`]: readFileSync(join(homeWith(name).home, DAY, file), 'utf8') });
      }
    }
    write(home, { 'history.jsonl': '{"session_id":"x","ts":1,"text":"Hi"}\n' });
    const found = await findTranscripts(home);
    expect(found.map(({ title, subagents, messages }) => ({ title, subagents, messages }))).toEqual([
      { title: 'Delegate this [[script:sub]]', subagents: 1, messages: 3 },
      { title: 'First turn [[script:plain]]', subagents: 0, messages: 4 },
      { title: 'Another way [[script:again2]]', subagents: 0, messages: 2 },
      { title: 'Make notes [[script:tools]]', subagents: 0, messages: 4 },
      { title: 'Say hello [[script:plain]]', subagents: 0, messages: 2 },
    ]);
    expect(found.every(({ architecture, cwd }) => architecture === 'codex' && cwd === '/home/dev/demo')).toBe(true);
    expect(found[0]).toMatchObject({
      createdAt: '2026-11-16T10:45:00.937Z',
      updatedAt: expect.stringMatching(/^2026-11-16T10:45:01/),
    });
    expect(await findTranscripts(join(home, DAY))).toHaveLength(5);
    expect(await findTranscripts(found[0]?.path as string)).toHaveLength(1);
    expect(contents(await load(home, found[0]?.sessionId))).toContain('Delegating.');
  });

  test('the legacy layout is listed with the prompt as title, not with injected texts', async () => {
    const found = await findTranscripts(copyOf('codex-0.104.0/tools'));
    expect(found).toMatchObject([{ title: 'Make notes [[script:oldtools]]', messages: 5 }]);
  });

  test('a name that a person gave to a thread is its title', async () => {
    const { home } = homeWith('plain');
    const id = threadOf(rolloutNames(capture('plain'))[0] as string);
    const names = [`{"id":"${id}","thread_name":"Old name"}`, 'torn', `{"id":"${id}","thread_name":"My thread"}`];
    write(home, { 'session_index.jsonl': names.join('\n') });
    expect(await findTranscripts(home)).toMatchObject([{ title: 'My thread' }]);
  });

  test('compressed and archived sessions are listed and loaded by their id', async () => {
    const { home, paths } = homeWith('plain');
    const path = paths[0] as string;
    const state = await load(path);
    const archived = join(home, 'archived_sessions', path.split('/').at(-1) as string);
    mkdirSync(dirname(archived));
    renameSync(path, archived);
    compress(archived);
    const found = await findTranscripts(home);
    expect(found).toMatchObject([{ title: 'Say hello [[script:plain]]', messages: 2 }]);
    expect(await load(home, found[0]?.sessionId)).toEqual(state);
  });
});
