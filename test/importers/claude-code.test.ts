import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { findTranscripts, loadTranscript, readTranscript } from '../../src/transcripts.ts';
import { asks, call, says, text } from '../transcripts/claude-builders.ts';
import { CLAUDE_RUNS, claudeSession, linesOf, plain, realSession, textOfLines } from '../transcripts/fixtures.ts';
import { copyOf, folder, stateOfReading, write, writeRealSession } from './places.ts';

async function load(path: string, sessionId?: string): Promise<ReturnType<typeof plain>> {
  const { architecture, raw } = await loadTranscript(path, sessionId === undefined ? {} : { sessionId });
  return plain(parseTranscript(architecture, raw).state);
}

/** The only session file of a copied fixture. */
function sessionFile(root: string): string {
  const project = join(root, 'projects', readdirSync(join(root, 'projects'))[0] ?? '');
  return join(project, readdirSync(project).find((name) => name.endsWith('.jsonl')) ?? '');
}

describe('the layouts of Claude Code', () => {
  test('subagents in the folder of their session are loaded with their meta files', async () => {
    const state = await load(sessionFile(copyOf('claude-code-2.1.325/nested')));
    expect(state.subagents.map(({ status }) => status)).toEqual(['success', 'success']);
    expect(state.subagents[1]?.parentConversationId).toBe(state.subagents[0]?.toolUseId);
  });

  test.for(['below', 'beside'] as const)(
    'the real session loads the same with its subagents %s the main file',
    async (layout) => {
      const path = writeRealSession(folder(), layout);
      expect(await load(path)).toEqual(plain(parseTranscript('claude-sdk', realSession()).state));
    },
  );

  test('a session loads only its own subagents from a folder that sessions share', async () => {
    const root = folder();
    const path = writeRealSession(root, 'beside');
    write(root, {
      'agent-foreign.jsonl': textOfLines([
        says('x', 'm', text('Not mine'), { sessionId: 'other', agentId: 'foreign' }),
      ]),
    });
    expect((await load(path)).subagents).toHaveLength(1);
  });

  test('subagents of workflows are found some folders down', async () => {
    const root = write(folder(), {
      's.jsonl': textOfLines([says('a', 'm', call('t', 'Agent', { prompt: 'Work' }))]),
      's/subagents/workflows/wf_1/agent-w1.jsonl': textOfLines([says('b', 'n', text('Deep work'))]),
      's/subagents/workflows/wf_1/agent-w1.meta.json': '{"toolUseId":"t"}',
      's/subagents/workflows/wf_1/journal.jsonl': '{"not":"an agent"}\n',
    });
    expect((await load(join(root, 's.jsonl'))).subagents).toMatchObject([
      { toolUseId: 't', blocks: [{ content: 'Deep work' }] },
    ]);
  });

  test('a combined transcript in a file loads as its value does', async () => {
    const root = write(folder(), { 'nested.json': JSON.stringify(claudeSession('nested')) });
    const state = await load(join(root, 'nested.json'));
    expect(state).toEqual(plain(parseTranscript('claude-sdk', claudeSession('nested')).state));
    expect(plain(await stateOfReading(join(root, 'nested.json')))).toEqual(state);
  });

  test('a session in a folder of projects is loaded by its id', async () => {
    const root = copyOf('claude-code-2.1.325/plain');
    const byId = await load(root, 'dda6eac9-7860-410d-8d10-3796c3bddad8');
    expect(byId).toEqual(await load(sessionFile(root)));
    expect(await load(root)).toEqual(byId); // the only session
  });
});

describe('readTranscript', () => {
  test('batches have the same events, and the same diagnostics', async () => {
    const path = writeRealSession(folder());
    const reading = readTranscript(path);
    const single: ConversationEvent[] = [];
    for await (const event of reading) single.push(event);
    const { diagnostics } = reading;
    const batched: ConversationEvent[] = [];
    for await (const events of reading.batches()) batched.push(...events);
    expect(batched).toEqual(single);
    expect(reading.diagnostics).toEqual(diagnostics);
  });

  test.for(['sub', 'nested', 'subbg', 'long-6', 'killmcp-both'])(
    'I8: reading event by event gives the state that loading gives: %s',
    async (name) => {
      const path = sessionFile(copyOf(`claude-code-2.1.325/${name}`));
      expect(plain(await stateOfReading(path))).toEqual(await load(path));
    },
  );

  test('reading the real session gives the state and the diagnostics of loading it', async () => {
    const path = writeRealSession(folder());
    const reading = readTranscript(path);
    const state = plain(await stateOfReading(path));
    for await (const _ of reading);
    const { raw } = await loadTranscript(path);
    const loaded = parseTranscript('claude-sdk', raw);
    expect(state).toEqual(plain(loaded.state));
    expect(reading.diagnostics).toEqual(loaded.diagnostics);
  });

  test('lines longer than a chunk are read whole, and so are the lines after them', async () => {
    const long = 'é'.repeat(700_000);
    const lines = [
      asks('u1', 'Before'),
      says('a1', 'm', text(long)),
      asks('u2', 'After'),
      says('a2', 'm2', text(`${long}!`)),
    ];
    const path = join(write(folder(), { 's.jsonl': textOfLines(lines) }), 's.jsonl');
    const { blocks } = plain(await stateOfReading(path));
    expect(blocks.map(({ content }) => content)).toEqual(['Before', long, 'After', `${long}!`]);
  });

  test('a character on the border of two chunks is read whole', async () => {
    // Every offset of a four-byte character around the end of the first chunk.
    for (let padding = 0; padding < 6; padding++) {
      const filler = 'x'.repeat(262_144 - 420 + padding);
      const path = join(
        write(folder(), { 's.jsonl': textOfLines([asks('u1', `${filler}😀😀😀😀`), asks('u2', 'End')]) }),
        's.jsonl',
      );
      const { blocks } = plain(await stateOfReading(path));
      expect(blocks.map(({ content }) => content)).toEqual([`${filler}😀😀😀😀`, 'End']);
    }
  });

  test('records on one line are read from a file as from a text, also after a line of progress', async () => {
    const progress = (uuid: string): string =>
      JSON.stringify({ parentUuid: 'p', type: 'progress', data: { type: 'hook_progress' }, uuid, sessionId: 's' });
    const [first, second, third, last] = [asks('p', 'Go'), says('a', 'm', text('A')), asks('q', 'Q'), asks('z', 'End')];
    const lines = [
      `${JSON.stringify(first)}${JSON.stringify(second)}`,
      `${progress('h1')}${JSON.stringify(third)}`,
      progress('h2'),
      `${progress('h3')}${JSON.stringify(last)}`,
    ];
    const path = join(write(folder(), { 's.jsonl': `${lines.join('\n')}\n` }), 's.jsonl');
    const { blocks } = plain(await stateOfReading(path));
    expect(blocks.map(({ content }) => content)).toEqual(['Go', 'A', 'Q', 'End']);
    expect((await load(path)).blocks).toEqual(blocks);
  });

  test('a line over the limit is skipped and reported, and the next one is read', async () => {
    const path = join(write(folder(), { 's.jsonl': textOfLines([asks('u1', 'Before')]) }), 's.jsonl');
    truncateSync(path, 66 * 1024 * 1024); // a hole, which is fast to write
    appendFileSync(path, `\n${textOfLines([asks('u2', 'After')])}`);
    const reading = readTranscript(path);
    const contents: unknown[] = [];
    for await (const event of reading)
      if (event.type === 'block:upsert' && 'content' in event.block) contents.push(event.block.content);
    expect(contents).toEqual(['Before', 'After']);
    expect(reading.diagnostics.problems).toEqual([{ code: 'line-too-long', count: 1, where: ['main:2'] }]);
  });

  test('an iteration can be stopped in the middle, and the next one starts from the beginning', async () => {
    const path = writeRealSession(folder());
    const reading = readTranscript(path);
    for await (const event of reading) if (event.type === 'subagent:completed') break;
    let count = 0;
    for await (const _ of reading) count++;
    expect(count).toBeGreaterThan(400);
  });

  test.for(['', '\n\n', 'no json at all', '{"type":"user"', '\0\0\0\0', '[]\n3\n"x"\n'])(
    'a file with the content %j is read without an error',
    async (content) => {
      const path = join(write(folder(), { 's.jsonl': content }), 's.jsonl');
      expect(plain(await stateOfReading(path)).blocks).toEqual([]);
    },
  );
});

describe('only regular files of the session are read', () => {
  const secret = textOfLines([says('x', 'm', text('secret'), { sessionId: 's', agentId: 'x1' })]);
  const main = textOfLines([says('a', 'm', call('t', 'Agent', { prompt: 'Work' }))]);

  test('a symbolic link in place of a subagent’s file is not followed', async () => {
    const outside = write(folder(), { 'agent-x1.jsonl': secret });
    const root = write(folder(), { 's.jsonl': main, 's/subagents/keep': '' });
    symlinkSync(join(outside, 'agent-x1.jsonl'), join(root, 's/subagents/agent-x1.jsonl'));
    symlinkSync(join(outside, 'agent-x1.jsonl'), join(root, 'agent-x1.jsonl'));
    const { raw } = await loadTranscript(join(root, 's.jsonl'));
    expect(JSON.stringify(raw)).not.toContain('secret');
    expect(JSON.stringify(await stateOfReading(join(root, 's.jsonl')))).not.toContain('secret');
  });

  test('a symbolic link in place of a folder of subagents is not followed', async () => {
    const outside = write(folder(), { 'agent-x1.jsonl': secret });
    const root = write(folder(), { 's.jsonl': main, 's/subagents/keep': '' });
    symlinkSync(outside, join(root, 's/subagents/more'));
    const { raw } = await loadTranscript(join(root, 's.jsonl'));
    expect(JSON.stringify(raw)).not.toContain('secret');
  });

  test('a symbolic link in place of a meta file is not followed', async () => {
    const outside = write(folder(), { 'meta.json': '{"toolUseId":"secret"}' });
    const root = write(folder(), {
      's.jsonl': main,
      's/subagents/agent-x1.jsonl': textOfLines([says('b', 'n', text('Hi'))]),
    });
    symlinkSync(join(outside, 'meta.json'), join(root, 's/subagents/agent-x1.meta.json'));
    const { raw } = await loadTranscript(join(root, 's.jsonl'));
    expect(JSON.stringify(raw)).not.toContain('secret');
  });

  test('symbolic links in a folder of projects are not found', async () => {
    const outside = write(folder(), { 'p/s.jsonl': secret });
    const root = write(folder(), { 'projects/own/s1.jsonl': main });
    symlinkSync(join(outside, 'p'), join(root, 'projects/linked'));
    symlinkSync(join(outside, 'p/s.jsonl'), join(root, 'projects/own/s2.jsonl'));
    expect((await findTranscripts(root)).map(({ path }) => path)).toEqual([join(root, 'projects/own/s1.jsonl')]);
  });

  test.for(['../s', 'a/b', '..', '', 'x\0y', '.hidden', 'a'.repeat(300)])(
    'a session id that could be a path is rejected: %j',
    async (sessionId) => {
      await expect(loadTranscript(folder(), { sessionId })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );

  test('devices and folders are rejected', async () => {
    const root = write(folder(), { 'x/keep': '' });
    mkdirSync(join(root, 's.jsonl'));
    await expect(loadTranscript('/dev/zero')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(loadTranscript(join(root, 's.jsonl'))).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  });

  test('a missing path and a missing session are CONVERSATION_NOT_FOUND', async () => {
    await expect(loadTranscript(join(folder(), 'none.jsonl'))).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
    });
    await expect(loadTranscript(folder(), { sessionId: 'none' })).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
    });
  });

  test('a folder with several sessions needs a session id', async () => {
    const root = write(folder(), { 'a.jsonl': main, 'b.jsonl': main.replaceAll('"s"', '"other"') });
    await expect(loadTranscript(root)).rejects.toThrow(/2 transcripts.*sessionId/);
  });
});

describe('findTranscripts', () => {
  test('returns title, folder, times and counts of a session', async () => {
    const root = folder();
    const path = writeRealSession(join(root, 'projects/p'));
    expect(await findTranscripts(root)).toEqual([
      {
        architecture: 'claude-sdk',
        path,
        sessionId: '4d5611e5-241a-462a-8d15-5122611a9569',
        title: 'Work on bead spotter-dov. Run bd show spotter-dov to see the issue details and bd ready to find avai…',
        cwd: '/home/USER/projects/spotter-worktrees/spotter-dov',
        createdAt: '2026-02-12T16:02:23.545Z',
        updatedAt: '2026-02-12T21:03:34.206Z',
        bytes: Buffer.byteLength(realSession().main),
        messages: 408,
        subagents: 1,
      },
    ]);
  });

  test('a given title is preferred to the first prompt', async () => {
    const lines = [asks('u', 'First prompt\nand more'), { type: 'ai-title', aiTitle: 'Generated', sessionId: 's' }];
    const named = [...lines, { type: 'custom-title', customTitle: 'Named', sessionId: 's' }];
    const root = write(folder(), {
      'a.jsonl': textOfLines(lines.slice(0, 1)),
      'b.jsonl': textOfLines(lines),
      'c.jsonl': textOfLines(named),
    });
    const titles = new Map((await findTranscripts(root)).map(({ path, title }) => [path.slice(-7), title]));
    expect([titles.get('a.jsonl'), titles.get('b.jsonl'), titles.get('c.jsonl')]).toEqual([
      'First prompt',
      'Generated',
      'Named',
    ]);
  });

  test.for(CLAUDE_RUNS)('the message count of %s equals the number of its user and assistant lines', async (name) => {
    const root = copyOf(`claude-code-2.1.325/${name}`);
    const [found] = await findTranscripts(root);
    const lines = linesOf(readFileSync(sessionFile(root), 'utf8'));
    expect(found?.messages).toBe(lines.filter(({ type }) => type === 'user' || type === 'assistant').length);
  });

  test('finds the session of a single file', async () => {
    const path = writeRealSession(folder());
    expect(await findTranscripts(path)).toMatchObject([{ path, messages: 408 }]);
  });

  test('other JSONL files are not sessions', async () => {
    const root = copyOf('claude-code-2.1.325/plain'); // its stream is beside it
    writeFileSync(join(root, 'data.jsonl'), '{"some":"data"}\n');
    writeFileSync(join(root, 'broken.jsonl'), '\0\0\0');
    expect(await findTranscripts(root)).toHaveLength(1);
  });
});
