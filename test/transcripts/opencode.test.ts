import { describe, expect, test } from 'vitest';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { type Line, plain, stateOf } from './fixtures.ts';
import {
  CREATED,
  convert,
  delta,
  event,
  INPUT,
  idle,
  message,
  part,
  run,
  session,
  task,
  text,
  tool,
} from './opencode-events.ts';

const busy = (sessionID: string): Line => event('session.status', { sessionID, status: { type: 'busy' } });

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

  test.for([
    ['before', true],
    ['after', false],
  ] as const)('an abort is shown once, when the error of the session comes %s that of the message', ([, isFirst]) => {
    const error = { name: 'MessageAbortedError', data: { message: 'Aborted' } };
    const ofSession = event('session.error', { sessionID: 's', error });
    const ofMessage = message('s', 'm', 'assistant', { error });
    const events = isFirst ? [ofSession, ofMessage] : [ofMessage, ofSession];
    const once = [busy('s'), message('s', 'm'), ...events, idle('s')];
    expect(run(once).blocks.map(({ type, content }) => [type, content])).toEqual([['error', 'Aborted']]);
    // The next run of the session may fail without a message.
    const again = event('session.error', { sessionID: 's', error: { name: 'ProviderAuthError', data: {} } });
    expect(run([...once, busy('s'), again, idle('s')]).blocks).toHaveLength(2);
  });

  test('a text that ends blank becomes no block, and neither does one that a kill cut off before its first word', () => {
    const ended = part('s', 'm', 'p', text(' \n', { start: CREATED, end: CREATED + 5 }));
    expect(run([message('s', 'm'), part('s', 'm', 'p', text('')), ended]).blocks).toEqual([]);
    expect(run([message('s', 'm'), ended]).blocks).toEqual([]);
    expect(
      run([message('s', 'm'), part('s', 'm', 'p', { type: 'reasoning', text: '', time: { start: CREATED } })]).blocks,
    ).toEqual([]);
  });
});
