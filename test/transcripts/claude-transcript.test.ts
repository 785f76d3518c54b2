import { describe, expect, test } from 'vitest';
import { NoiseFilter } from '../../src/transcripts/claude/transcript-line.ts';
import type { TranscriptDiagnostics } from '../../src/transcripts/diagnostics.ts';
import { parseTranscript, transcriptToEvents } from '../../src/transcripts/parse-transcript.ts';
import type { RawTranscript } from '../../src/transcripts/raw-transcript.ts';
import { asks, at, call, returns, says, text } from './claude-builders.ts';
import { claudeSession, type Line, type PlainState, plain, realSession, textOfLines } from './fixtures.ts';

function parse(raw: RawTranscript | readonly Line[]): PlainState & { readonly diagnostics: TranscriptDiagnostics } {
  const { state, diagnostics } = parseTranscript(
    'claude-sdk',
    Array.isArray(raw) ? textOfLines(raw) : (raw as RawTranscript),
  );
  return { ...plain(state), diagnostics };
}

const contents = ({ blocks }: PlainState): unknown[] => blocks.map(({ content }) => content);
const problems = ({ diagnostics }: { diagnostics: TranscriptDiagnostics }): unknown[] =>
  diagnostics.problems.map(({ code, count }) => [code, count]);

describe('damaged files', () => {
  const lines = [asks('u1', 'Hi'), says('a1', 'm', text('Hello')), asks('u2', 'Bye')];
  const whole = textOfLines(lines);

  test('a torn last line is skipped and reported', () => {
    const state = parse(whole.slice(0, -20));
    expect(contents(state)).toEqual(['Hi', 'Hello']);
    expect(state.diagnostics.problems).toEqual([{ code: 'torn-line', count: 1, where: ['main:3'] }]);
  });

  test('a complete last line without a newline is read', () => {
    const state = parse(whole.trimEnd());
    expect(contents(state)).toEqual(['Hi', 'Hello', 'Bye']);
    expect(problems(state)).toEqual([]);
  });

  test('a line after a torn one, on the same line, is read', () => {
    const torn = textOfLines(lines.slice(0, 1)).slice(0, -30);
    const state = parse(torn + textOfLines([{ parentUuid: 'u1', ...says('a1', 'm', text('Hello')) }]));
    expect(contents(state)).toEqual(['Hello']);
    expect(problems(state)).toEqual([['glued-line', 1]]);
  });

  test('NUL bytes between lines are ignored', () => {
    const state = parse(`${whole}${'\0'.repeat(4096)}${textOfLines([asks('u3', 'More')])}`);
    expect(contents(state)).toEqual(['Hi', 'Hello', 'Bye', 'More']);
    expect(problems(state)).toEqual([['nul-bytes', 1]]);
  });

  test('a malformed line in the middle is reported with its number', () => {
    const state = parse(`${textOfLines(lines.slice(0, 1))}{"type":"user", oops\n${textOfLines(lines.slice(1))}`);
    expect(contents(state)).toEqual(['Hi', 'Hello', 'Bye']);
    expect(state.diagnostics.problems).toEqual([{ code: 'malformed-line', count: 1, where: ['main:2'] }]);
  });

  test('empty lines, carriage returns and a byte order mark are ignored', () => {
    const state = parse(`\uFEFF${whole.replaceAll('\n', '\r\n\r\n')}`);
    expect(contents(state)).toEqual(['Hi', 'Hello', 'Bye']);
    expect(problems(state)).toEqual([]);
  });

  test('lines that a resumed session repeats in another order are converted once', () => {
    const [first, second, third] = lines as [Line, Line, Line];
    const state = parse([first, second, third, second, first, asks('u3', 'More')]);
    expect(contents(state)).toEqual(['Hi', 'Hello', 'Bye', 'More']);
    expect(problems(state)).toEqual([['repeated-line', 2]]);
  });

  test('values that are nested too deeply are replaced', () => {
    const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
    const line = JSON.stringify(says('a1', 'm', call('c'))).replace('{"command":"ls"}', deep);
    const { state, diagnostics } = parseTranscript('claude-sdk', line);
    expect(() => JSON.stringify(state)).not.toThrow();
    expect(diagnostics.problems).toMatchObject([{ code: 'too-deep' }]);
  });

  test.for([42, null, {}, { main: 3 }, { main: {}, subagents: [] }])('%j is reported as not-a-transcript', (raw) => {
    const state = parse(raw as never);
    expect(state.blocks).toEqual([]);
    expect(problems(state)).toEqual([['not-a-transcript', 1]]);
  });

  test('an unknown architecture is INVALID_ARGUMENT', () => {
    expect(() => parseTranscript('copilot' as never, '')).toThrow(/'claude-sdk' or 'opencode'/);
  });
});

describe('the tree of lines', () => {
  const first = [asks('p1', 'One', { parentUuid: null }), says('a1', 'm1', text('Answer one'), { parentUuid: 'p1' })];
  const second = [
    asks('p2', 'Two', { parentUuid: 'a1' }),
    says('a2', 'm2', call('c'), { parentUuid: 'p2' }),
    returns('r2', 'c', 'out', { parentUuid: 'a2' }),
    says('a3', 'm3', text('Answer two'), { parentUuid: 'r2' }),
  ];

  test('a prompt with the parent of an earlier one supersedes that and what followed it (D44)', () => {
    const again = [
      asks('p2b', 'Two, better', { parentUuid: 'a1' }),
      says('a2b', 'm4', text('Yes'), { parentUuid: 'p2b' }),
    ];
    const state = parse([...first, ...second, ...again]);
    expect(contents(state)).toEqual(['One', 'Answer one', 'Two, better', 'Yes']);
    expect(problems(state)).toEqual([['rewind', 1]]);
  });

  test('a prompt whose parent was not read supersedes an earlier one with the same parent', () => {
    const state = parse([
      ...first,
      asks('p2', 'Two', { parentUuid: 'unseen' }),
      says('a2', 'm2', text('Answer two'), { parentUuid: 'p2' }),
      asks('p2b', 'Two, better', { parentUuid: 'unseen' }),
    ]);
    expect(contents(state)).toEqual(['One', 'Answer one', 'Two, better']);
  });

  test('a rewind into a turn keeps the results of the calls that are kept', () => {
    const state = parse([...first, ...second, asks('p3', 'Instead', { parentUuid: 'a2' })]);
    expect(state.blocks.map(({ id }) => id)).toEqual(['p1', 'm1:0', 'p2', 'c', 'result:c', 'p3']);
    expect(state.blocks.find(({ id }) => id === 'c')?.status).toBe('complete');
  });

  test('later lines of a superseded branch are superseded', () => {
    const state = parse([
      ...first,
      ...second,
      asks('p2b', 'Two, better', { parentUuid: 'a1' }),
      says('a4', 'm9', text('Late'), { parentUuid: 'a3' }),
      says('a2b', 'm4', text('Yes'), { parentUuid: 'p2b' }),
    ]);
    expect(contents(state)).toEqual(['One', 'Answer one', 'Two, better', 'Yes']);
    expect(problems(state)).toEqual([
      ['rewind', 1],
      ['superseded-line', 1],
    ]);
  });

  test('parallel results, hooks and notices supersede nothing', () => {
    const state = parse([
      ...first,
      asks('p2', 'Two', { parentUuid: 'a1' }),
      says('a2', 'm2', call('c'), { parentUuid: 'p2' }),
      says('a3', 'm2', call('d'), { parentUuid: 'a2' }),
      returns('r1', 'c', 'one', { parentUuid: 'a2' }),
      returns('r2', 'd', 'two', { parentUuid: 'a3' }),
      { type: 'system', subtype: 'turn_duration', uuid: 's1', parentUuid: 'r2', sessionId: 's', timestamp: at() },
      asks('p3', 'Three', { parentUuid: 'r1' }),
    ]);
    expect(state.blocks.map(({ id }) => id)).toEqual([
      'p1',
      'm1:0',
      'p2',
      'c',
      'd',
      'result:c',
      'result:d',
      's1',
      'p3',
    ]);
    expect(problems(state)).toEqual([]);
  });

  test('several roots, which compactions create, are one conversation', () => {
    const state = parse([...first, asks('p9', 'After', { parentUuid: null })]);
    expect(contents(state)).toEqual(['One', 'Answer one', 'After']);
  });
});

describe('the blocks of a message (D46)', () => {
  test('have positions that are counted across lines', () => {
    const lines = [
      says('a1', 'm', text('A')),
      says('a2', 'm', call('c')),
      returns('r', 'c', 'x'),
      says('a3', 'm', text('B')),
    ];
    expect(parse(lines).blocks.map(({ id }) => id)).toEqual(['m:0', 'c', 'result:c', 'm:2']);
  });

  test('have the position that their line names when other lines are missing', () => {
    const lines = [says('a1', 'm', text('A'), { apiBlockIndex: 1 }), says('a2', 'm', text('B'), { apiBlockIndex: 4 })];
    expect(parse(lines).blocks.map(({ id }) => id)).toEqual(['m:1', 'm:4']);
  });

  test('are two blocks when their lines name the same position', () => {
    const lines = ['A', 'B', 'C'].map((value, i) => says(`a${i}`, 'm', text(value), { apiBlockIndex: 0 }));
    expect(contents(parse(lines))).toEqual(['A', 'B', 'C']);
  });
});

describe('compactions', () => {
  const boundary = {
    type: 'system',
    subtype: 'compact_boundary',
    uuid: 'b',
    parentUuid: null,
    logicalParentUuid: 'a1',
    sessionId: 's',
    timestamp: at(),
    content: 'Conversation compacted',
    compactMetadata: { trigger: 'auto' },
  };

  test('boundary and summary are one block', () => {
    const state = parse([
      asks('p1', 'One'),
      says('a1', 'm1', text('Answer one')),
      boundary,
      asks('s1', 'In short: one.', { parentUuid: 'b', isCompactSummary: true }),
      asks('p2', 'Two', { parentUuid: 's1' }),
    ]);
    expect(contents(state)).toEqual(['One', 'Answer one', 'In short: one.', 'Two']);
    expect(state.blocks[2]).toMatchObject({ id: 'b', type: 'compaction', data: { trigger: 'auto' } });
  });

  test('a summary without its boundary is a block', () => {
    expect(parse([asks('s1', 'In short.', { isCompactSummary: true })]).blocks).toMatchObject([
      { type: 'compaction', id: 's1' },
    ]);
  });
});

describe('texts with the user’s role that no user typed', () => {
  test.for([
    ['<command-name>/compact</command-name>', 'system', 'command'],
    ['<local-command-stdout>Compacted</local-command-stdout>', 'system', 'command_output'],
    ['<local-command-caveat>Caveat</local-command-caveat>', 'system', 'command_caveat'],
    ['<system-reminder>Be nice</system-reminder>', 'system', 'reminder'],
    ['[Request interrupted by user for tool use]', 'system', 'interrupted'],
    ['<task-notification><task-id>b1</task-id></task-notification>', 'system', 'task_notification'],
    ['Base directory for this skill: /skills/x\n\nDo it', 'skill', undefined],
    ['What about <command-name> in the middle?', 'user_message', undefined],
  ] as const)('%s', ([content, type, subtype]) => {
    const [block] = parse([asks('u', content)]).blocks;
    expect([block?.type, block?.subtype, block?.content]).toEqual([type, subtype, content]);
  });

  test('a line that is marked meta is not a prompt', () => {
    expect(parse([asks('u', 'Expanded command', { isMeta: true })]).blocks).toMatchObject([
      { type: 'system', subtype: 'meta' },
    ]);
  });

  test('a command that was queued while the agent worked is a prompt', () => {
    const queued = {
      type: 'attachment',
      uuid: 'q',
      sessionId: 's',
      timestamp: at(),
      attachment: { type: 'queued_command', prompt: 'And this' },
    };
    expect(parse([queued]).blocks).toMatchObject([{ type: 'user_message', id: 'q', content: 'And this' }]);
  });

  test('an image is an attachment', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    expect(parse([asks('u', [text('Look'), image])]).blocks).toMatchObject([
      { type: 'user_message', content: 'Look', attachments: [{ mediaType: 'image/png', data: 'AAAA' }] },
    ]);
  });

  test('a plain text document is an attachment whose data is base64', () => {
    const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüße' } };
    const data = Buffer.from('Grüße').toString('base64');
    expect(parse([asks('u', [text('Look'), document])]).blocks).toMatchObject([
      { type: 'user_message', content: 'Look', attachments: [{ mediaType: 'text/plain', data }] },
    ]);
  });
});

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
  const kind = (line: unknown): unknown => new NoiseFilter().kindOf(JSON.stringify(line));

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
