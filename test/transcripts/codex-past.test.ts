/** Where the past of a Codex session is: in another rollout, in a summary, or in the lines of its turns. */
import { describe, expect, test } from 'vitest';
import { parseTranscript, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import { MAIN_THREAD, messagesOf, outline, RolloutBuilder, threadId } from './codex-fixtures.ts';
import { type Line, plain } from './fixtures.ts';

const stateOf = (builder: RolloutBuilder): ReturnType<typeof plain> =>
  plain(parseTranscript('codex', builder.text).state);

describe('a compaction', () => {
  const SUMMARY = 'Another language model started to solve this problem. In short: done.';
  const user = (text: string): Line => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
  const builder = new RolloutBuilder()
    .prompt('One')
    .says('A')
    .says('In short: done.', { metadata: { compaction_output: true } })
    .line('compacted', {
      message: 'In short: done.',
      replacement_history: [user('One'), user(SUMMARY)],
      window_number: 1,
    })
    .completed({ type: 'ContextCompaction', id: 'compaction_1' })
    .prompt('Two')
    .says('B');

  test('is one block, and its summary is no text of the assistant', () => {
    expect(outline(stateOf(builder).blocks)).toEqual([
      'user_message One',
      'assistant_text A',
      'compaction In short: done.',
      'user_message Two',
      'assistant_text B',
    ]);
  });

  test('is left out of the whole past, and replaces the past for a caller that starts from it', () => {
    expect(messagesOf(builder)).toEqual(['user: One', 'assistant: A', 'user: Two', 'assistant: B']);
    expect(messagesOf(builder, 'compaction')).toEqual(['user: One', `user: ${SUMMARY}`, 'user: Two', 'assistant: B']);
  });
});

test('a fork has the lines of its parent before an ordinal, and none after it', () => {
  const parent = new RolloutBuilder().prompt('One').says('A').prompt('Of the parent').says('B');
  const base = { thread_id: MAIN_THREAD, end_ordinal_exclusive: 3, end_byte_offset: 0 };
  const fork = new RolloutBuilder({ id: threadId(5), history_base: base }, { ordinal: 3, second: 60 }).prompt('Fork');
  const raw = { main: fork.text, subagents: [{ id: MAIN_THREAD, transcript: parent.text }] };
  const { state, diagnostics } = parseTranscript('codex', raw);
  expect(outline(plain(state).blocks)).toEqual(['user_message One', 'assistant_text A', 'user_message Fork']);
  expect(transcriptToMessages('codex', raw)).toHaveLength(3);
  expect(diagnostics.problems).toEqual([]);
});

test('a response has the model of its turn', () => {
  const builder = new RolloutBuilder()
    .line('turn_context', { model: 'gpt-5.5' })
    .prompt('One')
    .says('A')
    .usage('r1')
    .line('turn_context', { model: 'gpt-5.6' })
    .prompt('Two')
    .says('B');
  expect(stateOf(builder).blocks.filter(({ type }) => type === 'assistant_text')).toMatchObject([
    { message: { model: 'gpt-5.5' } },
    { message: { model: 'gpt-5.6' } },
  ]);
});

test('a search that the provider ran has no result', () => {
  const action = { type: 'search', query: 'rain' };
  const builder = new RolloutBuilder()
    .prompt('Go')
    .item({ type: 'web_search_call', id: 'ws_1', status: 'completed', action })
    .says('It rains.');
  const { blocks } = stateOf(builder);
  expect(outline(blocks)).toEqual(['user_message Go', 'tool_use web_search', 'assistant_text It rains.']);
  expect(blocks[1]).toMatchObject({ input: action, status: 'complete' });
});

test('an output without its call is shown and not sent', () => {
  const builder = new RolloutBuilder().prompt('Go').returns('lost', 'out').says('Hi');
  expect(outline(stateOf(builder).blocks)).toEqual(['user_message Go', 'tool_result out', 'assistant_text Hi']);
  expect(messagesOf(builder)).toEqual(['user: Go', 'assistant: Hi']);
});

test('a resumed thread continues in its file: a torn line between two processes stays there, and is skipped', () => {
  const builder = new RolloutBuilder()
    .prompt('One')
    .says('A')
    .event({ type: 'task_started' })
    .line('turn_context', { model: 'gpt-5.5' })
    .prompt('Two')
    .says('B');
  const lines = builder.text.split('\n');
  lines.splice(3, 0, '{"timestamp":"2026-11-16T10:00:03.000Z","ordinal":3,"type":"response_item","payl', 'not JSON');
  const { state, diagnostics } = parseTranscript('codex', lines.join('\n'));
  expect(plain(state)).toEqual(stateOf(builder));
  expect(transcriptToMessages('codex', lines.join('\n'))).toHaveLength(4);
  expect(diagnostics.problems).toMatchObject([{ code: 'malformed-line', count: 2 }]);
});
