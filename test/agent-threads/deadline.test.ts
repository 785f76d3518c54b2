import { expect, test } from 'vitest';
import { type ClaudeAgentSdk, type ClaudeMessage, claudeAgentAdapter } from '../../src/claude-agent.ts';
import { definePrompt } from '../../src/loop/define-prompt.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';

/** What stops an evaluation holds whatever the SDK does. */

const NEVER = new Promise<never>(() => {});
const prompt = definePrompt({ ns: 'test', key: 'deadline', instructions: 'Work.' });

/** An SDK whose stream has no end, and cannot be ended. */
function endlessSdk(messages: readonly ClaudeMessage[], consumed: () => void): ClaudeAgentSdk {
  return {
    foldSessionSummary: (_, { sessionId }) => ({ sessionId, mtime: 0, data: {} }),
    query: () => ({
      [Symbol.asyncIterator]() {
        let n = 0;
        return {
          next: () => {
            const value = messages[n++];
            if (value) return Promise.resolve({ done: false, value });
            consumed();
            return NEVER;
          },
          return: () => NEVER,
        };
      },
    }),
  };
}

const INIT: ClaudeMessage = { type: 'system', subtype: 'init', session_id: 'one' };

test.for([
  ['before its first message', []],
  ['after its first message', [INIT]],
] as const)('a deadline holds when the stream of the SDK never ends: %s', { timeout: 60_000 }, async ([, messages]) => {
  const session = await openSession({ store: memoryStore(), id: 'one' });
  const adapter = claudeAgentAdapter({ sdk: endlessSdk(messages, () => {}) });
  const response = await adapter.evaluate(prompt, { session, input: 'go', deadline: Date.now() + 100 });
  expect(response).toMatchObject({ status: 'suspended', reason: 'DEADLINE_EXCEEDED' });
});

test('a cancellation holds when the stream of the SDK never ends', { timeout: 60_000 }, async () => {
  const session = await openSession({ store: memoryStore(), id: 'one' });
  const controller = new AbortController();
  const adapter = claudeAgentAdapter({ sdk: endlessSdk([INIT], () => controller.abort()) });
  const response = await adapter.evaluate(prompt, { session, input: 'go', signal: controller.signal });
  expect(response).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
  expect(session.state.record.evaluations.items.toArray()).toMatchObject([{ status: 'suspended' }]);
});
