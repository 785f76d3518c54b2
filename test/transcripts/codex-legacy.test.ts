import { describe, expect, test } from 'vitest';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { MAIN_THREAD, messagesOf, outline, RolloutBuilder, threadId } from './codex-fixtures.ts';
import { type Line, plain, textOfLines } from './fixtures.ts';

const stateOf = (builder: RolloutBuilder): ReturnType<typeof plain> =>
  plain(parseTranscript('codex', builder.text).state);

describe('the legacy layout', () => {
  const user = (text: string): Line => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
  const legacy = (): RolloutBuilder => new RolloutBuilder({ legacy: true });
  const prompt = (builder: RolloutBuilder, text: string): RolloutBuilder =>
    builder.item(user(text)).event({ type: 'user_message', message: text });

  test('a text that an event repeats is a prompt, whatever it starts with', () => {
    const builder = prompt(legacy().item(user('<environment_context>x')), '<environment_context> is what?');
    expect(outline(stateOf(builder).blocks)).toEqual([
      'system environment_context <environment_context>x',
      'user_message <environment_context> is what?',
    ]);
  });

  test('a text that no event repeats is not a prompt once events were seen, and one before that', () => {
    const builder = prompt(legacy().item(user('Nobody confirmed this')).item(user('# AGENTS.md instructions')), 'Go')
      .item(user('<new_kind_of_notice>…</new_kind_of_notice>'))
      .item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] });
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Nobody confirmed this',
      'system instructions # AGENTS.md instructions',
      'user_message Go',
      'system context <new_kind_of_notice>…</new_kind_of_notice>',
      'assistant_text Hi',
    ]);
    expect(messagesOf(builder)).toEqual(['user: Nobody confirmed this', 'user: Go', 'assistant: Hi']);
  });

  test.for([
    ['environment_context', '<environment_context>\n<cwd>/p</cwd>\n</environment_context>', false],
    ['instructions', '# AGENTS.md instructions for /p\nUse tabs.', false],
    ['turn_aborted', '<turn_aborted>\nstopped\n</turn_aborted>', true],
    ['compaction_summary', 'Another language model started to solve this problem. In short: done.', false],
  ] as const)('%s is no prompt, also before any event was seen', ([subtype, text, isSent]) => {
    const builder = legacy()
      .item(user('Go'))
      .item(user(text))
      .item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] });
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Go',
      `system ${subtype} ${text}`,
      'assistant_text Hi',
    ]);
    expect(messagesOf(builder)).toEqual(['user: Go', ...(isSent ? [`user: ${text}`] : []), 'assistant: Hi']);
  });

  test('texts that only events hold are shown once, in either order of event and item', () => {
    const assistant = (text: string): Line => ({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text }],
    });
    const builder = legacy()
      .event({ type: 'user_message', message: 'Only an event' })
      .event({ type: 'agent_message', message: 'First' })
      .item(assistant('First'))
      .item(assistant('Second'))
      .event({ type: 'agent_message', message: 'Second' })
      .event({ type: 'agent_message', message: 'Lost' })
      .event({ type: 'task_complete' });
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Only an event',
      'assistant_text First',
      'assistant_text Second',
      'assistant_text Lost',
    ]);
  });

  test('a thought that an event repeats is shown once', () => {
    const builder = prompt(legacy(), 'Go')
      .event({ type: 'agent_reasoning', text: 'Hm' })
      .item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'x' })
      .says('Done');
    expect(outline(stateOf(builder).blocks)).toEqual(['user_message Go', 'thinking Hm', 'assistant_text Done']);
  });

  test('thoughts that only events hold are shown once, in either order of event and item', () => {
    const thought = (...texts: string[]): Line => ({
      type: 'reasoning',
      summary: texts.map((text) => ({ type: 'summary_text', text })),
      encrypted_content: 'x',
    });
    const reasoning = (text: string): Line => ({ type: 'agent_reasoning', text });
    const builder = prompt(legacy(), 'Go')
      .event(reasoning('First'))
      .event(reasoning('Second'))
      .item(thought('First', 'Second'))
      .item(thought('Third', 'Fourth'))
      .event(reasoning('Third'))
      .event(reasoning('Fourth'))
      .event(reasoning('Lost'));
    const shown = ['user_message Go', 'thinking First\nSecond', 'thinking Third\nFourth', 'thinking Lost'];
    expect(outline(stateOf(builder).blocks)).toEqual(shown);
    // The next process writes to the same file.
    builder.event({ type: 'task_started' });
    prompt(builder, 'More').event(reasoning('First')).item(thought('First')).says('Done');
    expect(outline(stateOf(builder).blocks)).toEqual([
      ...shown,
      'user_message More',
      'thinking First',
      'assistant_text Done',
    ]);
    expect(messagesOf(builder)).toEqual(['user: Go', 'user: More', 'assistant: Done']);
  });

  test.for(['task_started', 'turn_aborted'])('a text that only an event holds is shown before %s', (type) => {
    const builder = prompt(legacy(), 'Go').event({ type: 'agent_message', message: 'Lost' }).event({ type });
    prompt(builder, 'More').says('Done');
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Go',
      'assistant_text Lost',
      'user_message More',
      'assistant_text Done',
    ]);
  });

  test('a file that a newer version resumed is still legacy, and its new prompts are prompts', () => {
    const builder = prompt(legacy(), 'Old').says('First').event({ type: 'task_complete' });
    // The newer version names the kinds of parts, and still writes the event of the older one.
    builder.event({ type: 'task_started' }).line('turn_context', { model: 'gpt-5.5' });
    builder.prompt('New').event({ type: 'user_message', message: 'New' });
    builder.event({ type: 'agent_message', message: 'Second' }).says('Second').usage('r2');
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message Old',
      'assistant_text First',
      'user_message New',
      'assistant_text Second',
    ]);
    expect(messagesOf(builder)).toEqual(['user: Old', 'assistant: First', 'user: New', 'assistant: Second']);
    expect(parseTranscript('codex', builder.text).diagnostics.problems).toEqual([]);
  });

  test('turns that were taken back are removed and not sent', () => {
    const assistant = (text: string): Line => ({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text }],
    });
    const builder = legacy();
    for (const text of ['One', 'Two', 'Three']) prompt(builder, text).item(assistant(`Answer ${text}`));
    builder.event({ type: 'thread_rolled_back', num_turns: 2 });
    prompt(builder, 'Four').item(assistant('Answer Four'));
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message One',
      'assistant_text Answer One',
      'user_message Four',
      'assistant_text Answer Four',
    ]);
    expect(messagesOf(builder)).toEqual(['user: One', 'assistant: Answer One', 'user: Four', 'assistant: Answer Four']);
  });

  test('a copy of the line before is left out and reported', () => {
    const builder = prompt(legacy(), 'Go').item(user('<skill>x'));
    const lines = builder.lines.flatMap((line) => [line, line]);
    const { state, diagnostics } = parseTranscript('codex', textOfLines(lines));
    expect(outline(plain(state).blocks)).toEqual(outline(stateOf(builder).blocks));
    expect(diagnostics.problems).toMatchObject([{ code: 'repeated-line', count: lines.length / 2 }]);
  });

  test('a fork holds copies of its past, with the first line of its parent', () => {
    const parent = prompt(legacy(), 'Past').item({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Old' }],
    });
    const fork = new RolloutBuilder({ legacy: true, id: threadId(5), forked_from_id: MAIN_THREAD });
    for (const { type, payload } of parent.lines) fork.line(type as string, payload as Line);
    prompt(fork, 'Another way');
    const { state, diagnostics } = parseTranscript('codex', { main: fork.text, subagents: [] });
    expect(outline(plain(state).blocks)).toEqual([
      'user_message Past',
      'assistant_text Old',
      'user_message Another way',
    ]);
    expect(diagnostics.problems).toEqual([]);
  });

  test('events of old versions report failures and results', () => {
    const builder = prompt(legacy(), 'Go')
      .calls('c1', 'apply_patch')
      .event({ type: 'patch_apply_end', call_id: 'c1', success: false, stdout: '', stderr: 'no' })
      .returns('c1', 'text')
      .calls('c2', 'mcp__x__y')
      .event({
        type: 'mcp_tool_call_end',
        call_id: 'c2',
        invocation: { server: 'x', tool: 'y' },
        result: { Err: 'gone' },
      })
      .calls('c3', 'shell')
      .event({ type: 'exec_command_end', call_id: 'c3', exit_code: 0, aggregated_output: 'ok' });
    expect(outline(stateOf(builder).blocks).filter((line) => line.startsWith('tool_result'))).toEqual([
      'tool_result! text',
      'tool_result! gone',
      'tool_result ok',
    ]);
  });
});
