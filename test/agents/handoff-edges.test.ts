/** Conversations that real agents must not stumble over, and sessions that are handed on after they were continued. */
import { describe, expect, test } from 'vitest';
import type { HandoffTarget } from '../../src/transcripts/handoff/build-transcript.ts';
import { loadTranscript, writeTranscript } from '../../src/transcripts.ts';
import { assistant, calling, conversation, result, user } from '../transcripts/handoff/written.ts';
import { agentFor, conversationIn, handOver } from './support/hand-over.ts';
import { GO_ON } from './support/handoff-agents.ts';

/** A transparent pixel. */
const PNG = {
  type: 'image',
  mediaType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
} as const;

const hostile = conversation(
  { ...assistant('I begin.'), createdAt: '2031-01-01T00:00:00.000Z' },
  { role: 'user', content: [{ type: 'text', text: 'NUL \0, line \u2028 end, half \ud800.' }, PNG], createdAt: '' },
  {
    role: 'assistant',
    content: [{ type: 'reasoning', text: 'Hm.', signature: 'x' }],
    toolCalls: [
      { callId: 'a/b', name: 'odd name!', arguments: '{"x":"\\u0000\\ud800"}' },
      { callId: 'a/b', name: 'apply_patch', arguments: '*** Begin Patch' },
      { callId: 'open', name: 'x'.repeat(100), arguments: '[1]' },
    ],
    createdAt: '2020-01-01T00:00:00.000Z',
  },
  { role: 'tool', toolCallId: 'a/b', toolName: '', content: [{ type: 'text', text: '' }], isError: true },
  { role: 'tool', toolCallId: 'a/b', toolName: '', content: [{ type: 'text', text: 'see' }, PNG], isError: false },
  user('And now?'),
);

describe.for<HandoffTarget>(['claude-sdk', 'codex', 'opencode'])('%s', (to) => {
  test('continues a conversation with odd texts, ids, names, times, an image and an open call', async () => {
    const agent = await agentFor(to);
    await handOver(agent, hostile, to);
    const { items, refusals } = agent.sent();
    expect(refusals).toEqual([]);
    const id = expect.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
    expect(conversationIn(items)).toEqual([
      { kind: 'user', text: '[The beginning was left out.]' },
      { kind: 'assistant', text: 'I begin.' },
      { kind: 'user', text: 'NUL \0, line \u2028 end, half \ufffd.' },
      { kind: 'image' },
      { kind: 'call', id, name: 'odd_name_', input: { x: '\0\ufffd' } },
      { kind: 'call', id, name: 'apply_patch', input: { input: '*** Begin Patch' } },
      { kind: 'call', id: 'open', name: 'x'.repeat(64), input: { input: [1] } },
      { kind: 'result', id, text: 'The tool failed.' },
      { kind: 'result', id, text: 'see' },
      { kind: 'image' },
      { kind: 'result', id: 'open', text: expect.stringContaining('No result was recorded') },
      { kind: 'user', text: 'And now?' },
    ]);
    const idsOf = (kind: 'call' | 'result'): readonly string[] =>
      items.flatMap((item) => (item.kind === kind ? [item.id] : []));
    expect(idsOf('result')).toEqual(idsOf('call'));
    expect(new Set(idsOf('call')).size).toBe(3);
  });

  test('continues a session twice: the second request has the first continuation', async () => {
    const agent = await agentFor(to);
    const { resume } = await handOver(agent, conversation(user('Count it.'), assistant('Six.')), to);
    await agent.run(resume, GO_ON);
    const said = agent.sent().items.filter((item) => item.kind === 'assistant');
    expect(said).toEqual([
      { kind: 'assistant', text: 'Six.' },
      { kind: 'assistant', text: 'Continued.' },
    ]);
  });
});

test('a session is handed on after it was continued: to OpenCode, then to Claude Code, then to Codex', async () => {
  const openCode = await agentFor('opencode');
  const { cwd, configDir, model = '', program } = openCode;
  const source = conversation(user('Count it.'), calling('wc', '{"file":"a"}'), result('6 a'), assistant('Six.'));
  const first = await writeTranscript(source, { to: 'opencode', cwd, configDir, model, runImport: program });
  expect(first.import).toBeUndefined();
  await openCode.run(first.resume, GO_ON);

  const claude = await agentFor('claude-sdk');
  const second = await handOver(claude, await loadTranscript(configDir, { sessionId: first.sessionId }), 'claude-sdk');

  const codex = await agentFor('codex');
  await handOver(codex, await loadTranscript(second.path), 'codex');
  const { items, refusals } = codex.sent();
  expect(refusals).toEqual([]);
  expect(items.filter((item) => !('text' in item && item.text.startsWith('<environment_context>')))).toEqual([
    { kind: 'user', text: 'Count it.' },
    { kind: 'call', id: 'c', name: 'wc', input: { file: 'a' } },
    { kind: 'result', id: 'c', text: '6 a' },
    { kind: 'assistant', text: 'Six.' },
    // OpenCode puts its argument in quotes.
    { kind: 'user', text: `"${GO_ON}"` },
    { kind: 'assistant', text: 'Continued.' },
    { kind: 'user', text: GO_ON },
    { kind: 'assistant', text: 'Continued.' },
    { kind: 'user', text: GO_ON },
  ]);
});

test('Codex sends long results as the losses say: cut by bytes', async () => {
  const agent = await agentFor('codex');
  const outputOf = async (text: string): Promise<{ readonly sent: string; readonly lost: boolean }> => {
    const source = conversation(user('Read it.'), calling('read', '{}'), result(text), assistant('Done.'));
    const { losses } = await handOver(agent, source, 'codex');
    const sent = agent.sent().items.find((item) => item.kind === 'result');
    return { sent: sent?.text ?? '', lost: losses.some(({ what }) => what === 'long result') };
  };
  const fits = 'é'.repeat(24_000);
  expect(await outputOf(fits)).toEqual({ sent: fits, lost: false });
  const long = await outputOf(`${fits}x`);
  expect(long.sent).toContain('truncated');
  expect(long.lost).toBe(true);
});
