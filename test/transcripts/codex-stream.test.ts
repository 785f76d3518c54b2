import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { usageTotals } from '../../src/conversation/selectors.ts';
import { codexStreamConverter } from '../../src/conversation.ts';
import { splitWords } from '../../src/transcripts/codex/items/items.ts';
import { outline } from './codex-fixtures.ts';
import { fixture, type Line, type PlainState, plain, stateOf } from './fixtures.ts';

const THREAD: Line = { type: 'thread.started', thread_id: 't1' };
const TURN: Line = { type: 'turn.started' };
const item = (when: string, fields: Line): Line => ({ type: `item.${when}`, item: fields });
const text = (id: string, content: string): Line => item('completed', { id, type: 'agent_message', text: content });
const done = (input: number, output: number): Line => ({
  type: 'turn.completed',
  usage: { input_tokens: input, output_tokens: output },
});

function convert(...messages: readonly unknown[]): {
  readonly state: PlainState;
  readonly events: ConversationEvent[];
} {
  const converter = codexStreamConverter({ now: () => '2030-01-01T00:00:00.000Z' });
  const events = [...messages.flatMap((message) => converter.push(message)), ...converter.end()];
  return { state: plain(stateOf(events)), events };
}

describe('codex exec --json', () => {
  test('ids that restart with each process are different blocks', () => {
    const { state } = convert(
      THREAD,
      TURN,
      text('item_0', 'First'),
      done(10, 1),
      THREAD,
      TURN,
      text('item_0', 'Second'),
      done(30, 3),
    );
    expect(state.blocks.map(({ content }) => content)).toEqual(['First', 'Second']);
  });

  test('usage is the thread’s total: each turn counts what it added, and a total that fell starts again', () => {
    const totals = (...messages: readonly Line[]): unknown => usageTotals(stateOf(convert(...messages).events)).usage;
    const run = (n: number, input: number): Line[] => [THREAD, TURN, text(`item_${n}`, 'x'), done(input, 1)];
    expect(totals(...run(0, 10), ...run(0, 30))).toMatchObject({ inputTokens: 30 });
    expect(totals(...run(0, 10), ...run(0, 4))).toMatchObject({ inputTokens: 14 });
    const other = { type: 'thread.started', thread_id: 't2' };
    expect(totals(...run(0, 10), other, TURN, text('item_0', 'y'), done(25, 1))).toMatchObject({ inputTokens: 35 });
  });

  test('a search whose item has two ids is one call, of either id', () => {
    const search = '"type":"web_search","id":"ws_1","query":"rain","action":{"type":"search","query":"rain"}';
    const lines = ['started', 'completed'].map((when) =>
      JSON.parse(`{"type":"item.${when}","item":{"id":"item_0",${search}}}`),
    );
    expect(convert(THREAD, TURN, ...lines).state.blocks).toMatchObject([
      { id: 'ws_1', toolName: 'web_search', status: 'complete', input: { type: 'search', query: 'rain' } },
    ]);
    expect(fixture('codex-0.166.0/tools/stream.jsonl')).toMatch(/"id":"item_\d+","type":"web_search","id":"ws_/);
  });

  test.for([
    [{ type: 'agent_message', text: 'Hi' }, ['assistant_text Hi']],
    [{ type: 'reasoning', text: 'Hm' }, ['thinking Hm']],
    [
      { type: 'command_execution', command: 'ls', aggregated_output: 'a.ts', exit_code: 1, status: 'failed' },
      ['tool_use! exec_command', 'tool_result! a.ts'],
    ],
    [
      { type: 'file_change', changes: [{ path: '/a.ts', kind: 'add' }], status: 'completed' },
      ['tool_use apply_patch', 'tool_result '],
    ],
    [
      {
        type: 'mcp_tool_call',
        server: 'demo',
        tool: 'echo',
        result: { content: [{ type: 'text', text: 'hi' }] },
        status: 'completed',
      },
      ['tool_use mcp__demo__echo', 'tool_result hi'],
    ],
    [
      { type: 'collab_tool_call', tool: 'wait', agents_states: {}, status: 'completed' },
      ['tool_use wait_agent', 'tool_result '],
    ],
    [{ type: 'web_search', query: 'rain' }, ['tool_use web_search']],
    [{ type: 'todo_list', items: [] }, ['tool_use update_plan', 'tool_result Plan updated']],
    [{ type: 'error', message: 'Careful' }, ['error! Careful']],
  ] as const)('an item of each type becomes blocks: %j', ([fields, expected]) => {
    const { state } = convert(THREAD, TURN, item('completed', { id: 'item_0', ...fields }), done(1, 1));
    expect(outline(state.blocks)).toEqual(expected);
  });

  test('a command without an end is an error when its process is replaced, and when the stream ends', () => {
    const started = item('started', {
      id: 'item_0',
      type: 'command_execution',
      command: 'sleep 9',
      status: 'in_progress',
    });
    expect(convert(THREAD, TURN, started).state.blocks).toMatchObject([{ status: 'error' }]);
    const { state } = convert(THREAD, TURN, started, THREAD, TURN, text('item_0', 'Back'), done(1, 1));
    expect(state.blocks.map(({ status }) => status)).toEqual(['error', 'complete']);
  });

  test('a retry is a notice, a failed turn is an error', () => {
    const { state, events } = convert(
      THREAD,
      TURN,
      { type: 'error', message: 'Reconnecting… 1/5' },
      {
        type: 'turn.failed',
        error: { message: 'quota' },
      },
    );
    expect(state.blocks.map(({ type, subtype, content, status }) => [type, subtype, content, status])).toEqual([
      ['system', 'retry', 'Reconnecting… 1/5', 'complete'],
      ['error', undefined, 'quota', 'error'],
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'session:idle', reason: 'failed' });
  });

  test('each state of a plan is a call of update_plan, a repeated one is none', () => {
    const plan = (when: string, completed: boolean): Line =>
      item(when, { id: 'item_0', type: 'todo_list', items: [{ text: 'Write', completed }] });
    const { state } = convert(THREAD, TURN, plan('started', false), plan('updated', true), plan('completed', true));
    expect(state.blocks.flatMap(({ toolName, input }) => (toolName ? [input] : []))).toEqual([
      { plan: [{ step: 'Write', status: 'pending' }] },
      { plan: [{ step: 'Write', status: 'completed' }] },
    ]);
  });

  test('a subagent that runs when the process ends has failed', () => {
    const spawn = item('completed', {
      id: 'item_0',
      type: 'collab_tool_call',
      tool: 'spawn_agent',
      receiver_thread_ids: ['a'],
      prompt: 'Work',
      status: 'completed',
    });
    expect(convert(THREAD, TURN, spawn, done(1, 1)).state.subagents).toMatchObject([
      { agentId: 'a', status: 'error', prompt: 'Work' },
    ]);
  });

  test('the default reason of end is that of the newest turn, and push may follow end', () => {
    const converter = codexStreamConverter();
    for (const message of [THREAD, TURN, text('item_0', 'Hi')]) converter.push(message);
    expect(converter.end()).toMatchObject([{ type: 'session:idle', reason: 'interrupted' }]);
    for (const message of [THREAD, TURN, text('item_0', 'Hi')]) converter.push(message);
    converter.push(done(1, 1));
    expect(converter.end()).toMatchObject([{ type: 'session:idle', reason: 'completed' }]);
  });

  test('messages and items of unknown types are kept and counted', () => {
    const converter = codexStreamConverter();
    const events = [
      { type: 'thread.renamed' },
      item('completed', { id: 'item_0', type: 'hologram' }),
      'text',
      null,
      3,
    ].flatMap((message) => converter.push(message));
    expect(plain(stateOf(events)).blocks.map(({ sourceType }) => sourceType)).toEqual([
      'thread.renamed',
      'item/hologram',
    ]);
    expect(converter.diagnostics.unknown).toEqual({ 'thread.renamed': 1, 'item/hologram': 1 });
    expect(converter.diagnostics.problems).toEqual([{ code: 'malformed-line', count: 3, where: [] }]);
  });
});

describe('the command in a stream', () => {
  test.for([
    ["/bin/bash -lc 'wc -c a'", ['/bin/bash', '-lc', 'wc -c a']],
    [`sh -c "echo \\"it's\\" \\$HOME"`, ['sh', '-c', `echo "it's" $HOME`]],
    ["a\\ b  'c'\"d\"e ''", ['a b', 'cde', '']],
    ['', []],
  ] as const)('%j is split as a shell does', ([line, words]) => expect(splitWords(line)).toEqual(words));

  test.for(["'open", '"open', '"open\\"'])('%j does not end', (line) => expect(splitWords(line)).toBeUndefined());

  test('a command that is no shell script is shown whole', () => {
    const command = (line: string): unknown =>
      convert(item('started', { id: 'item_0', type: 'command_execution', command: line })).state.blocks[0]?.input;
    expect(command("bash -lc 'ls -l'")).toEqual({ cmd: 'ls -l' });
    expect(command('git status --short')).toEqual({ cmd: 'git status --short' });
    expect(command("echo 'never ends")).toEqual({ cmd: "echo 'never ends" });
  });
});
