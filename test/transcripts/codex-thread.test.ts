/** What rollouts hold that the captures do not show, one rule per test. */
import { describe, expect, test } from 'vitest';
import { usageTotals } from '../../src/conversation/selectors.ts';
import { callsOf } from '../../src/core/log/messages.ts';
import { NO_RESULT } from '../../src/formats/placeholders.ts';
import { parseTranscript, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import { MAIN_THREAD, messagesOf, outline, RolloutBuilder } from './codex-fixtures.ts';
import { type Line, plain, textOfLines } from './fixtures.ts';

const stateOf = (builder: RolloutBuilder): ReturnType<typeof plain> =>
  plain(parseTranscript('codex', builder.text).state);
const problems = (builder: RolloutBuilder): readonly string[] =>
  parseTranscript('codex', builder.text).diagnostics.problems.map(({ code }) => code);

const FRAME = 'Chunk ID: 1\nWall time: 1 seconds\n';

describe('calls and results', () => {
  test('a finished call whose output line is missing takes its result from its item', () => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .calls('c1')
      .completed({ type: 'CommandExecution', id: 'c1', status: 'completed', aggregated_output: 'done\n', exit_code: 0 })
      .event({ type: 'task_started', turn_id: 't2' })
      .prompt('And now?');
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Go',
      'tool_use exec_command',
      'tool_result done\n',
      'user_message And now?',
    ]);
    expect(messagesOf(builder)).toEqual(['user: Go', 'assistant:  [c1]', 'tool c1: done\n', 'user: And now?']);
  });

  test('a call without any output ends as an error, and its message gets a placeholder', () => {
    const builder = new RolloutBuilder().prompt('Go').calls('c1').event({ type: 'task_started' }).prompt('And now?');
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Go',
      'tool_use! exec_command',
      'user_message And now?',
    ]);
    expect(messagesOf(builder)).toEqual(['user: Go', 'assistant:  [c1]', `tool c1!: ${NO_RESULT}`, 'user: And now?']);
  });

  test('a yielded command is one call: its item, which comes later, brings the whole output', () => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .calls('c1')
      .returns('c1', `${FRAME}Process running with session ID 7\nOutput:\npartial`)
      .calls('c2', 'write_stdin', { session_id: 7 })
      .completed({
        type: 'CommandExecution',
        id: 'c1',
        status: 'failed',
        aggregated_output: 'partial and end',
        exit_code: 2,
      })
      .returns('c2', `${FRAME}Process exited with code 2\nOutput:\nand end`);
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Go',
      'tool_use! exec_command',
      'tool_result! partial and end',
      'tool_use! write_stdin',
      `tool_result! ${FRAME}Process exited with code 2\nOutput:\nand end`,
    ]);
    expect(messagesOf(builder)[2]).toBe(`tool c1: ${FRAME}Process running with session ID 7\nOutput:\npartial`);
  });

  test.for([
    ['mcp__demo', 'mcp__demo__exec_command'],
    ['functions', 'exec_command'],
    [undefined, 'exec_command'],
  ])('a call of the namespace %s has the name %s', ([namespace, name]) => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .calls('c1', 'exec_command', {}, { namespace })
      .returns('c1', 'ok');
    expect(outline(stateOf(builder).blocks)[1]).toMatch(new RegExp(`^tool_use!? ${name}$`));
    const messages = transcriptToMessages('codex', builder.text);
    expect(messages.flatMap(callsOf).map((call) => call.name)).toEqual([name]);
  });

  test.for([
    ['failed', undefined],
    ['completed', 3],
  ])('a command whose item is %s with the exit code %s has failed', ([status, code]) => {
    const item = { type: 'CommandExecution', id: 'c1', status, aggregated_output: 'no', exit_code: code };
    const builder = new RolloutBuilder().prompt('Go').calls('c1').completed(item).returns('c1', 'no');
    expect(outline(stateOf(builder).blocks).slice(1)).toEqual(['tool_use! exec_command', 'tool_result! no']);
    expect(messagesOf(builder).at(-1)).toBe('tool c1!: no');
  });

  test('a script is a call with its text, and the calls that it makes are shown between it and its output', () => {
    const script = "const out = await tools.exec_command({ cmd: 'ls' });";
    const builder = new RolloutBuilder()
      .prompt('Go')
      .item({ type: 'custom_tool_call', id: 'ctc_1', name: 'exec', input: script, call_id: 'c1' })
      .completed({
        type: 'CommandExecution',
        id: 'exec-0001',
        command: ['bash', '-lc', 'ls'],
        status: 'failed',
        aggregated_output: 'a.ts',
        exit_code: 1,
      })
      .returns('c1', 'Script completed', 'custom_tool_call_output');
    const { blocks } = stateOf(builder);
    expect(outline(blocks)).toEqual([
      'user_message Go',
      'tool_use exec',
      'tool_use! exec_command',
      'tool_result! a.ts',
      'tool_result Script completed',
    ]);
    expect(blocks[1]).toMatchObject({ input: { input: script } });
    const [call, ...others] = transcriptToMessages('codex', builder.text).flatMap(callsOf);
    expect([JSON.parse(call?.arguments ?? ''), others]).toEqual([{ input: script }, []]);
  });

  test('a second output of a call is added to the first', () => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .item({ type: 'custom_tool_call', call_id: 'c1', name: 'exec', input: 'notify("half")' })
      .returns('c1', [{ type: 'input_text', text: 'half' }], 'custom_tool_call_output')
      .returns('c1', [{ type: 'input_text', text: 'whole' }], 'custom_tool_call_output')
      .says('Done');
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Go',
      'tool_use exec',
      'tool_result half\nwhole',
      'assistant_text Done',
    ]);
    expect(messagesOf(builder)).toEqual(['user: Go', 'assistant:  [c1]', 'tool c1: halfwhole', 'assistant: Done']);
  });

  test('a prompt that was typed while a call ran follows its result', () => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .calls('c1')
      .prompt('Also this')
      .returns('c1', `${FRAME}Process exited with code 0\nOutput:\nx`);
    expect(messagesOf(builder)).toEqual([
      'user: Go',
      'assistant:  [c1]',
      `tool c1: ${FRAME}Process exited with code 0\nOutput:\nx`,
      'user: Also this',
    ]);
  });

  test.for([
    ['exec_command', 'bad arguments, as text only', true],
    ['mcp__demo__echo', 'unsupported call', true],
    ['update_plan', 'Plan updated', false],
    ['update_plan', 'failed to parse function arguments: x', true],
    ['write_stdin', `${FRAME}Process exited with code 0\nOutput:\nExit code: 3`, false],
    ['exec_command', 'aborted by user after 3s', true],
    ['exec_command', `${FRAME}Process running with session ID 7\nOutput:\n`, false],
  ] as const)('a call of %s without an item that returned %j failed: %s', ([name, output, isError]) => {
    const builder = new RolloutBuilder().prompt('Go').calls('c1', name).returns('c1', output);
    expect(stateOf(builder).blocks.at(-1)).toMatchObject({ type: 'tool_result', isError });
    const results = transcriptToMessages('codex', builder.text).filter(({ role }) => role === 'tool');
    expect(results).toMatchObject([{ isError }]);
  });

  test('an empty output is sent as no content, an empty failure says that it failed', () => {
    const item = { type: 'CommandExecution', id: 'c2', status: 'failed', exit_code: 1, aggregated_output: '' };
    const builder = new RolloutBuilder()
      .prompt('Go')
      .calls('c1', 'wait')
      .returns('c1', '')
      .calls('c2')
      .completed(item)
      .returns('c2', '');
    expect(messagesOf(builder).filter((line) => line.startsWith('tool'))).toEqual([
      'tool c1: ',
      'tool c2!: The tool failed.',
    ]);
  });

  test('a refused request is an error of its turn', () => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .event({ type: 'task_complete', turn_id: 't', error: { message: 'quota' } });
    expect(outline(stateOf(builder).blocks)).toEqual(['user_message Go', 'error! quota']);
  });

  test('the usage of a response may follow its results, but not the next prompt', () => {
    const usage = (builder: RolloutBuilder): unknown => usageTotals(parseTranscript('codex', builder.text).state).usage;
    const called = (): RolloutBuilder => new RolloutBuilder().prompt('Go').calls('c1').returns('c1', 'ok');
    expect(usage(called().usage('r1'))).toEqual({ inputTokens: 100, outputTokens: 10 });
    expect(usage(called().prompt('More').usage('r1'))).toEqual({ inputTokens: 0, outputTokens: 0 });
  });

  test('the usage of a response is counted once, however often its record is repeated', () => {
    const builder = new RolloutBuilder().prompt('Go').says('One').usage('r1').usage('r1').prompt('More');
    builder.says('Two').usage('r2', 7, 3).prompt('Again').says('Three').usage('r1');
    const { usage, messages } = usageTotals(parseTranscript('codex', builder.text).state);
    expect(usage).toEqual({ inputTokens: 107, outputTokens: 13 });
    expect(messages).toBe(2);
  });
});

describe('texts', () => {
  test('an assistant’s item whose history line is missing is shown', () => {
    const builder = new RolloutBuilder()
      .prompt('Go')
      .completed({ type: 'AgentMessage', id: 'm1', content: [{ type: 'Text', text: 'Half' }] });
    expect(outline(stateOf(builder).blocks)).toEqual(['user_message Go', 'assistant_text Half']);
    expect(messagesOf(builder)).toEqual(['user: Go']); // Codex never sends it again
    builder.completed({ type: 'Reasoning', id: 'r1', summary_text: ['One', 'Two'], raw_content: [] });
    expect(outline(stateOf(builder).blocks).at(-1)).toBe('thinking One\nTwo');
  });

  test('the item after a prompt is the same prompt, though its text differs', () => {
    const item = (text: string): Line => ({ type: 'UserMessage', id: 'u', content: [{ type: 'text', text }] });
    const builder = new RolloutBuilder().prompt('Go [expanded by Codex]').completed(item('Go $skill')).says('Hi');
    expect(messagesOf(builder)).toEqual(['user: Go [expanded by Codex]', 'assistant: Hi']);
    expect(outline(stateOf(builder).blocks)).toEqual(['user_message Go [expanded by Codex]', 'assistant_text Hi']);
    expect(outline(stateOf(builder.completed(item('Its message was lost'))).blocks)).toHaveLength(3);
  });

  test('a person’s images are attachments, without the tags around them', () => {
    const builder = new RolloutBuilder().item({
      type: 'message',
      id: 'm1',
      role: 'user',
      content: [
        { type: 'input_text', text: '<image name=[Image #1]>' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
        { type: 'input_text', text: '</image>' },
        { type: 'input_text', text: 'What is this?' },
      ],
      internal_chat_message_metadata_passthrough: {
        content_item_kinds: ['user.image_tag', 'user.image', 'user.image_tag', 'user.text'],
      },
    });
    expect(stateOf(builder).blocks).toMatchObject([
      { type: 'user_message', content: 'What is this?', attachments: [{ mediaType: 'image/png', data: 'AAAA' }] },
    ]);
    expect(transcriptToMessages('codex', builder.text)[0]?.content).toMatchObject([
      { type: 'image', data: 'AAAA' },
      { type: 'text', text: 'What is this?' },
    ]);
  });

  test('an interruption is shown and sent, instructions are neither prompts nor sent', () => {
    const says = (kind: string, text: string): Line => ({
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text }],
      internal_chat_message_metadata_passthrough: { content_item_kinds: [kind] },
    });
    const builder = new RolloutBuilder()
      .item(says('agents_md.instructions', '# AGENTS.md instructions'))
      .prompt('Go')
      .calls('c1')
      .returns('c1', 'aborted by user after 1s')
      .item(says('turn.turn_aborted', '<turn_aborted>\nstopped\n</turn_aborted>'))
      .event({ type: 'turn_aborted', reason: 'interrupted' });
    expect(outline(stateOf(builder).blocks)).toEqual([
      'system instructions # AGENTS.md instructions',
      'user_message Go',
      'tool_use! exec_command',
      'tool_result! aborted by user after 1s',
      'system turn_aborted <turn_aborted>\nstopped\n</turn_aborted>',
    ]);
    expect(stateOf(builder).blocks[0]).toMatchObject({ machinery: true });
    expect(messagesOf(builder)).toEqual([
      'user: Go',
      'assistant:  [c1]',
      'tool c1!: aborted by user after 1s',
      'user: <turn_aborted>\nstopped\n</turn_aborted>',
    ]);
  });

  test('a compaction without a replacement history continues with the prompts and the summary', () => {
    const builder = new RolloutBuilder({ legacy: true });
    for (const text of ['One', 'Two']) builder.prompt(text).says(`Answer to ${text}`);
    builder.line('compacted', { message: 'The summary' }).prompt('Three').says('Answer to Three');
    expect(messagesOf(builder, 'compaction')).toEqual([
      'user: One',
      'user: Two',
      'user: The summary',
      'user: Three',
      'assistant: Answer to Three',
    ]);
    expect(outline(stateOf(builder).blocks)).toContain('compaction The summary');
    expect(messagesOf(builder)).toHaveLength(6);
  });
});

describe('unknown and damaged lines', () => {
  test('lines, items and events of unknown types are kept', () => {
    const builder = new RolloutBuilder()
      .line('brand_new', { a: 1 })
      .item({ type: 'hologram', id: 'h1' })
      .event({ type: 'sneezed' })
      .completed({ type: 'Dance', id: 'd1' });
    const { state, diagnostics } = parseTranscript('codex', builder.text);
    expect(plain(state).blocks.map(({ type, sourceType }) => [type, sourceType])).toEqual([
      ['unknown', 'brand_new'],
      ['unknown', 'response_item/hologram'],
      ['unknown', 'event_msg/sneezed'],
      ['unknown', 'item/Dance'],
    ]);
    expect(Object.keys(diagnostics.unknown)).toHaveLength(4);
  });

  test('a rollout of a newer layout is read as far as it can be, and reported', () => {
    const builder = new RolloutBuilder({ history_mode: 'holographic' }).prompt('Go').says('Hi');
    expect(outline(stateOf(builder).blocks)).toEqual(['user_message Go', 'assistant_text Hi']);
    expect(problems(builder)).toEqual(['unknown-layout']);
  });

  test('forks that refer to each other in a circle are read once each', () => {
    const base = (thread: string): Line => ({ thread_id: thread, end_ordinal_exclusive: 100 });
    const main = new RolloutBuilder({ history_base: base('b') }).prompt('Main');
    const other = new RolloutBuilder({ id: 'b', history_base: base(MAIN_THREAD) }).prompt('Other');
    const raw = { main: main.text, subagents: [{ id: 'b', transcript: other.text }] };
    const { state, diagnostics } = parseTranscript('codex', raw);
    expect(outline(plain(state).blocks)).toEqual(['user_message Other', 'user_message Main']);
    expect(diagnostics.counts.session_meta).toBe(2);
    expect(diagnostics.problems).toEqual([{ code: 'history-cycle', count: 1, where: [MAIN_THREAD] }]);
  });

  test('a line with an ordinal that was read before is left out, wherever it stands', () => {
    const builder = new RolloutBuilder().prompt('Go').says('Hi').prompt('More');
    const [meta, ...rest] = builder.lines as [Line, ...Line[]];
    const { state, diagnostics } = parseTranscript('codex', textOfLines([meta, ...rest, ...rest]));
    expect(plain(state)).toEqual(stateOf(builder));
    expect(diagnostics.problems).toMatchObject([{ code: 'repeated-line', count: 3 }]);
  });

  test('torn, malformed and glued lines, NUL bytes and a lost first line are reported, the rest is read', () => {
    const lines = new RolloutBuilder().prompt('Go').says('Hi').prompt('More').text.split('\n');
    const damaged = [
      `${lines[0]?.slice(0, 30)}`,
      `{"timestamp":"x","ty${lines[1]}`,
      `\0\0${lines[2]}`,
      '[1,2]',
      lines[3]?.slice(0, -20),
    ];
    const { state, diagnostics } = parseTranscript('codex', damaged.join('\n'));
    expect(outline(plain(state).blocks)).toEqual(['user_message Go', 'assistant_text Hi']);
    expect(diagnostics.problems.map(({ code, count }) => `${code} ${count}`)).toEqual([
      'malformed-line 2',
      'glued-line 1',
      'nul-bytes 1',
      'torn-line 1',
    ]);
  });

  test.for([
    '',
    '\n\n',
    'no json',
    '{}',
    '[]',
    '{"type":"session_meta"}',
    '{"main":1}',
    '\uFEFF{"timestamp":"t","type":"x"}',
  ])('the text %j is converted without an error', (text) => {
    expect(() => parseTranscript('codex', text)).not.toThrow();
    expect(transcriptToMessages('codex', text)).toEqual([]);
  });

  test.for([
    {},
    { main: 3 },
    { main: '', subagents: 'x' },
    { main: '', subagents: [null, { id: 'x' }, { id: 3, transcript: '' }] },
  ])('the value %j is converted without an error', (raw) => expect(() => parseTranscript('codex', raw)).not.toThrow());
});
