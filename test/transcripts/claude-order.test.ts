/** Claude Code's lines in the orders in which people's files have them. */
import { describe, expect, test } from 'vitest';
import { NO_RESULT } from '../../src/formats/placeholders.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { asks, at, call, returns, says, text } from './claude-builders.ts';
import { parse } from './claude-lines.ts';
import { type Line, type PlainState, plain, textOfLines } from './fixtures.ts';
import { outlineOf } from './sendable.ts';

const shown = ({ blocks }: PlainState): unknown[] =>
  blocks.map(({ id, content, output, status }) => content ?? output ?? `${id} ${status}`);

const codes = (lines: readonly Line[] | string): unknown[] => {
  const { diagnostics } = parse(lines);
  return diagnostics.problems.map(({ code, count }) => `${code} ${count}`);
};

/** Lines in which each is the parent of the next. */
function chain(parent: string | null, ...lines: readonly Line[]): Line[] {
  let parentUuid = parent;
  return lines.map((line) => {
    const linked = { ...line, parentUuid };
    parentUuid = line.uuid as string;
    return linked;
  });
}

describe('results and their calls', () => {
  const [prompt, calling, result, next] = chain(
    null,
    asks('p', 'Go'),
    says('a', 'm', call('c')),
    returns('r', 'c', 'out'),
    says('b', 'm2', text('Done')),
  ) as [Line, Line, Line, Line];
  const expected = ['Go', 'c complete', 'out', 'Done'];

  test.for([
    ['its call', [prompt, result, calling, next]],
    ['its call, and so does the response to it', [prompt, result, next, calling]],
    ['everything else', [result, prompt, calling, next]],
  ])('a result that stands before %s follows its call', ([, lines]) => {
    expect(shown(parse(lines as Line[]))).toEqual(expected);
    expect(outlineOf(lines as Line[])).toEqual(['user: Go', 'assistant:  [c]', 'tool: out', 'assistant: Done']);
  });

  test('the same holds in the file of a subagent', () => {
    const main = textOfLines([says('x', 'm0', call('t', 'Task', { prompt: 'Go' }))]);
    const transcript = textOfLines([prompt, result, calling, next]);
    const { subagents } = parse({ main, subagents: [{ id: 'a1', transcript, meta: { toolUseId: 't' } }] });
    expect(subagents.map(({ blocks }) => shown({ blocks, subagents: [] }))).toEqual([expected]);
  });

  test('a result whose call never comes is shown, and so is all that follows it', () => {
    const later = Array.from({ length: 1500 }, (_, i) =>
      says(`l${i}`, `n${i}`, text(`${i}`), { parentUuid: i === 0 ? 'r0' : `l${i - 1}` }),
    );
    const { blocks } = parse([returns('r0', 'lost', 'orphan', { parentUuid: 'unseen' }), ...later]);
    expect(blocks).toHaveLength(1501);
    expect(blocks[0]).toMatchObject({ output: 'orphan' });
    expect(blocks.at(-1)).toMatchObject({ content: '1499' });
  });

  test('a line that belongs to nothing else follows a result whose call has not come within 1,000 lines', () => {
    const later = Array.from({ length: 1100 }, (_, i) =>
      says(`l${i}`, `n${i}`, text(`${i}`), { parentUuid: i === 0 ? 'r0' : `l${i - 1}` }),
    );
    const lines = [returns('r0', 'lost', 'orphan', { parentUuid: 'unseen' }), ...later, asks('z', 'Last')];
    expect(shown(parse(lines)).at(-1)).toBe('Last');
  });

  test('a result that names a line which is in no file follows its call', () => {
    const lines = [
      asks('p', 'Go'),
      returns('r', 'c', 'out', { parentUuid: 'unseen' }),
      says('a', 'm', call('c')),
      says('b', 'm2', text('Done')),
    ];
    expect(shown(parse(lines))).toEqual(['Go', 'c complete', 'out', 'Done']);
  });

  test('a call that is open when another message begins gets its result later', () => {
    const lines = [
      asks('p', 'Go'),
      says('a1', 'm1', call('c')),
      asks('q', 'And?'),
      says('a2', 'm2', text('Waiting')),
      returns('r', 'c', 'late'),
      says('a3', 'm3', text('Done')),
    ];
    expect(shown(parse(lines))).toEqual(['Go', 'c complete', 'And?', 'Waiting', 'late', 'Done']);
    expect(outlineOf(lines)).toEqual([
      'user: Go',
      'assistant:  [c]',
      'tool: late',
      'user: And?',
      'assistant: Waiting',
      'assistant: Done',
    ]);
  });

  test('a result before its call is sent after it, in files without parents, too', () => {
    const lines = [asks('p', 'Go'), returns('r', 'c', 'early'), says('a', 'm', call('c')), says('b', 'm2', text('Ok'))];
    expect(outlineOf(lines)).toEqual(['user: Go', 'assistant:  [c]', 'tool: early', 'assistant: Ok']);
  });
});

const NO_PARENT = [
  ['null', null],
  ['missing', undefined],
] as const;

describe('rewinds', () => {
  test('a prompt without a parent rewinds to the first prompt', () => {
    const lines = [
      ...chain(null, asks('p1', 'Wrong'), says('a1', 'm1', text('Answer')), asks('p2', 'More')),
      ...chain(null, asks('p3', 'Right'), says('a3', 'm3', text('Yes'))),
    ];
    expect(shown(parse(lines))).toEqual(['Right', 'Yes']);
    expect(outlineOf(lines)).toEqual(['user: Right', 'assistant: Yes']);
    expect(codes(lines)).toEqual(['rewind 1', 'superseded-line 3']);
  });

  test.for(NO_PARENT)('a file in which every parent is %s stays in file order', ([, parentUuid]) => {
    const lines = [asks('p1', 'One'), says('a1', 'm1', text('A')), asks('p2', 'Two'), says('a2', 'm2', text('B'))];
    const state = parse(lines.map((line) => ({ ...line, parentUuid })));
    expect(shown(state)).toEqual(['One', 'A', 'Two', 'B']);
  });

  test.for(NO_PARENT)(
    'a subagent between the lines of such a file is one thread: every parent is %s',
    ([, parentUuid]) => {
      const spawn = (id: string, prompt: string): Line => says(`s${id}`, `m${id}`, call(id, 'Task', { prompt }));
      const work = (prefix: string, prompt: string): Line[] => [
        asks(`${prefix}1`, prompt),
        says(`${prefix}2`, `${prefix}m1`, call(`${prefix}c`)),
        returns(`${prefix}3`, `${prefix}c`, 'listed'),
        says(`${prefix}4`, `${prefix}m2`, text('Done')),
      ];
      const aside = (line: Line): Line => ({ ...line, isSidechain: true });
      const lines = [
        ...[asks('p', 'Go'), spawn('t1', 'One'), ...work('x', 'One').map(aside), returns('r1', 't1', 'First')],
        ...[spawn('t2', 'Two'), ...work('y', 'Two').map(aside), returns('r2', 't2', 'Second')],
      ];
      const { subagents, diagnostics } = parse(lines.map((line) => ({ ...line, parentUuid })));
      expect(subagents.map(({ toolUseId, blocks }) => [toolUseId, ...shown({ blocks, subagents: [] })])).toEqual([
        ['t1', 'One', 'xc complete', 'listed', 'Done'],
        ['t2', 'Two', 'yc complete', 'listed', 'Done'],
      ]);
      expect(diagnostics.problems).toEqual([]);
    },
  );

  test('a rewind whose new prompt follows a command supersedes the old branch', () => {
    const lines = [
      ...chain(null, asks('p1', 'One'), says('a1', 'm1', text('A')), asks('p2', 'Two'), says('a2', 'm2', text('B'))),
      ...chain('a1', asks('n', '<command-name>/model</command-name>'), asks('p3', 'Three')),
    ];
    expect(shown(parse(lines))).toEqual(['One', 'A', '/model', 'Three']);
  });

  test('a prompt with a parent before the newest compaction is not a rewind', () => {
    const boundary = (uuid: string): Line => ({
      type: 'system',
      subtype: 'compact_boundary',
      uuid,
      sessionId: 's',
      timestamp: at(),
      content: 'Compacted',
    });
    const lines = [
      ...chain(null, asks('p1', 'One'), says('a1', 'm1', text('A'))),
      { ...boundary('b1'), parentUuid: null, logicalParentUuid: 'a1' },
      ...chain(
        'b1',
        asks('s1', 'In short.', { isCompactSummary: true }),
        asks('p2', 'Two'),
        says('a2', 'm2', text('B')),
      ),
      { ...boundary('b2'), parentUuid: null, logicalParentUuid: 'a2' },
      ...chain('b2', asks('s2', 'Shorter.', { isCompactSummary: true })),
      ...chain('a1', asks('p3', 'Three'), says('a3', 'm3', text('C'))),
    ];
    expect(shown(parse(lines))).toEqual(['One', 'A', 'In short.', 'Two', 'B', 'Shorter.', 'Three', 'C']);
    expect(codes(lines)).toEqual([]);
    expect(outlineOf(lines).filter((line) => line.startsWith('user'))).toHaveLength(3);
  });

  const common = chain(null, asks('p1', 'One'), says('a1', 'm1', text('A')));

  test('a prompt on a branch that looked dead revives it', () => {
    const lines = [
      ...common,
      ...chain('a1', asks('p2', 'Two'), says('a2', 'm2', text('B'))),
      ...chain('a1', asks('p3', 'Three'), says('a3', 'm3', text('C'))),
      ...chain('a2', asks('p4', 'Four'), says('a4', 'm4', text('D'))),
    ];
    expect(shown(parse(lines))).toEqual(['One', 'A', 'Two', 'B', 'Three', 'C', 'Four', 'D']);
    expect(outlineOf(lines)).toHaveLength(8);
    expect(codes(lines)).toEqual([]);
  });

  test.for(['prompts', 'responses'])('two processes that write to one file keep both branches: %s', (how) => {
    const one = chain(
      'a1',
      asks('x1', 'X1'),
      says('x2', 'mx1', call('cx')),
      returns('x3', 'cx', 'X3'),
      says('x4', 'mx2', text('X4')),
    );
    const two = chain('a1', asks('y1', 'Y1'), says('y2', 'my1', text('Y2')));
    const more = how === 'prompts' ? chain('x4', asks('x5', 'X5')) : [];
    const lines = [...common, ...one.slice(0, 2), two[0], one[2], two[1], one[3], ...more] as Line[];
    const texts = shown(parse(lines));
    for (const said of ['X1', 'X3', 'X4', 'Y1', 'Y2']) expect(texts).toContain(said);
    expect(outlineOf(lines).join()).toMatch(/X1.*X3.*Y2.*X4/);
    expect(codes(lines)).toEqual([]);
  });

  test('removing 200 rewound branches of a long session keeps all other lines', () => {
    const lines: Line[] = [];
    let parent: string | null = null;
    for (let turn = 0; turn < 1000; turn++) {
      const pair = chain(
        parent,
        asks(`p${turn}`, `Prompt ${turn}`),
        says(`a${turn}`, `m${turn}`, text(`Answer ${turn}`)),
      );
      lines.push(...pair);
      // Every fifth turn is rewound: the next prompt has the same parent.
      if (turn % 5 !== 0) parent = `a${turn}`;
    }
    const { blocks } = parse(lines);
    expect(blocks).toHaveLength(1600);
    expect(blocks.filter(({ content }) => content === 'Prompt 5' || content === 'Answer 995')).toEqual([]);
  });
});

describe('lines that are written twice', () => {
  const copiesOf = (lines: readonly Line[]): Line[] =>
    lines.map((line) => ({
      ...line,
      uuid: `${line.uuid}-copy`,
      parentUuid: line.parentUuid === null ? null : `${line.parentUuid}-copy`,
    }));

  test('copies under other ids, with the same time and response, are shown and sent once', () => {
    const first = chain(
      null,
      asks('p', 'Go'),
      says('a1', 'm', text('Let me see')),
      says('a2', 'm', call('c')),
      returns('r', 'c', 'out'),
      says('a3', 'm2', text('Done')),
    );
    const lines = [...first, ...copiesOf(first), ...chain('a3-copy', asks('p2', 'More'), says('a4', 'm3', text('Ok')))];
    expect(shown(parse(lines))).toEqual(['Go', 'Let me see', 'c complete', 'out', 'Done', 'More', 'Ok']);
    expect(outlineOf(lines)).toHaveLength(6);
    expect(codes(lines)).toEqual(['repeated-line 5']);
  });

  test('copies of attachments, notices and compactions are shown and sent once', () => {
    const line = (type: string, uuid: string, fields: Line): Line => ({ type, uuid, timestamp: at(), ...fields });
    const first = chain(
      null,
      asks('p', 'Go'),
      line('attachment', 'h', { attachment: { type: 'hook_success', hookName: 'Start', content: 'Use tabs' } }),
      says('a', 'm', text('A')),
      line('attachment', 'q', { attachment: { type: 'queued_command', prompt: 'Also this' } }),
      line('system', 'n', { subtype: 'informational', content: 'Notice' }),
      line('system', 'c', { subtype: 'compact_boundary', content: 'Compacted' }),
      asks('s', 'In short.', { isCompactSummary: true }),
      says('b', 'm2', text('B')),
    );
    const lines = [...first, ...copiesOf(first), ...chain('b-copy', asks('z', 'More'))];
    expect(shown(parse(lines))).toEqual(['Go', 'A', 'Also this', 'Notice', 'In short.', 'B', 'More']);
    expect(outlineOf(lines)).toEqual(outlineOf([...first, ...chain('b', asks('z', 'More'))]));
    expect(codes(lines)).toEqual(['repeated-line 8']);
  });

  test('attachments and notices of one time that differ are not copies', () => {
    const timestamp = at();
    const lines = ['One', 'Two'].flatMap((prompt) => [
      { type: 'attachment', uuid: `q${prompt}`, timestamp, attachment: { type: 'queued_command', prompt } },
      { type: 'system', subtype: 'informational', uuid: `n${prompt}`, timestamp, content: `Notice ${prompt}` },
    ]);
    expect(shown(parse(lines))).toEqual(['One', 'Notice One', 'Two', 'Notice Two']);
  });

  test('a prompt that follows the copy of an earlier line rewinds to that line', () => {
    const first = chain(
      null,
      asks('p', 'Go'),
      says('a', 'm', text('A')),
      asks('p2', 'Wrong'),
      says('b', 'm2', text('B')),
    );
    const lines = [...first, ...copiesOf(first), ...chain('a-copy', asks('p3', 'Right'))];
    expect(shown(parse(lines))).toEqual(['Go', 'A', 'Right']);
  });

  test('copies in the file of a subagent are shown once', () => {
    const main = textOfLines([says('x', 'm0', call('t', 'Task', { prompt: 'Go' }))]);
    const first = chain(null, asks('p', 'Go'), says('a', 'm', text('Found it')));
    const transcript = textOfLines([...first, ...copiesOf(first)]);
    const { subagents } = parse({ main, subagents: [{ id: 'a1', transcript, meta: { toolUseId: 't' } }] });
    expect(subagents.map(({ blocks }) => shown({ blocks, subagents: [] }))).toEqual([['Go', 'Found it']]);
  });

  test('lines of two responses with the same time and text are not copies', () => {
    const time = at();
    const lines = ['m1', 'm2'].map((id) => ({ ...says(id, id, text('Same')), timestamp: time }));
    expect(shown(parse(lines))).toEqual(['Same', 'Same']);
  });

  test('blocks of one response with the same time are not copies', () => {
    const time = at();
    const lines = ['A', 'B', 'C'].map((value) => ({ ...says(value, 'm', text(value)), timestamp: time }));
    expect(shown(parse(lines))).toEqual(['A', 'B', 'C']);
  });

  test('two whole records on one line are both read', () => {
    const records = [asks('p', 'Say "}{" to me'), says('a', 'm', text('}{')), asks('p2', 'Thanks')];
    const glued = records.map((line) => JSON.stringify(line)).join('');
    expect(shown(parse(`${glued}\n`))).toEqual(['Say "}{" to me', '}{', 'Thanks']);
    expect(codes(`${glued}\n`)).toEqual(['glued-line 1']);
    expect(outlineOf(`${glued}\n`)).toHaveLength(3);
  });

  test('a whole record before a torn one is read', () => {
    const [whole, torn] = [asks('p', 'Hi'), asks('q', 'Lost')].map((line) => JSON.stringify(line)) as [string, string];
    expect(shown(parse(`${whole}${torn.slice(0, 40)}\n${JSON.stringify(asks('z', 'End'))}\n`))).toEqual(['Hi', 'End']);
  });

  test.for([
    ['a whole', undefined],
    ['a torn', -40],
  ] as const)('a record after %s line of progress, on the same line, is read', ([, end]) => {
    const data = { type: 'hook_progress', hookName: 'Stop' };
    const progress = { parentUuid: 'p', sessionId: 's', type: 'progress', data, uuid: 'h', timestamp: at() };
    const after = { parentUuid: 'p', ...asks('q', 'On the same line') };
    const glued = `${JSON.stringify(progress).slice(0, end)}${JSON.stringify(after)}`;
    const lines = [
      JSON.stringify(asks('p', 'Go')),
      JSON.stringify(progress),
      glued,
      JSON.stringify(asks('z', 'End')),
    ].join('\n');
    expect(shown(parse(`${lines}\n`))).toEqual(['Go', 'On the same line', 'End']);
    expect(codes(`${lines}\n`)).toEqual(['glued-line 1']);
  });
});

test('an interrupted call keeps its place: the history says that its outcome is unknown', () => {
  const lines = [asks('p', 'Go'), says('a', 'm', call('c')), asks('i', '[Request interrupted by user for tool use]')];
  expect(outlineOf(lines)[2]).toBe(`tool: ${NO_RESULT}`);
  const { blocks, diagnostics } = parse(lines);
  expect(blocks.map(({ type }) => type)).toEqual(['user_message', 'tool_use', 'system']);
  expect(diagnostics).toMatchObject({ unknown: {}, problems: [] });
});

test('events and state agree: the events of a rewound session reduce to its state without removed blocks', () => {
  const lines = [
    ...chain(null, asks('p1', 'One'), says('a1', 'm1', text('A')), asks('p2', 'Two')),
    ...chain('a1', asks('p3', 'Three')),
  ];
  const { state } = parseTranscript('claude-sdk', textOfLines(lines));
  expect(shown(plain(state))).toEqual(['One', 'A', 'Three']);
});
