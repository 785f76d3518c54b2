import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import {
  type OpenCodeStreamConverterOptions,
  openCodeStreamConverter,
} from '../../src/transcripts/opencode/stream-converter.ts';
import { partTime } from '../../src/transcripts/opencode/time.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { fixture, type Line, openCodeSession, openCodeStream, type PlainState, plain, stateOf } from './fixtures.ts';

const now = (): string => '2030-01-01T00:00:00.000Z';
const CREATED = Date.UTC(2026, 0, 1);

function convert(
  events: readonly unknown[],
  options: OpenCodeStreamConverterOptions = {},
  ends = true,
): ConversationEvent[] {
  const converter = openCodeStreamConverter({ now, ...options });
  return [...events.flatMap((event) => converter.push(event)), ...(ends ? converter.end() : [])];
}

function run(events: readonly unknown[], options?: OpenCodeStreamConverterOptions, ends?: boolean): PlainState {
  return plain(stateOf(convert(events, options, ends)));
}

const event = (type: string, properties: Line): Line => ({ id: `evt_${type}`, type, properties });
const session = (id: string, parentID?: string): Line =>
  event('session.created', { sessionID: id, info: { id, ...(parentID && { parentID }) } });
const message = (sessionID: string, id: string, role = 'assistant', more: Line = {}): Line =>
  event('message.updated', { sessionID, info: { id, sessionID, role, time: { created: CREATED }, ...more } });
const part = (sessionID: string, messageID: string, id: string, more: Line): Line =>
  event('message.part.updated', { sessionID, part: { id, sessionID, messageID, ...more }, time: CREATED + 1000 });
const delta = (sessionID: string, messageID: string, partID: string, text: string): Line =>
  event('message.part.delta', { sessionID, messageID, partID, field: 'text', delta: text });
const idle = (sessionID: string): Line => event('session.idle', { sessionID });
const busy = (sessionID: string): Line => event('session.status', { sessionID, status: { type: 'busy' } });

const text = (value: string, time: Line = { start: CREATED }): Line => ({ type: 'text', text: value, time });
const tool = (callID: string, state: Line, name = 'bash'): Line => ({ type: 'tool', tool: name, callID, state });
const task = (state: Line): Line => tool('call', state, 'task');
const INPUT = { description: 'Look', prompt: 'Look around', subagent_type: 'general' };

describe('known bugs of other converters', () => {
  test('D47: deltas of whitespace alone are not dropped', () => {
    const state = run(
      [
        message('s', 'm'),
        part('s', 'm', 'p', text('')),
        ...['a', ' ', '\n', '\n\n', 'b'].map((piece) => delta('s', 'm', 'p', piece)),
      ],
      {},
      false,
    );
    expect(state.blocks).toMatchObject([{ type: 'assistant_text', status: 'pending', content: 'a \n\n\nb' }]);
  });

  test('the final text of a part replaces its deltas', () => {
    const state = run(
      [
        message('s', 'm'),
        part('s', 'm', 'p', text('')),
        delta('s', 'm', 'p', 'Helo'),
        part('s', 'm', 'p', text('Hello!', { start: CREATED, end: CREATED + 5 })),
      ],
      {},
      false,
    );
    expect(state.blocks).toMatchObject([{ status: 'complete', content: 'Hello!' }]);
  });

  test('a task part with a full summary is one subagent, and no other block shows the summary', () => {
    const summary = [{ id: 'prt_x', tool: 'bash', state: { status: 'completed', output: 'hidden' } }];
    const metadata = { sessionId: 'child', summary };
    const state = run([
      session('s'),
      message('s', 'm'),
      part('s', 'm', 'p', task({ status: 'running', input: INPUT, metadata })),
      session('child', 's'),
      message('child', 'n'),
      part(
        'child',
        'n',
        'q',
        tool('c1', { status: 'completed', input: {}, output: 'seen', time: { start: CREATED, end: CREATED + 9 } }),
      ),
      part(
        's',
        'm',
        'p',
        task({
          status: 'completed',
          input: INPUT,
          metadata,
          output: 'Found',
          time: { start: CREATED, end: CREATED + 20 },
        }),
      ),
    ]);
    expect(state.blocks).toHaveLength(1);
    expect(state.subagents).toMatchObject([
      { toolUseId: 'call', agentId: 'child', status: 'success', output: 'Found', durationMs: 20 },
    ]);
    expect(state.subagents[0]?.blocks.map(({ id }) => id)).toEqual(['c1', 'result:c1']);
  });

  test('an update of a task part is not a new spawn', () => {
    const running = part('s', 'm', 'p', task({ status: 'running', input: INPUT, metadata: { sessionId: 'child' } }));
    const events = convert(
      [
        message('s', 'm'),
        part('s', 'm', 'p', task({ status: 'pending', input: {}, raw: '' })),
        running,
        running,
        running,
      ],
      {},
      false,
    );
    expect(events.filter(({ type }) => type === 'subagent:spawned')).toHaveLength(2); // its call, and then its agent
    expect(plain(stateOf(events)).subagents).toHaveLength(1);
  });
});

describe('calls of OpenCode', () => {
  const running = tool('c', { status: 'running', input: { command: 'ls' }, time: { start: CREATED } });

  test('are sent again with every line of output, and written once', () => {
    const output = part(
      's',
      'm',
      'p',
      tool('c', { status: 'running', input: { command: 'ls' }, metadata: { output: 'a' } }),
    );
    const events = convert([message('s', 'm'), part('s', 'm', 'p', running), output, output, output], {}, false);
    expect(events).toHaveLength(1);
  });

  test('end with their result or their error', () => {
    const time = { start: CREATED, end: CREATED + 5 };
    const ok = run([
      message('s', 'm'),
      part('s', 'm', 'p', tool('c', { status: 'completed', input: {}, output: 'out', time })),
    ]);
    const bad = run([
      message('s', 'm'),
      part('s', 'm', 'p', tool('c', { status: 'error', input: {}, error: 'no', time })),
    ]);
    expect(ok.blocks).toMatchObject([
      { id: 'c', status: 'complete' },
      { id: 'result:c', output: 'out', isError: false },
    ]);
    expect(bad.blocks).toMatchObject([
      { id: 'c', status: 'error' },
      { id: 'result:c', output: 'no', isError: true },
    ]);
  });

  test('that are running when their session becomes idle end as errors', () => {
    const events = [message('s', 'm'), part('s', 'm', 'p', running), idle('s')];
    expect(run(events, {}, false).blocks).toMatchObject([{ id: 'c', status: 'error' }]);
  });

  test('a result before the start of the next part is shown before it, also from an export', () => {
    const time = { start: CREATED, end: CREATED + 5 };
    const parts = [
      { id: 'p1', sessionID: 's', messageID: 'm', ...tool('a', { status: 'completed', input: {}, output: 'a', time }) },
      { id: 'p2', sessionID: 's', messageID: 'm', ...text('Then', { start: CREATED + 10, end: CREATED + 11 }) },
    ];
    const info = { id: 'm', sessionID: 's', role: 'assistant', time: { created: CREATED } };
    const { blocks } = plain(parseTranscript('opencode', { info: { id: 's' }, messages: [{ info, parts }] }).state);
    expect(blocks.map(({ id }) => id)).toEqual(['a', 'result:a', 'p2']);
  });

  test('D36: a task with the id main is a plain call', () => {
    const state = run([
      message('s', 'm'),
      part('s', 'm', 'p', tool('main', { status: 'running', input: INPUT }, 'task')),
    ]);
    expect(state).toMatchObject({ blocks: [{ id: 'main', type: 'tool_use', status: 'error' }], subagents: [] });
  });

  test('results keep their order of arrival, also from an export', () => {
    const done = (id: string, end: number): Line => ({
      id: `prt_${id}`,
      sessionID: 's',
      messageID: 'm',
      ...tool(id, { status: 'completed', input: {}, output: id, time: { start: CREATED, end: CREATED + end } }),
    });
    const info = { id: 'm', sessionID: 's', role: 'assistant', time: { created: CREATED, completed: CREATED + 99 } };
    const raw = { info: { id: 's' }, messages: [{ info, parts: [done('a', 30), done('b', 10), done('c', 20)] }] };
    const { blocks } = plain(parseTranscript('opencode', raw).state);
    expect(blocks.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'result:b', 'result:c', 'result:a']);
  });
});

describe('sessions of OpenCode', () => {
  test('a child that is called again works for the newer call (D41)', () => {
    const asked = (callID: string, status: string, more: Line = {}): Line =>
      tool(callID, { status, input: INPUT, metadata: { sessionId: 'child' }, ...more }, 'task');
    const state = run([
      session('s'),
      message('s', 'm'),
      part('s', 'm', 'p1', asked('call1', 'running')),
      message('child', 'n1'),
      part('child', 'n1', 'q1', text('First', { start: CREATED, end: CREATED })),
      part('s', 'm', 'p1', asked('call1', 'completed', { output: 'one' })),
      part('s', 'm', 'p2', asked('call2', 'running')),
      message('child', 'n2'),
      part('child', 'n2', 'q2', text('Second', { start: CREATED, end: CREATED })),
      part('s', 'm', 'p2', asked('call2', 'completed', { output: 'two' })),
    ]);
    expect(state.subagents).toMatchObject([
      { toolUseId: 'call1', output: 'one', blocks: [{ content: 'First' }] },
      { toolUseId: 'call2', output: 'two', blocks: [{ content: 'Second' }] },
    ]);
  });

  test('a child whose messages arrive before its call is merged into it', () => {
    const state = run(
      [
        session('s'),
        message('s', 'm'),
        session('child', 's'),
        message('child', 'n'),
        part('child', 'n', 'q', text('Early', { start: CREATED, end: CREATED })),
        part('s', 'm', 'p', task({ status: 'running', input: INPUT, metadata: { sessionId: 'child' } })),
        part('child', 'n', 'q2', text('Late', { start: CREATED, end: CREATED })),
      ],
      {},
      false,
    );
    expect(state.subagents).toMatchObject([
      { toolUseId: 'call', agentId: 'child', blocks: [{ content: 'Early' }, { content: 'Late' }] },
    ]);
  });

  test('another session of the same server is not shown', () => {
    const events = [
      session('s'),
      session('other'),
      message('s', 'm'),
      part('s', 'm', 'p', text('Mine', { start: CREATED, end: CREATED })),
      message('other', 'n'),
      part('other', 'n', 'q', text('Theirs', { start: CREATED, end: CREATED })),
    ];
    expect(run(events)).toMatchObject({ blocks: [{ content: 'Mine' }], subagents: [] });
    expect(run(events, { sessionId: 'other' })).toMatchObject({ blocks: [{ content: 'Theirs' }], subagents: [] });
  });

  test('the end is completed when the session became idle, interrupted when it was aborted or cut off', () => {
    const reasonOf = (events: readonly Line[]): unknown =>
      convert(events).findLast(({ type }) => type === 'session:idle');
    const error = { name: 'MessageAbortedError', data: { message: 'Aborted' } };
    expect(reasonOf([message('s', 'm'), busy('s'), idle('s')])).toMatchObject({ reason: 'completed' });
    expect(reasonOf([message('s', 'm'), busy('s')])).toMatchObject({ reason: 'interrupted' });
    expect(
      reasonOf([message('s', 'm'), busy('s'), message('s', 'm', 'assistant', { error }), idle('s')]),
    ).toMatchObject({ reason: 'interrupted' });
  });

  test('the end is emitted once when the server reports it twice', () => {
    const status = event('session.status', { sessionID: 's', status: { type: 'idle' } });
    const events = convert([message('s', 'm'), busy('s'), status, idle('s')], {}, false);
    expect(events.filter(({ type }) => type === 'session:idle')).toHaveLength(1);
  });

  test('an error is shown once, by its message or, without one, by the session', () => {
    const error = { name: 'APIError', data: { message: 'Overloaded' } };
    const failed = event('session.error', { sessionID: 's', error });
    const both = run([message('s', 'm'), busy('s'), failed, message('s', 'm', 'assistant', { error }), idle('s')]);
    const alone = run([message('s', 'm'), busy('s'), failed, idle('s')]);
    expect(both.blocks).toMatchObject([{ id: 'error:m', type: 'error', subtype: 'APIError', content: 'Overloaded' }]);
    expect(alone.blocks).toMatchObject([{ type: 'error', content: 'Overloaded' }]);
  });
});

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
