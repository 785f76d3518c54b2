import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import {
  asks,
  blockDelta,
  blockStart,
  blockStop,
  call,
  DONE,
  INIT,
  messageStart,
  partial,
  returns,
  says,
  text,
} from './claude-builders.ts';
import { claudeStream, type Line, type PlainState, plain, stateOf } from './fixtures.ts';

const now = (): string => '2030-01-01T00:00:00.000Z';

function run(messages: readonly unknown[], end: boolean | 'completed' | 'interrupted' | 'failed' = true): PlainState {
  const converter = claudeStreamConverter({ now });
  const events = messages.flatMap((message) => converter.push(message));
  if (end !== false) events.push(...(end === true ? converter.end() : converter.end(end)));
  return plain(stateOf(events));
}

const textDelta = (value: string): Line => ({ type: 'text_delta', text: value });
const inputDelta = (value: string): Line => ({ type: 'input_json_delta', partial_json: value });

describe('a streaming message', () => {
  const said = [
    messageStart('m'),
    blockStart(0, text('')),
    blockDelta(0, textDelta('Hello')),
    blockDelta(0, textDelta(' ')),
    blockDelta(0, textDelta('\n\n')),
    blockDelta(0, textDelta('world')),
  ];

  test('D47: its text grows with every delta, whitespace included', () => {
    expect(run(said, false).blocks).toMatchObject([
      { id: 'm:0', type: 'assistant_text', status: 'pending', content: 'Hello \n\nworld' },
    ]);
  });

  test('D42: every delta carries its offset, so that a second delivery adds nothing', () => {
    const converter = claudeStreamConverter({ now });
    const events = said.flatMap((message) => converter.push(message));
    const offsets = events.flatMap((event) => (event.type === 'block:delta' ? [event.offset] : []));
    expect(offsets).toEqual([0, 5, 6, 8]);
    expect(plain(stateOf(events.flatMap((event) => [event, event])))).toEqual(plain(stateOf(events)));
  });

  test('the finished message replaces the text of its deltas', () => {
    const final = says('u1', 'm', text('Hello, authoritative world'));
    const state = run([...said, final, blockStop(0)], false);
    expect(state.blocks).toMatchObject([{ id: 'm:0', status: 'complete', content: 'Hello, authoritative world' }]);
  });

  test('a block without a finished message ends with the text of its deltas', () => {
    expect(run([...said, blockStop(0)], false).blocks).toMatchObject([
      { status: 'complete', content: 'Hello \n\nworld' },
    ]);
  });

  test('a finished message that arrives after the end of its block completes the same block (D46)', () => {
    const final = says('u1', 'm', text('Hello world'));
    expect(run([...said, blockStop(0), final], false).blocks).toMatchObject([{ id: 'm:0', content: 'Hello world' }]);
  });

  test('D45: a block that is open when the stream breaks ends as an error', () => {
    expect(run(said).blocks).toMatchObject([{ status: 'error', content: 'Hello \n\nworld' }]);
  });

  test('an attempt that starts again removes the blocks of the previous one', () => {
    const again = [messageStart('m2'), blockStart(0, text('')), says('u1', 'm2', text('Better'))];
    expect(run([...said, ...again], false).blocks).toMatchObject([{ id: 'm2:0', content: 'Better' }]);
  });

  test('the last usage of a message is written to all its blocks', () => {
    const state = run([
      messageStart('m'),
      blockStart(0, text('')),
      says('u1', 'm', text('a')),
      blockStop(0),
      blockStart(1, call('c')),
      says('u2', 'm', call('c')),
      blockStop(1),
      partial({ type: 'message_delta', usage: { output_tokens: 77 } }),
    ]);
    const usage = { inputTokens: 10, outputTokens: 77 };
    expect(state.blocks.map(({ message }) => message)).toEqual([
      { id: 'm', model: 'claude', usage },
      { id: 'm', model: 'claude', usage },
    ]);
  });
});

describe('the blocks of a message (D46)', () => {
  test('each finished block completes the one that was started for it', () => {
    const state = run(
      [
        messageStart('m'),
        blockStart(0, text('')),
        says('u1', 'm', text('First')),
        blockStop(0),
        blockStart(1, text('')),
        says('u2', 'm', text('Second')),
        blockStop(1),
      ],
      false,
    );
    expect(state.blocks.map(({ id, content }) => [id, content])).toEqual([
      ['m:0', 'First'],
      ['m:1', 'Second'],
    ]);
  });

  test('keep the positions of the stream when the first ones were missed', () => {
    const state = run([messageStart('m'), blockStart(3, text('')), blockDelta(3, textDelta('Late'))], false);
    expect(state.blocks).toMatchObject([{ id: 'm:3', content: 'Late' }]);
  });

  test('keep the usage of the stream when a later finished message reports another', () => {
    const state = run(
      [
        messageStart('m'),
        blockStart(0, text('')),
        blockStop(0),
        partial({ type: 'message_delta', usage: { output_tokens: 77 } }),
        says('u1', 'm', text('Hi')),
      ],
      false,
    );
    expect(state.blocks).toMatchObject([{ message: { usage: { outputTokens: 77 } } }]);
  });
});

describe('a call in the stream', () => {
  const streamed = [
    messageStart('m'),
    blockStart(0, call('c', 'Write', {})),
    blockDelta(0, inputDelta('{"path":')),
    blockDelta(0, inputDelta('"a.txt"}')),
  ];

  test('shows its input while it streams', () => {
    expect(run(streamed, false).blocks).toMatchObject([
      { id: 'c', type: 'tool_use', toolName: 'Write', status: 'pending', inputText: '{"path":"a.txt"}' },
    ]);
  });

  test('has parsed input when it is finished, with or without the finished message', () => {
    const stopped = run([...streamed, blockStop(0)], false).blocks;
    const finished = run(
      [...streamed, says('u', 'm', call('c', 'Write', { path: 'a.txt' })), blockStop(0)],
      false,
    ).blocks;
    expect(stopped).toMatchObject([{ status: 'pending', input: { path: 'a.txt' } }]);
    expect(finished).toMatchObject([{ status: 'pending', input: { path: 'a.txt' } }]);
    expect(finished[0]).not.toHaveProperty('inputText');
  });

  test('keeps input that is not JSON as text', () => {
    expect(run([...streamed.slice(0, 3), blockStop(0)], false).blocks).toMatchObject([{ inputText: '{"path":' }]);
  });

  test('is closed by its result', () => {
    const ok = run([says('u', 'm', call('c')), returns('r', 'c', 'done')], false).blocks;
    const message = {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c', content: 'no', is_error: true }],
    };
    const bad = run([says('u', 'm', call('c')), { ...asks('r', ''), message }], false).blocks;
    expect(ok).toMatchObject([
      { id: 'c', status: 'complete' },
      { id: 'result:c', status: 'complete', output: 'done', isError: false },
    ]);
    expect(bad).toMatchObject([
      { id: 'c', status: 'error' },
      { id: 'result:c', status: 'error', isError: true },
    ]);
  });

  test('without a result ends as an error at the end of a run that succeeded', () => {
    expect(run([says('u', 'm', call('c')), DONE], false).blocks).toMatchObject([{ id: 'c', status: 'error' }]);
  });

  test('of a crashed run ends when the next run starts', () => {
    const state = run([INIT, says('u', 'm', call('c')), INIT, says('u2', 'm2', text('Going on'))], false);
    expect(state.blocks).toMatchObject([
      { id: 'c', status: 'error' },
      { id: 'm2:0', status: 'complete' },
    ]);
  });

  test('D46: an id that another message used gets a number, and so does the id of its result', () => {
    const state = run([
      says('u1', 'm1', call('c')),
      returns('r1', 'c', 'one'),
      says('u2', 'm2', call('c')),
      returns('r2', 'c', 'two'),
    ]);
    expect(state.blocks.map(({ id, output }) => [id, output])).toEqual([
      ['c', undefined],
      ['result:c', 'one'],
      ['c#2', undefined],
      ['result:c#2', 'two'],
    ]);
  });

  test('D11: a call without an id gets one', () => {
    expect(run([says('u', 'm', { type: 'tool_use', name: 'Bash', input: {} })], false).blocks).toMatchObject([
      { id: 'm:0', type: 'tool_use', status: 'pending' },
    ]);
  });
});

describe('interleaved conversations', () => {
  test('keep their own blocks when their positions are the same', () => {
    const state = run(
      [
        says('u', 'm0', call('t', 'Agent', { prompt: 'Work', subagent_type: 'helper' })),
        messageStart('a'),
        messageStart('b', 't'),
        blockStart(0, text('')),
        blockStart(0, text(''), 't'),
        blockDelta(0, textDelta('main ')),
        blockDelta(0, textDelta('child '), 't'),
        blockDelta(0, textDelta('speaks')),
        blockDelta(0, textDelta('works'), 't'),
        blockStop(0),
        blockStop(0, 't'),
      ],
      false,
    );
    expect(state.blocks).toMatchObject([{ type: 'subagent' }, { id: 'a:0', content: 'main speaks' }]);
    expect(state.subagents).toMatchObject([{ toolUseId: 't', blocks: [{ id: 'b:0', content: 'child works' }] }]);
  });
});

describe('subagents in the stream', () => {
  const spawned = says('u', 'm', call('t', 'Task', { prompt: 'Work', subagent_type: 'helper', description: 'Help' }));

  test('D38: one block holds call and result of a subagent', () => {
    const state = run([spawned, returns('r', 't', 'the answer')]);
    expect(state.blocks).toMatchObject([
      { id: 'subagent:t', type: 'subagent', status: 'complete', name: 'helper', input: 'Work', output: 'the answer' },
    ]);
    expect(state.subagents).toMatchObject([
      { toolUseId: 't', status: 'success', prompt: 'Work', output: 'the answer' },
    ]);
  });

  test('a background subagent continues after the result of its call, and after the run', () => {
    const launched = returns('r', 't', 'launched', { tool_use_result: { isAsync: true, agentId: 'a1' } });
    const during = run([INIT, spawned, launched, DONE], false);
    expect(during.blocks).toMatchObject([{ status: 'pending' }]);
    expect(during.subagents).toMatchObject([{ status: 'running', agentId: 'a1' }]);
    const notification = {
      type: 'system',
      subtype: 'task_notification',
      task_id: 'a1',
      tool_use_id: 't',
      status: 'completed',
      summary: 'found it',
      usage: { duration_ms: 9 },
    };
    const after = run([INIT, spawned, launched, DONE, notification]);
    expect(after.subagents).toMatchObject([{ status: 'success', output: 'found it', durationMs: 9 }]);
  });

  test('a background subagent ends with a run that was interrupted', () => {
    const launched = returns('r', 't', 'launched', { tool_use_result: { isAsync: true, agentId: 'a1' } });
    expect(run([INIT, spawned, launched], 'interrupted').subagents).toMatchObject([{ status: 'error' }]);
  });

  test('the output excludes the text of the harness where the source separates it', () => {
    const outputs = run(claudeStream('sub')).subagents.map(({ output, durationMs }) => [output, durationMs]);
    expect(outputs).toEqual([['Child result: from-child', 287]]);
  });

  test('a subagent that is open when the stream breaks has failed', () => {
    expect(run([INIT, spawned]).subagents).toMatchObject([{ status: 'error' }]);
    expect(run([INIT, spawned]).blocks).toMatchObject([{ type: 'subagent', status: 'error' }]);
  });

  test('D36: no subagent has the id main', () => {
    const state = run([says('u', 'm', call('main', 'Agent', { prompt: 'x' })), DONE]);
    expect(state.subagents).toEqual([]);
    expect(state.blocks).toMatchObject([{ type: 'tool_use', id: 'main' }]);
  });
});

describe('the end of a stream', () => {
  const reasons = (events: readonly ConversationEvent[]): unknown[] =>
    events.flatMap((event) => (event.type === 'session:idle' ? [event.reason] : []));

  test('is completed when the source reported its end, else interrupted', () => {
    const done = claudeStreamConverter({ now });
    for (const message of [INIT, says('u', 'm', text('Hi')), DONE]) done.push(message);
    const broken = claudeStreamConverter({ now });
    for (const message of [INIT, says('u', 'm', text('Hi'))]) broken.push(message);
    expect(reasons(done.end())).toEqual(['completed']);
    expect(reasons(broken.end())).toEqual(['interrupted']);
  });

  test('has the reason that the caller passes', () => {
    expect(reasons(claudeStreamConverter({ now }).end('failed'))).toEqual(['failed']);
  });

  test('can be followed by more messages', () => {
    const converter = claudeStreamConverter({ now });
    const events = [
      ...converter.push(says('u1', 'm1', text('One'))),
      ...converter.end(),
      ...converter.push(INIT),
      ...converter.push(says('u2', 'm2', text('Two'))),
      ...converter.push(DONE),
      ...converter.end(),
    ];
    expect(plain(stateOf(events)).blocks.map(({ content }) => content)).toEqual(['One', 'Two']);
    expect(reasons(events)).toEqual(['interrupted', 'completed', 'completed']);
  });

  test('a failed run shows its error once', () => {
    const failed = {
      type: 'result',
      subtype: 'error_during_execution',
      is_error: true,
      errors: ['No conversation found'],
      uuid: 'e',
    };
    expect(run([INIT, failed]).blocks).toMatchObject([{ type: 'error', content: 'No conversation found' }]);
    const apiError = { ...says('u', 'm', text('API Error: 529')), error: 'overloaded' };
    const result = { ...DONE, is_error: true, result: 'API Error: 529' };
    expect(run([INIT, apiError, result]).blocks).toMatchObject([
      { type: 'error', subtype: 'api_error', content: 'API Error: 529' },
    ]);
  });
});

describe('repeated and unknown messages', () => {
  test('a replayed message changes nothing', () => {
    const message = says('u', 'm', text('Hi'));
    expect(run([message, message])).toEqual(run([message]));
  });

  test('D49: unknown messages and parts are kept and counted', () => {
    const converter = claudeStreamConverter({ now });
    const events = [
      ...converter.push({ type: 'hologram', uuid: 'h', pixels: 3 }),
      ...converter.push(says('u', 'm', { type: 'smell', of: 'roses' })),
    ];
    expect(plain(stateOf(events)).blocks).toMatchObject([
      { type: 'unknown', sourceType: 'hologram', data: { pixels: 3 } },
      { type: 'unknown', sourceType: 'content/smell', data: { of: 'roses' } },
    ]);
    expect(converter.diagnostics.unknown).toEqual({ hologram: 1, 'content/smell': 1 });
  });

  test.for([
    undefined,
    null,
    1,
    'text',
    [],
    {},
    { type: 'stream_event' },
    { type: 'assistant' },
    { type: 'user', message: 3 },
  ])('push never throws: %j', (message) => {
    expect(() => run([message])).not.toThrow();
  });

  test('D46: a second conversion gives the same ids', () => {
    const ids = (): unknown[] => run(claudeStream('tools')).blocks.map(({ id }) => id);
    expect(ids()).toEqual(ids());
    expect(ids()).toEqual([
      'msg_fake0000015wyf18i6:0',
      'toolu_fake000002av2hzjq7',
      'result:toolu_fake000002av2hzjq7',
      'toolu_fake00000596umsc51',
      'result:toolu_fake00000596umsc51',
      'toolu_fake000008ixtoz5hk',
      'result:toolu_fake000008ixtoz5hk',
      'msg_fake000010k7lj3ir7:0',
    ]);
  });
});
