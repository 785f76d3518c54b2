import { describe, expect, test } from 'vitest';
import { NoiseFilter } from '../../src/transcripts/claude/transcript-line.ts';
import { transcriptToEvents } from '../../src/transcripts/parse-transcript.ts';
import { asks, at, call, returns, says, text } from './claude-builders.ts';
import { parse } from './claude-lines.ts';
import { claudeSession, realSession, textOfLines } from './fixtures.ts';

describe('the end of a transcript', () => {
  test('a call without a result ends as an error, a complete text stays complete', () => {
    const state = parse([asks('p', 'Go'), says('a1', 'm', text('Calling')), says('a2', 'm', call('c'))]);
    expect(state.blocks.map(({ type, status }) => [type, status])).toEqual([
      ['user_message', 'complete'],
      ['assistant_text', 'complete'],
      ['tool_use', 'error'],
    ]);
  });

  test('a call of the first run without a result ends as an error when the second run completed', () => {
    const state = parse([says('a1', 'm', call('c')), asks('p', 'Go on'), says('a2', 'm2', text('Done'))]);
    expect(state.blocks[0]).toMatchObject({ id: 'c', status: 'error' });
    expect(state.blocks[2]).toMatchObject({ status: 'complete' });
  });

  test('a subagent without a result has failed, and its open calls end as errors', () => {
    const raw = {
      main: textOfLines([says('a1', 'm', call('t', 'Agent', { prompt: 'Work' }))]),
      subagents: [{ id: 'x1', transcript: textOfLines([says('b1', 'n', call('c'))]), meta: { toolUseId: 't' } }],
    };
    const state = parse(raw);
    expect(state.blocks).toMatchObject([{ type: 'subagent', status: 'error' }]);
    expect(state.subagents).toMatchObject([{ status: 'error', blocks: [{ id: 'c', status: 'error' }] }]);
  });

  test('D45: a background subagent keeps running; with a meta file it has completed or failed', () => {
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
    ['the result of the call, in the last line', {}],
  ] as const)('are linked to their call by %s (D41)', ([, more]) => {
    const raw = { main: textOfLines([spawn, result]), subagents: [{ id: 'agent-x1', transcript: child, ...more }] };
    const state = parse(raw);
    expect(state.subagents).toMatchObject(expected);
    expect(state.blocks).toMatchObject([{ type: 'subagent', id: 'subagent:t', status: 'complete', agentId: 'x1' }]);
  });

  test('one without a call in any file has the parent of its meta file', () => {
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

  test('in the oldest layout they are read from the lines of their parent', () => {
    const state = parse([
      spawn,
      asks('c0', 'Work', { isSidechain: true, parentUuid: null }),
      says('c1', 'n', text('Working'), { isSidechain: true, parentUuid: 'c0' }),
      returns('r1', 't', 'Done'),
    ]);
    expect(state.blocks).toMatchObject([{ type: 'subagent', output: 'Done' }]);
    expect(state.subagents).toMatchObject([{ toolUseId: 't', blocks: [{ content: 'Work' }, { content: 'Working' }] }]);
  });

  test('an agent that is called again works for the newer call (D41)', () => {
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

  test('the lines of a nested agent in its parent’s file belong to the nested agent', () => {
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

  test('compaction runs are not subagents', () => {
    expect(parse(realSession()).subagents.map(({ agentId }) => agentId)).toEqual(['a2898e3']);
  });

  test('a combined transcript may be one JSON text', () => {
    const raw = claudeSession('nested');
    expect(parse(JSON.stringify(raw))).toEqual(parse(raw));
  });
});

describe('D49: unknown content', () => {
  test('a line of an unknown type is kept and counted by its type', () => {
    const unknown = { type: 'telepathy', uuid: 't', sessionId: 's', timestamp: at(), thought: 42 };
    const state = parse([unknown, { ...unknown, uuid: 't2' }]);
    expect(state.blocks).toMatchObject([
      { type: 'unknown', sourceType: 'telepathy', data: { thought: 42 } },
      { type: 'unknown', sourceType: 'telepathy' },
    ]);
    expect(state.diagnostics.unknown).toEqual({ telepathy: 2 });
  });

  test('types named like object properties are counted like any other', () => {
    const { diagnostics } = parse(
      ['__proto__', 'constructor', 'x'.repeat(10_000)].map((type, i) => ({ type, uuid: `${i}` })),
    );
    expect(Object.keys(diagnostics.unknown)).toEqual(['__proto__', 'constructor', `${'x'.repeat(80)}…`]);
  });

  test('the number of counted types has a limit', () => {
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

describe('lines of noise that are not parsed', () => {
  const progress = {
    parentUuid: 'p',
    sessionId: 's',
    type: 'progress',
    data: { type: 'hook_progress', output: 'x' },
    uuid: 'u',
  };
  const kindIn = (filter: NoiseFilter, text: string): unknown => {
    const kind = filter.kindOf(text);
    return typeof kind === 'object' ? kind.noise : kind;
  };
  const kind = (line: unknown): unknown => kindIn(new NoiseFilter(), JSON.stringify(line));

  test('are recognised by the type of the line itself', () => {
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
  ])('%s is not noise', ([, line]) => {
    expect(kind(line)).toBeUndefined();
  });

  test('the form of the previous line does not change the result', () => {
    const filter = new NoiseFilter();
    expect(kindIn(filter, JSON.stringify(progress))).toBe('hook_progress');
    const nested = {
      parentUuid: 'p"x',
      sessionId: 's',
      message: { type: 'progress', data: { type: 'hook_progress' } },
    };
    expect(kindIn(filter, JSON.stringify(nested))).toBeUndefined();
    const escaped = '{"parentUuid":"\\","sessionId":"s","type":"progress","data":{"type":"hook_progress"';
    expect(kindIn(filter, escaped)).toBeUndefined();
  });

  test('the filter does not change the result: parsing every line gives the same', () => {
    const { main } = realSession();
    // A space after the first brace hides the noise from the filter only.
    const parsed = main.replaceAll(/^\{/gm, '{ ');
    const spaced = parsed.replaceAll('"type":"progress","data":{', '"type": "progress","data":{');
    expect(JSON.stringify(transcriptToEvents('claude-sdk', spaced))).toBe(
      JSON.stringify(transcriptToEvents('claude-sdk', main)),
    );
  });
});
