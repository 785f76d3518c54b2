import { expect, test } from 'vitest';
import { linesSince, prepareTranscript } from '../../src/agents/claude-agent/claude-transcript.ts';
import type { ClaudeTranscriptEntry } from '../../src/agents/claude-agent/sdk-types.ts';
import type { Evaluation } from '../../src/core/fold/evaluations.ts';
import type { ConversationMessage } from '../../src/core/log/messages.ts';

/** The messages in Claude Code's transcript, compared with our log before a resume (D57, D61). */

const context = { sessionId: 'one', cwd: '/work', ours: new Set<string>() };

/** Lines in the shape and order in which Claude Code 2.1.325 writes them. */
function transcript(...lines: readonly Readonly<Record<string, unknown>>[]): ClaudeTranscriptEntry[] {
  return lines.map((line, i) => ({ type: 'user', uuid: `u${i}`, parentUuid: i === 0 ? null : `u${i - 1}`, ...line }));
}
const texts = (...all: readonly string[]) => all.map((text) => ({ type: 'text', text }));
const prompt = (...all: readonly string[]) => ({ message: { role: 'user', content: texts(...all) } });
const queued = (...all: readonly string[]) => ({
  type: 'attachment',
  attachment: { type: 'queued_command', prompt: texts(...all), source_uuid: 's', commandMode: 'prompt' },
});
const called = {
  type: 'assistant',
  message: {
    id: 'msg_1',
    role: 'assistant',
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: {} }],
  },
};
const result = { message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'hi' }] } };
const answered = {
  type: 'assistant',
  message: { id: 'msg_2', role: 'assistant', stop_reason: 'end_turn', content: texts('done') },
};

/** Messages of our log. */
function log(...messages: readonly Readonly<Record<string, unknown>>[]): readonly ConversationMessage[] {
  return messages.map((message, i) => ({
    id: `e:${i}`,
    evaluationId: 'e',
    sequence: i,
    turn: 0,
    createdAt: '2026-01-01T00:00:00.000Z',
    ...message,
  })) as unknown as readonly ConversationMessage[];
}
const user = (...all: readonly string[]) => ({ role: 'user', content: texts(...all) });
const call = {
  role: 'assistant',
  content: [],
  providerMessageId: 'msg_1',
  toolCalls: [{ callId: 'toolu_1', name: 'Bash', arguments: '{}' }],
};
const outcome = { role: 'tool', toolCallId: 'toolu_1', toolName: 'Bash', content: texts('hi'), isError: false };
const answer = { role: 'assistant', content: texts('done'), providerMessageId: 'msg_2' };

const CASES = [
  {
    name: 'a steer that was recorded and not handed over is sent next',
    lines: [prompt('go'), called, result],
    messages: [user('go'), call, outcome, user('steer')],
    sent: ['steer'],
  },
  {
    name: 'a steer that the transcript has as a queued command is not sent again',
    lines: [prompt('go'), called, result, queued('steer')],
    messages: [user('go'), call, outcome, user('steer')],
    sent: undefined,
  },
  {
    name: 'a steer that the transcript has as a prompt of its own is not sent again',
    lines: [prompt('go'), called, result, prompt('steer')],
    messages: [user('go'), call, outcome, user('steer')],
    sent: undefined,
  },
  {
    name: 'of two steers only the one that the transcript lacks is sent',
    lines: [prompt('go'), called, result, queued('one')],
    messages: [user('go'), call, outcome, user('one'), user('two')],
    sent: ['two'],
  },
  {
    name: 'a steer with the text of the prompt is another message',
    lines: [prompt('go'), called, result],
    messages: [user('go'), call, outcome, user('go')],
    sent: ['go'],
  },
  {
    name: 'messages that were sent as one prompt are recognised',
    lines: [prompt('one', 'two', 'three')],
    messages: [user('one'), user('two', 'three')],
    sent: undefined,
  },
  {
    name: 'a message whose text is only the beginning of a text is another message',
    lines: [prompt('one two')],
    messages: [user('one')],
    sent: ['one'],
  },
  {
    name: 'a steer with a response is not written a second time',
    lines: [prompt('go'), called, result, queued('steer'), answered],
    messages: [user('go'), call, outcome, user('steer'), answer],
    sent: undefined,
  },
] as const;

test.for(CASES)('D61: $name', ({ lines, messages, sent }) => {
  const prepared = prepareTranscript(transcript(...lines), log(...messages), context);
  expect(prepared.prompt?.map((part) => (part.type === 'text' ? part.text : part.type))).toEqual(sent);
  expect(prepared.missing).toEqual([]);
});

test('D57, D61: a steer and its response that the transcript lost are written into it in order', () => {
  const messages = log(user('go'), call, outcome, user('steer'), answer);
  const { missing, prompt: next } = prepareTranscript(transcript(prompt('go'), called, result), messages, context);
  expect(missing).toMatchObject([
    { type: 'user', message: { content: [{ text: 'steer' }] } },
    { type: 'assistant', message: { id: 'msg_2' } },
  ]);
  expect(next).toBeUndefined();
});

test('D57, D61: transcript lines after the newest steer are found, whichever line has the steer', () => {
  const evaluation = { messages: log(user('go'), call, outcome, user('steer')) } as unknown as Evaluation;
  for (const known of [queued('steer'), prompt('steer'), prompt('steer', 'two')]) {
    const lines = transcript(prompt('go'), called, result, known, answered);
    expect(linesSince(lines, evaluation)).toEqual(lines.slice(4));
  }
  expect(linesSince(transcript(prompt('go'), called, result), evaluation)).toEqual([]);
});
