/** What a rollout says twice, as an item of the model's history and as an item of the screen, and what it says only once. */
import { describe, expect, test } from 'vitest';
import { callsOf } from '../../src/core/log/messages.ts';
import { parseTranscript, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import { messagesOf, outline, RolloutBuilder } from './codex-fixtures.ts';
import { type Line, plain } from './fixtures.ts';

const stateOf = (builder: RolloutBuilder): ReturnType<typeof plain> =>
  plain(parseTranscript('codex', builder.text).state);

describe('an item of the screen and the item of the history that it repeats', () => {
  const message = (id: string, text: string): Line => ({
    type: 'message',
    id,
    role: 'assistant',
    content: [{ type: 'output_text', text }],
  });
  const search = { type: 'search', query: 'rain' };

  test.for([
    [
      'AgentMessage',
      { type: 'AgentMessage', id: 'm1', content: [{ type: 'Text', text: 'Hi' }] },
      message('m1', 'Hi'),
      'assistant_text Hi',
    ],
    [
      'Reasoning',
      { type: 'Reasoning', id: 'r1', summary_text: ['Hm'], raw_content: [] },
      { type: 'reasoning', id: 'r1', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'x' },
      'thinking Hm',
    ],
    [
      'WebSearch',
      { type: 'WebSearch', id: 'w1', query: 'rain', action: search },
      { type: 'web_search_call', id: 'w1', status: 'completed', action: search },
      'tool_use web_search',
    ],
  ] as const)('are one block when they have one id, in either order: %s', ([, item, repeated, expected]) => {
    const before = new RolloutBuilder().prompt('Go').completed(item).item(repeated).says('Done');
    const after = new RolloutBuilder().prompt('Go').item(repeated).completed(item).says('Done');
    for (const builder of [before, after]) {
      expect(outline(stateOf(builder).blocks)).toEqual(['user_message Go', expected, 'assistant_text Done']);
    }
  });

  test('are two blocks when they have two ids, though their texts are equal', () => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .item(message('m1', 'Hi'))
      .prompt('Again')
      .item(message('m2', 'Hi'));
    expect(outline(stateOf(builder).blocks).filter((line) => line === 'assistant_text Hi')).toHaveLength(2);
  });

  test.for([
    [
      'CommandExecution',
      { name: 'exec_command', arguments: '{"cmd":"ls"}', type: 'function_call' },
      { command: ['bash', '-lc', 'ls'], status: 'completed', aggregated_output: 'out', exit_code: 0 },
    ],
    [
      'FileChange',
      { name: 'apply_patch', input: '*** Begin Patch', type: 'custom_tool_call' },
      { changes: { '/a.ts': { type: 'add', content: 'x' } }, status: 'completed', stdout: 'out', stderr: '' },
    ],
    [
      'McpToolCall',
      { name: 'echo', namespace: 'mcp__demo', arguments: '{}', type: 'function_call' },
      { server: 'demo', tool: 'echo', arguments: {}, status: 'completed', result: { content: [] } },
    ],
    [
      'ImageView',
      { name: 'view_image', arguments: '{"path":"a.png"}', type: 'function_call' },
      { path: 'file:///a.png' },
    ],
    [
      'CollabAgentToolCall',
      { name: 'wait_agent', arguments: '{}', type: 'function_call' },
      { tool: 'wait', status: 'completed' },
    ],
  ] as const)('%s has the id of its call: one call and one result', ([type, call, item]) => {
    const output = { type: `${call.type}_output`, call_id: 'c1', output: 'out' };
    const builder = new RolloutBuilder()
      .prompt('Go')
      .item({ ...call, id: 'x1', call_id: 'c1' })
      .completed({ type, id: 'c1', ...item })
      .item(output);
    const { blocks } = stateOf(builder);
    expect(blocks.map((block) => [block.type, block.toolUseId, block.status])).toEqual([
      ['user_message', undefined, 'complete'],
      ['tool_use', 'c1', 'complete'],
      ['tool_result', 'c1', 'complete'],
    ]);
    // The call stays as the model wrote it.
    const input = 'input' in call ? { input: call.input } : JSON.parse(call.arguments);
    expect(blocks[1]).toMatchObject({ toolName: expect.stringMatching(new RegExp(`${call.name}$`)), input });
    expect(messagesOf(builder)).toEqual(['user: Go', 'assistant:  [c1]', 'tool c1: out']);
  });

  test('of a search of which only one of them is left, it is shown', () => {
    const item = { type: 'WebSearch', id: 'w1', query: 'rain', action: search };
    const builder = new RolloutBuilder().prompt('Go').completed(item);
    expect(stateOf(builder).blocks.at(-1)).toMatchObject({ toolName: 'web_search', input: search, status: 'complete' });
  });
});

describe('items of the history', () => {
  test('a text of either phase is shown and sent', () => {
    const says = (phase: string): Line => ({
      type: 'message',
      id: phase,
      role: 'assistant',
      phase,
      content: [{ type: 'output_text', text: phase }],
    });
    const builder = new RolloutBuilder().prompt('Go').item(says('commentary')).calls('c1').returns('c1', 'out');
    builder.item(says('final_answer'));
    expect(outline(stateOf(builder).blocks).filter((line) => line.startsWith('assistant_text'))).toEqual([
      'assistant_text commentary',
      'assistant_text final_answer',
    ]);
    expect(messagesOf(builder)).toEqual([
      'user: Go',
      'assistant: commentary [c1]',
      expect.stringMatching(/^tool c1/),
      'assistant: final_answer',
    ]);
  });

  test('a message of the developer is shown as instructions, and not sent', () => {
    const content = [{ type: 'input_text', text: 'Use tabs.' }];
    const builder = new RolloutBuilder().item({ type: 'message', id: 'd1', role: 'developer', content }).prompt('Go');
    expect(stateOf(builder).blocks[0]).toMatchObject({
      type: 'system',
      subtype: 'instructions',
      content: 'Use tabs.',
      machinery: true,
    });
    expect(messagesOf(builder)).toEqual(['user: Go']);
  });

  test.for([
    [
      'its summary',
      { summary: [{ text: 'One' }, { text: 'Two' }], content: [{ text: 'Long' }] },
      ['thinking One\nTwo'],
    ],
    [
      'its content, without a summary',
      { summary: [], content: [{ type: 'reasoning_text', text: 'Long' }] },
      ['thinking Long'],
    ],
    ['nothing, when it is encrypted', { summary: [], content: null, encrypted_content: 'gAAAA' }, []],
  ] as const)('reasoning is shown with %s, and never sent', ([, fields, expected]) => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .item({ type: 'reasoning', id: 'r1', ...fields })
      .says('Done');
    expect(outline(stateOf(builder).blocks).slice(1, -1)).toEqual(expected);
    expect(messagesOf(builder)).toEqual(['user: Go', 'assistant: Done']);
  });

  test.for([
    ['{"cmd":"ls"}', { input: { cmd: 'ls' } }],
    ['{"cmd":"l', { inputText: '{"cmd":"l' }],
  ] as const)('the arguments of a call are the text %j', ([written, expected]) => {
    const call = { type: 'function_call', name: 'exec_command', arguments: written, call_id: 'c1' };
    const builder = new RolloutBuilder().prompt('Go').item(call).returns('c1', 'out');
    expect(stateOf(builder).blocks[1]).toMatchObject({ type: 'tool_use', ...expected });
  });

  test.for([
    ['a text', 'out'],
    ['parts', [{ type: 'input_text', text: 'out' }]],
  ] as const)('an output is %s', ([, output]) => {
    const builder = new RolloutBuilder().prompt('Go').calls('c1', 'wait').returns('c1', output);
    expect(stateOf(builder).blocks.at(-1)).toMatchObject({ type: 'tool_result', output: 'out' });
    expect(messagesOf(builder).at(-1)).toBe('tool c1: out');
  });

  test('the calls of a response are one message, and their results follow in the order of the calls', () => {
    const builder = new RolloutBuilder().prompt('Go').calls('c1', 'wait').calls('c2', 'wait').calls('c3', 'wait');
    for (const id of ['c1', 'c2', 'c3']) builder.returns(id, `result of ${id}`);
    builder.says('Done');
    expect(messagesOf(builder)).toEqual([
      'user: Go',
      'assistant:  [c1] [c2] [c3]',
      'tool c1: result of c1',
      'tool c2: result of c2',
      'tool c3: result of c3',
      'assistant: Done',
    ]);
    expect(stateOf(builder).blocks.map(({ type, toolUseId }) => (toolUseId ? `${type} ${toolUseId}` : type))).toEqual([
      'user_message',
      ...['c1', 'c2', 'c3'].map((id) => `tool_use ${id}`),
      ...['c1', 'c2', 'c3'].map((id) => `tool_result ${id}`),
      'assistant_text',
    ]);
  });

  test('a call of an MCP tool whose result is an error has failed', () => {
    const result = { content: [{ type: 'text', text: 'nothing to do' }], isError: true };
    const item = { type: 'McpToolCall', id: 'c1', server: 'demo', tool: 'fail', status: 'completed', result };
    const builder = new RolloutBuilder()
      .prompt('Go')
      .calls('c1', 'fail', {}, { namespace: 'mcp__demo' })
      .completed(item);
    builder.returns('c1', 'nothing to do');
    expect(outline(stateOf(builder).blocks).slice(1)).toEqual([
      'tool_use! mcp__demo__fail',
      'tool_result! nothing to do',
    ]);
    expect(messagesOf(builder).at(-1)).toBe('tool c1!: nothing to do');
  });

  test('the result of a command is what the model got, though its item was cut on disk', () => {
    const whole = 'x'.repeat(70_000);
    const item = {
      type: 'CommandExecution',
      id: 'c1',
      status: 'completed',
      aggregated_output: whole.slice(0, 65_536),
      exit_code: 0,
    };
    const builder = new RolloutBuilder().prompt('Go').calls('c1').completed(item).returns('c1', whole);
    expect(stateOf(builder).blocks.at(-1)).toMatchObject({ type: 'tool_result', output: whole });
    expect(messagesOf(builder).at(-1)).toBe(`tool c1: ${whole}`);
  });
});

test.for([
  ['the tools of a turn', (builder: RolloutBuilder) => builder.item({ type: 'additional_tools', id: 'a1', tools: [] })],
  ['the state of the world', (builder: RolloutBuilder) => builder.line('world_state', { full: true, state: {} })],
  ['the context of a turn', (builder: RolloutBuilder) => builder.line('turn_context', { model: 'gpt-5.5' })],
  [
    'notes on messages between agents',
    (builder: RolloutBuilder) => builder.line('inter_agent_communication_metadata', { author: '/root' }),
  ],
  ['the use of tokens', (builder: RolloutBuilder) => builder.usage('r1').event({ type: 'token_count', info: null })],
  [
    'the start and the end of a turn',
    (builder: RolloutBuilder) => builder.event({ type: 'task_started' }).event({ type: 'task_complete' }),
  ],
] as const)('%s: the line is counted and not shown', ([, add]) => {
  const builder = add(new RolloutBuilder());
  const { state, diagnostics } = parseTranscript('codex', builder.text);
  expect(plain(state).blocks).toEqual([]);
  expect(diagnostics).toMatchObject({ unknown: {}, problems: [] });
  expect(Object.values(diagnostics.counts).reduce((sum, count) => sum + count)).toBe(builder.lines.length);
  expect(transcriptToMessages('codex', builder.text).flatMap(callsOf)).toEqual([]);
});
