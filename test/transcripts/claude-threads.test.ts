/** Subagents of Claude Code whose call, link or end is not where it should be. */
import { describe, expect, test } from 'vitest';
import { asks, call, returns, says, text } from './claude-builders.ts';
import { parse } from './claude-lines.ts';
import { type Line, textOfLines } from './fixtures.ts';

const spawn = (id: string): Line => says(`call-${id}`, `m-${id}`, call(id, 'Task', { prompt: 'Work' }));
const launched = (id: string, agentId: string): Line =>
  returns(`launched-${id}`, id, 'launched', { toolUseResult: { isAsync: true, status: 'async_launched', agentId } });
const thread = (id: string, more: Line = {}): Line => ({
  id: `agent-${id}`,
  transcript: textOfLines([asks(`${id}-p`, 'Work'), says(`${id}-a`, `${id}-m`, text('Working'))]),
  ...more,
});
const session = (main: readonly Line[], ...subagents: readonly Line[]): ReturnType<typeof parse> =>
  parse({ main: textOfLines(main), subagents } as never);

describe('subagents in the background', () => {
  const collect = (task: Line): readonly Line[] => [
    says('a', 'm', call('c', 'TaskOutput', { task_id: 'x1' })),
    returns('r', 'c', 'collected', { toolUseResult: { retrieval_status: 'success', task } }),
  ];

  test.for([
    [
      { status: 'completed', output: 'All done' },
      { status: 'success', output: 'All done' },
    ],
    [
      { status: 'completed', output: 'log', result: 'The answer' },
      { status: 'success', output: 'The answer' },
    ],
    [
      { status: 'failed', output: 'Oops' },
      { status: 'error', output: 'Oops' },
    ],
    [{ status: 'running', output: '' }, { status: 'running' }],
  ])('one that is collected as %j ends as %j', ([task, expected]) => {
    const lines = [spawn('t'), launched('t', 'x1'), ...collect({ task_id: 'x1', task_type: 'local_agent', ...task })];
    const { blocks, subagents } = session(lines, thread('x1'));
    expect(subagents).toMatchObject([{ toolUseId: 't', agentId: 'x1', ...expected }]);
    expect(blocks.map(({ type }) => type)).toEqual(['subagent', 'tool_use', 'tool_result']);
  });

  test('a collected command of a shell is no subagent', () => {
    const { subagents } = session(collect({ task_id: 'b1', task_type: 'local_bash', status: 'completed', output: '' }));
    expect(subagents).toEqual([]);
  });
});

describe('threads that are not subagents', () => {
  test.for(['aprompt_suggestion-1', 'aside_question-2', 'acompact-3'])('agent-%s', (id) => {
    expect(session([asks('p', 'Go')], thread(id)).subagents).toEqual([]);
  });

  test.for(['aprompt_suggestion-1', 'aside_question-2'])('%s between the lines of the session', (agentId) => {
    const side = { isSidechain: true, agentId };
    const { blocks, subagents, diagnostics } = session([
      asks('p', 'Go'),
      asks('w', 'Suggest', side),
      says('v', 'n', text('Run the tests'), side),
    ]);
    expect(subagents).toEqual([]);
    expect(blocks).toHaveLength(1);
    expect(diagnostics.problems).toEqual([]);
  });

  test.for([
    [
      'in a file',
      session([asks('p', 'Go')], {
        id: 'w1',
        transcript: textOfLines([asks('w', 'Warmup'), says('v', 'n', text('Ready'))]),
      }),
    ],
    [
      'between the lines of the session',
      session([
        asks('p', 'Go'),
        asks('w', 'Warmup', { isSidechain: true, agentId: 'w1' }),
        says('v', 'n', text('Ready'), { isSidechain: true, agentId: 'w1' }),
      ]),
    ],
  ] as const)('a warm-up %s', ([, { subagents, blocks, diagnostics }]) => {
    expect(subagents).toEqual([]);
    expect(blocks).toHaveLength(1);
    expect(diagnostics.problems).toEqual([]);
  });
});

describe('threads are linked to their call', () => {
  test('by the id in the text of the result', () => {
    const result = returns('r', 't', [text('Done'), text('agentId: x1 (to continue this agent)')]);
    const { subagents, diagnostics } = session([spawn('t'), result], thread('x1'));
    expect(subagents).toMatchObject([{ toolUseId: 't', agentId: 'x1', status: 'success', blocks: [{}, {}] }]);
    expect(diagnostics.problems).toEqual([]);
  });

  test('only by the id of an agent that has a thread: the text may contain anything', () => {
    const { subagents } = session([spawn('t'), returns('r', 't', 'agentId: invented')], thread('x1'));
    const called = subagents.find(({ toolUseId }) => toolUseId === 't');
    expect(called).toMatchObject({ status: 'success' });
    expect(called).not.toHaveProperty('agentId');
  });

  test('by the task of a notification', () => {
    const notification =
      '<task-notification><task-id>x1</task-id><status>completed</status><result>Ok</result></task-notification>';
    const { subagents, diagnostics } = session([asks('p', 'Go'), asks('n', notification)], thread('x1'));
    expect(subagents).toMatchObject([{ agentId: 'x1', status: 'success', output: 'Ok', blocks: [{}, {}] }]);
    expect(diagnostics.problems).toEqual([]);
  });

  test('by the call and the task of a notification', () => {
    const notification = `<task-notification><task-id>x1</task-id><tool-use-id>t</tool-use-id><status>completed</status></task-notification>`;
    const { subagents } = session([spawn('t'), asks('n', notification)], thread('x1'));
    expect(subagents).toMatchObject([{ toolUseId: 't', agentId: 'x1', status: 'success', blocks: [{}, {}] }]);
  });

  test('by the run of a workflow: each of its agents ends with it', () => {
    const lines = [
      says('a', 'm', call('w', 'Workflow', { name: 'review' })),
      returns('r', 'w', 'ran', { toolUseResult: { runId: 'wf_1', status: 'completed' } }),
    ];
    const { blocks, subagents, diagnostics } = session(
      lines,
      thread('x1', { runId: 'wf_1' }),
      thread('x2', { runId: 'wf_1' }),
    );
    expect(subagents.map(({ agentId, status }) => [agentId, status])).toEqual([
      ['x1', 'success'],
      ['x2', 'success'],
    ]);
    expect(blocks.map(({ type }) => type)).toEqual(['tool_use', 'tool_result', 'subagent', 'subagent']);
    expect(diagnostics.problems).toEqual([]);
  });
});

test('a thread that nothing links and nothing ends is interrupted, and reported', () => {
  const { blocks, subagents, diagnostics } = session([asks('p', 'Go')], thread('x1'));
  expect(subagents).toMatchObject([{ agentId: 'x1', status: 'error' }]);
  expect(blocks).toMatchObject([{ type: 'user_message' }, { type: 'subagent', status: 'error' }]);
  expect(diagnostics.problems).toEqual([{ code: 'unlinked-subagent', count: 1, where: ['x1'] }]);
});
