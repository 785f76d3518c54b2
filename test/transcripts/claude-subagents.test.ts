import { describe, expect, test } from 'vitest';
import { NoiseFilter } from '../../src/transcripts/claude/transcript-line.ts';
import { transcriptToEvents } from '../../src/transcripts/parse-transcript.ts';
import { asks, at, call, returns, says, text } from './claude-builders.ts';
import { parse } from './claude-lines.ts';
import { claudeSession, realSession, textOfLines } from './fixtures.ts';

describe('a transcript that is over', () => {
  test('a call without a result ends as after an interrupted idle, a complete text stays complete', () => {
    const state = parse([asks('p', 'Go'), says('a1', 'm', text('Calling')), says('a2', 'm', call('c'))]);
    expect(state.blocks.map(({ type, status }) => [type, status])).toEqual([
      ['user_message', 'complete'],
      ['assistant_text', 'complete'],
      ['tool_use', 'error'],
    ]);
  });

  test('so does a call of the first of two runs, though the second completed', () => {
    const state = parse([says('a1', 'm', call('c')), asks('p', 'Go on'), says('a2', 'm2', text('Done'))]);
    expect(state.blocks[0]).toMatchObject({ id: 'c', status: 'error' });
    expect(state.blocks[2]).toMatchObject({ status: 'complete' });
  });

  test('a subagent that never answered has failed, and so have its open calls', () => {
    const raw = {
      main: textOfLines([says('a1', 'm', call('t', 'Agent', { prompt: 'Work' }))]),
      subagents: [{ id: 'x1', transcript: textOfLines([says('b1', 'n', call('c'))]), meta: { toolUseId: 't' } }],
    };
    const state = parse(raw);
    expect(state.blocks).toMatchObject([{ type: 'subagent', status: 'error' }]);
    expect(state.subagents).toMatchObject([{ status: 'error', blocks: [{ id: 'c', status: 'error' }] }]);
  });

  test('D45: one in the background is left alone unless its files tell of its end', () => {
    const launched = [
      says('a1', 'm', call('t', 'Agent', { prompt: 'Work' })),
      returns('r', 't', 'launched', { toolUseResult: { isAsync: true, status: 'async_launched', agentId: 'x1' } }),
    ];
    const child = textOfLines([says('b1', 'n', text('Working'))]);
    const status = (meta: unknown): unknown =>
      parse({ main: textOfLines(launched), subagents: [{ id: 'x1', transcript: child, ...(meta ? { meta } : {}) }] })
        .subagents[0]?.status;
    expect(status(undefined)).toBe('running');
    expect(status({ toolUseId: 't', finished: true })).toBe('success');
    expect(status({ toolUseId: 't' })).toBe('error');
  });
});

describe('subagents in their own files', () => {
  const spawn = says('a1', 'm', call('t', 'Task', { prompt: 'Work', subagent_type: 'helper' }));
  const result = returns('r1', 't', 'Done', {
    toolUseResult: { agentId: 'x1', totalDurationMs: 7, content: [text('Done')] },
  });
  const child = textOfLines([asks('c0', 'Work'), says('c1', 'n', text('Working'))]);
  const expected = [
    {
      toolUseId: 't',
      agentId: 'x1',
      status: 'success',
      durationMs: 7,
      name: 'helper',
      blocks: [{ content: 'Work' }, { content: 'Working' }],
    },
  ];

  test.for([
    ['a meta file', { meta: { toolUseId: 't' } }],
    ['a meta file that is still text', { meta: '{"toolUseId":"t"}' }],
    ['the result of the call, which comes last', {}],
  ] as const)('are linked to their call by %s (D41)', ([, more]) => {
    const raw = { main: textOfLines([spawn, result]), subagents: [{ id: 'agent-x1', transcript: child, ...more }] };
    const state = parse(raw);
    expect(state.subagents).toMatchObject(expected);
    expect(state.blocks).toMatchObject([{ type: 'subagent', id: 'subagent:t', status: 'complete', agentId: 'x1' }]);
  });

  test('one whose call is in no file hangs where its meta file says', () => {
    const state = parse({
      main: textOfLines([asks('p', 'Go')]),
      subagents: [
        { id: 'x1', transcript: child, meta: { toolUseId: 't', description: 'Lost', agentType: 'helper' } },
        {
          id: 'x2',
          transcript: textOfLines([says('d1', 'k', text('Deep'))]),
          meta: { toolUseId: 't2', parentAgentId: 'x1' },
        },
      ],
    });
    expect(state.subagents).toMatchObject([
      { toolUseId: 't', parentConversationId: 'main', name: 'helper' },
      { toolUseId: 't2', parentConversationId: 't' },
    ]);
  });

  test('the oldest layout keeps them between the lines of their parent', () => {
    const state = parse([
      spawn,
      asks('c0', 'Work', { isSidechain: true, parentUuid: null }),
      says('c1', 'n', text('Working'), { isSidechain: true, parentUuid: 'c0' }),
      returns('r1', 't', 'Done'),
    ]);
    expect(state.blocks).toMatchObject([{ type: 'subagent', output: 'Done' }]);
    expect(state.subagents).toMatchObject([{ toolUseId: 't', blocks: [{ content: 'Work' }, { content: 'Working' }] }]);
  });

  test('an agent that is asked again works for the newer call (D41)', () => {
    const [first, between, second] = [
      says('a1', 'm', call('t1', 'Task', { prompt: 'One' })),
      says('c1', 'n', text('First')),
      says('a2', 'm2', call('t2', 'Task', { prompt: 'Two', resume: 'x1' })),
    ];
    const state = parse({
      main: textOfLines([first, second]),
      subagents: [
        { id: 'x1', transcript: textOfLines([between, says('c2', 'n2', text('Second'))]), meta: { toolUseId: 't1' } },
      ],
    });
    expect(state.subagents).toMatchObject([
      { toolUseId: 't1', blocks: [{ content: 'First' }] },
      { toolUseId: 't2', blocks: [{ content: 'Second' }] },
    ]);
  });

  test('what an agent’s file tells of an agent below it goes to that one', () => {
    const progress = {
      type: 'progress',
      uuid: 'p',
      sessionId: 's',
      timestamp: at(),
      parentToolUseID: 't2',
      data: { type: 'agent_progress', agentId: 'x2', message: says('d1', 'k', text('Deep')) },
    };
    const state = parse({
      main: textOfLines([spawn]),
      subagents: [
        {
          id: 'x1',
          transcript: textOfLines([says('c1', 'n', call('t2', 'Task', { prompt: 'Deeper' })), progress]),
          meta: { toolUseId: 't' },
        },
      ],
    });
    expect(state.subagents).toMatchObject([
      { toolUseId: 't', blocks: [{ type: 'subagent' }] },
      { toolUseId: 't2', agentId: 'x2', parentConversationId: 't', blocks: [{ content: 'Deep' }] },
    ]);
  });

  test('runs of the compaction are none', () => {
    expect(parse(realSession()).subagents.map(({ agentId }) => agentId)).toEqual(['a2898e3']);
  });

  test('the combined form may also come as one JSON text', () => {
    const raw = claudeSession('nested');
    expect(parse(JSON.stringify(raw))).toEqual(parse(raw));
  });
});

describe('D49: what we do not know', () => {
  test('a line of an unknown type is kept, and counted by its type', () => {
    const unknown = { type: 'telepathy', uuid: 't', sessionId: 's', timestamp: at(), thought: 42 };
    const state = parse([unknown, { ...unknown, uuid: 't2' }]);
    expect(state.blocks).toMatchObject([
      { type: 'unknown', sourceType: 'telepathy', data: { thought: 42 } },
      { type: 'unknown', sourceType: 'telepathy' },
    ]);
    expect(state.diagnostics.unknown).toEqual({ telepathy: 2 });
  });

  test('hostile names of types are names like any other', () => {
    const { diagnostics } = parse(
      ['__proto__', 'constructor', 'x'.repeat(10_000)].map((type, i) => ({ type, uuid: `${i}` })),
    );
    expect(Object.keys(diagnostics.unknown)).toEqual(['__proto__', 'constructor', `${'x'.repeat(80)}…`]);
  });

  test('a type per line is counted up to a limit', () => {
    const { diagnostics } = parse(Array.from({ length: 2000 }, (_, i) => ({ type: `t${i}`, uuid: `${i}` })));
    expect(Object.keys(diagnostics.unknown).length).toBeLessThan(600);
    expect(Object.values(diagnostics.unknown).reduce((a, b) => a + b)).toBe(2000);
  });

  test('bookkeeping is counted and not shown', () => {
    const { blocks, diagnostics } = parse([
      { type: 'mode', mode: 'normal' },
      { type: 'ai-title', aiTitle: 'Title' },
    ]);
    expect(blocks).toEqual([]);
    expect(diagnostics.counts).toEqual({ mode: 1, 'ai-title': 1 });
    expect(diagnostics.unknown).toEqual({});
  });
});

describe('noise that is not parsed', () => {
  const progress = {
    parentUuid: 'p',
    sessionId: 's',
    type: 'progress',
    data: { type: 'hook_progress', output: 'x' },
    uuid: 'u',
  };
  const kind = (line: unknown): unknown => new NoiseFilter().kindOf(JSON.stringify(line));

  test('is told by the type of the line itself', () => {
    expect(kind(progress)).toBe('hook_progress');
    expect(kind({ ...progress, parentUuid: null })).toBe('hook_progress');
  });

  test.for([
    ['an agent’s progress', { ...progress, data: { type: 'agent_progress' } }],
    [
      'a type inside another object',
      { parentUuid: 'p', message: { x: 1, type: 'progress', data: { type: 'hook_progress' } }, type: 'user' },
    ],
    [
      'a type inside a list',
      { parentUuid: 'p', list: [{ type: 'progress', data: { type: 'hook_progress' } }], type: 'user' },
    ],
    [
      'a text that looks like it',
      { parentUuid: 'p', text: '"type":"progress","data":{"type":"hook_progress"', type: 'user' },
    ],
    ['a key that ends like it', { parentUuid: 'p', 'x"type': 'progress' }],
    ['another order of keys', { parentUuid: 'p', data: { type: 'hook_progress' }, type: 'progress' }],
  ])('%s is not', ([, line]) => {
    expect(kind(line)).toBeUndefined();
  });

  test('what the line before looked like does not mislead it', () => {
    const filter = new NoiseFilter();
    expect(filter.kindOf(JSON.stringify(progress))).toBe('hook_progress');
    const nested = {
      parentUuid: 'p"x',
      sessionId: 's',
      message: { type: 'progress', data: { type: 'hook_progress' } },
    };
    expect(filter.kindOf(JSON.stringify(nested))).toBeUndefined();
    const escaped = '{"parentUuid":"\\","sessionId":"s","type":"progress","data":{"type":"hook_progress"';
    expect(filter.kindOf(escaped)).toBeUndefined();
  });

  test('changes nothing but the speed: every line parsed gives the same', () => {
    const { main } = realSession();
    // A space after the first brace hides the noise from the filter, and from nobody else.
    const parsed = main.replaceAll(/^\{/gm, '{ ');
    const spaced = parsed.replaceAll('"type":"progress","data":{', '"type": "progress","data":{');
    expect(JSON.stringify(transcriptToEvents('claude-sdk', spaced))).toBe(
      JSON.stringify(transcriptToEvents('claude-sdk', main)),
    );
  });
});
