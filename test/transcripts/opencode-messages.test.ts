import { describe, expect, test } from 'vitest';
import { openCodeStreamConverter } from '../../src/transcripts/opencode/stream-converter.ts';
import { partTime } from '../../src/transcripts/opencode/time.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { fixture, type Line, openCodeSession, openCodeStream, type PlainState, plain, stateOf } from './fixtures.ts';
import {
  CREATED,
  delta,
  event,
  INPUT,
  idle,
  message,
  now,
  part,
  run,
  session,
  task,
  text,
  tool,
} from './opencode-events.ts';

describe('messages of OpenCode', () => {
  test('the texts and attachments of a user message are one block with the id of the message (D46)', () => {
    const state = run([
      message('s', 'u', 'user'),
      part('s', 'u', 'p1', { type: 'text', text: 'See' }),
      part('s', 'u', 'p2', { type: 'file', mime: 'image/png', filename: 'a.png', url: 'data:image/png;base64,AAAA' }),
      part('s', 'u', 'p3', { type: 'text', text: 'Called the Read tool', synthetic: true }),
    ]);
    expect(state.blocks).toMatchObject([
      { id: 'u', type: 'user_message', content: 'See', attachments: [{ mediaType: 'image/png', filename: 'a.png' }] },
      { id: 'p3', type: 'system', subtype: 'synthetic' },
    ]);
  });

  test('usage is added to blocks that were written before it', () => {
    const tokens = { input: 100, output: 20, reasoning: 5, cache: { read: 30, write: 10 } };
    const state = run(
      [
        message('s', 'm', 'assistant', { modelID: 'gpt' }),
        part('s', 'm', 'p', text('Hi')),
        delta('s', 'm', 'p', ' there'),
        message('s', 'm', 'assistant', { modelID: 'gpt', tokens, cost: 0.5 }),
      ],
      {},
      false,
    );
    expect(state.blocks).toMatchObject([
      {
        content: 'Hi there',
        message: {
          id: 'm',
          model: 'gpt',
          usage: {
            inputTokens: 140,
            outputTokens: 20,
            cachedInputTokens: 30,
            cacheWriteTokens: 10,
            reasoningTokens: 5,
            costUsd: 0.5,
          },
        },
      },
    ]);
  });

  test('D44: a removed part is removed with its result', () => {
    const done = tool('c', { status: 'completed', input: {}, output: 'out', time: { start: CREATED, end: CREATED } });
    const events = [
      message('s', 'm'),
      part('s', 'm', 'p1', text('Hi', { start: CREATED, end: CREATED })),
      part('s', 'm', 'p2', done),
    ];
    const withoutPart = run([
      ...events,
      event('message.part.removed', { sessionID: 's', messageID: 'm', partID: 'p2' }),
    ]);
    const withoutMessage = run([...events, event('message.removed', { sessionID: 's', messageID: 'm' })]);
    expect(withoutPart.blocks).toMatchObject([{ content: 'Hi' }]);
    expect(withoutMessage.blocks).toEqual([]);
  });

  test('reverted messages are not part of a transcript (D44)', () => {
    const { main } = openCodeSession('serve-tools');
    const exported = JSON.parse(main as string) as { info: Line; messages: { info: { id: string } }[] };
    const revert = { messageID: exported.messages[2]?.info.id };
    const all = plain(parseTranscript('opencode', exported).state).blocks;
    const rest = plain(parseTranscript('opencode', { ...exported, info: { ...exported.info, revert } }).state).blocks;
    expect(rest).toEqual(all.slice(0, 4));
  });

  test('D43: a part that changes its type keeps its block, which ends', () => {
    const state = run([message('s', 'm'), part('s', 'm', 'p', text('Hi')), part('s', 'm', 'p', { type: 'hologram' })]);
    expect(state.blocks).toMatchObject([{ type: 'assistant_text', content: 'Hi', status: 'error' }]);
  });

  test('D49: an unknown part is kept and counted, bookkeeping is only counted', () => {
    const converter = openCodeStreamConverter({ now });
    const events = [
      message('s', 'm'),
      part('s', 'm', 'p1', { type: 'hologram', pixels: 3 }),
      part('s', 'm', 'p2', { type: 'step-start' }),
      event('message.exploded', { sessionID: 's' }),
    ].flatMap((line) => converter.push(line));
    expect(plain(stateOf(events)).blocks).toMatchObject([
      { type: 'unknown', sourceType: 'part/hologram', data: { pixels: 3 } },
    ]);
    expect(converter.diagnostics.unknown).toEqual({ 'part/hologram': 1, 'message.exploded': 1 });
    expect(converter.diagnostics.counts).toMatchObject({ 'part/step-start': 1, 'part/hologram': 1 });
  });
});

describe('a server with several sessions', () => {
  const others = openCodeStream('serve-nested');
  test.each([
    ['their start was received', others],
    ['their start was not received', others.filter(({ type }) => !String(type).startsWith('session.'))],
  ])('other sessions are not shown when %s', (_, events) => {
    const sessionId = 'ses_e1f50b392ffey3Dc7stAHB7CNc';
    const mine = openCodeStream('serve-tools');
    expect(run([...mine, ...events], { sessionId })).toEqual(run(mine, { sessionId }));
  });
});

test('the errors and subagents of a removed message do not appear again', () => {
  const began = [session('s'), message('s', 'm'), part('s', 'm', 'p', task({ status: 'running', input: INPUT }))];
  const failed = message('s', 'm', 'assistant', { error: { name: 'MessageAbortedError', data: { message: 'stop' } } });
  const removed = event('message.removed', { sessionID: 's', messageID: 'm' });
  expect(run([...began, failed, removed, idle('s')]).blocks).toEqual([]);
});

describe('other forms of the same session', () => {
  test('the global stream, which wraps the events, gives the same conversation', () => {
    const state = run(openCodeStream('serve-tools', 'global-events.jsonl'), {
      sessionId: 'ses_e1f50b392ffey3Dc7stAHB7CNc',
    });
    expect(state).toEqual(run(openCodeStream('serve-tools')));
  });

  test.each(['serve-tools', 'serve-nested', 'serve-kill', 'serve-resume-kill'])(
    '%s gives the same state to a slow reader, who gets each message in its newest form',
    (folder) => {
      const events = openCodeStream(folder);
      const infoOf = (line: Line): Line | undefined =>
        line.type === 'message.updated' ? ((line.properties as Line).info as Line) : undefined;
      const last = new Map(events.map((line) => [infoOf(line)?.id, infoOf(line)]));
      const late = events.map((line) => {
        const info = last.get(infoOf(line)?.id);
        return info ? { ...line, properties: { ...(line.properties as Line), info } } : line;
      });
      expect(late).not.toEqual(events);
      expect(run(late)).toEqual(run(events));
      const first = events.findIndex(({ type }) => type === 'message.part.delta') + 1;
      const shown = (lines: readonly Line[]): unknown =>
        run(lines.slice(0, first), {}, false).blocks.map(({ id, content, status }) => [id, content, status]);
      expect(shown(late)).toEqual(shown(events));
    },
  );

  test('`opencode run --format json` gives the same state without the prompt', () => {
    const said = ({ blocks }: PlainState): unknown[] =>
      blocks.map(({ id, type, content, output, status }) => [id, type, content, output, status]);
    const exported = plain(parseTranscript('opencode', openCodeSession('sub')).state);
    expect(said(run(openCodeStream('sub', 'run-format-json.jsonl')))).toEqual(said(exported).slice(1));
  });

  test('an export may be text, an object, or its list of messages', () => {
    const whole = fixture('opencode-1.18.33/serve-tools/export.json');
    const state = (raw: unknown): PlainState => plain(parseTranscript('opencode', raw as never).state);
    expect(state(JSON.parse(whole))).toEqual(state(whole));
    expect(state((JSON.parse(whole) as { messages: unknown }).messages)).toEqual(state(whole));
    expect(state({ main: JSON.parse(whole), subagents: [] })).toEqual(state(whole));
  });

  test.for(['', 'no json', '{}', '[]', '{"messages":3}', 'null', '{"main":"x","subagents":[]}'])(
    '%j is reported as not-a-transcript',
    (raw) => {
      const { state, diagnostics } = parseTranscript('opencode', raw);
      expect(state.blocks.length).toBe(0);
      expect(diagnostics.problems).toMatchObject([{ code: 'not-a-transcript' }]);
    },
  );
});

describe('the creation time of a part', () => {
  test('is read from its id, whose lower 36 bits are completed by the message’s time', () => {
    // From a real session: the event of this part has the time 1794770950814.
    expect(partTime({ id: 'prt_1e0af5a9e0017zEUKeMJAx5WC3' }, 1794770948929)).toBe(1794770950814);
  });

  test.for([
    ['a part with a start time', { id: 'prt_1e0af5a9e0017zEUKeMJAx5WC3', time: { start: 5 } }, 5],
    ['an id that is far from its message', { id: 'prt_000000000001xx', state: { time: { start: 7 } } }, 7],
    ['an id of another kind', { id: 'part-1' }, CREATED],
  ] as const)('%s', ([, value, expected]) => {
    expect(partTime(value, CREATED)).toBe(expected);
  });
});
