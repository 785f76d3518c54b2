import { describe, expect, test } from 'vitest';
import type { TranscriptDiagnostics } from '../../src/transcripts/diagnostics.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { asks, at, call, returns, says, text } from './claude-builders.ts';
import { parse } from './claude-lines.ts';
import { type Line, type PlainState, textOfLines } from './fixtures.ts';

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
    expect(() => parseTranscript('copilot' as never, '')).toThrow(/'claude-sdk' or 'codex' or 'opencode'/);
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
    expect(problems(state)).toEqual([
      ['rewind', 1],
      ['superseded-line', 4],
    ]);
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
      ['superseded-line', 5],
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
    expect(state.blocks.map(({ id }) => id)).toEqual(['p1', 'm1:0', 'p2', 'c', 'd', 'result:c', 'result:d', 'p3']);
    expect(problems(state)).toEqual([]);
  });

  test('several roots, which compactions create, are one conversation', () => {
    const boundary = { type: 'system', subtype: 'compact_boundary', uuid: 'b', parentUuid: null, content: 'Compacted' };
    const state = parse([...first, { ...boundary, timestamp: at() }, asks('p9', 'After', { parentUuid: null })]);
    expect(contents(state)).toEqual(['One', 'Answer one', 'Compacted', 'After']);
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
