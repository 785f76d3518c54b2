import { expect, test } from 'vitest';
import { ConversationRecorder } from '../../src/agents/conversation-recorder.ts';
import type { AssistantMessage } from '../../src/core/log/messages.ts';
import { currentEvaluation, record } from '../../src/loop/evaluate/run.ts';
import { correction } from '../../src/loop/request/finish.ts';
import { asAgent } from './as-agent.ts';

/** A response that is recorded in pieces: the text, then its usage. */

test('is one message, and the next message has its own position', async () => {
  const session = await asAgent(async ({ run }) => {
    const recorder = new ConversationRecorder(run);
    const answer = { providerMessageId: 'msg_1', toolCalls: [] };
    await recorder.recordResponse({ ...answer, content: [{ type: 'text', text: 'not JSON' }] });
    await recorder.recordResponse({ ...answer, content: [], usage: { inputTokens: 3, outputTokens: 2 } });
    const said = currentEvaluation(run).messages.at(-1) as AssistantMessage;
    await record(run, correction(run, said, 'it was not JSON'));
    await new ConversationRecorder(run).recordResponse({
      ...answer,
      providerMessageId: 'msg_2',
      content: [{ type: 'text', text: '{}' }],
    });
  });
  const messages = session.state.record.messages.toArray();
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant']);
  expect(session.state.record.evaluations.items.at(0)?.totalUsage).toMatchObject({ inputTokens: 3, outputTokens: 2 });
});

test("the prompt to continue is not a correction of the agent's response", async () => {
  await asAgent(async ({ run }) => {
    const recorder = new ConversationRecorder(run);
    for (const n of [1, 2, 3]) {
      const toolCalls = [{ callId: `call_${n}`, name: 'look', arguments: '{}' }];
      await recorder.recordResponse({ providerMessageId: `msg_${n}`, content: [], toolCalls });
      await recorder.recordResult(`call_${n}`, { content: [{ type: 'text', text: 'seen' }], isError: false });
      await recorder.recordUser([{ type: 'text', text: 'Continue.' }]);
    }
    await recorder.recordResponse({
      providerMessageId: 'msg_4',
      content: [{ type: 'text', text: 'no JSON' }],
      toolCalls: [],
    });
    const said = currentEvaluation(run).messages.at(-1) as AssistantMessage;
    expect(correction(run, said, 'it was not JSON')).toMatchObject([{ type: 'message/recorded' }]);
  });
});
