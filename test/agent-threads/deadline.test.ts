import { expect, test } from 'vitest';
import type { ClaudeAgentSdk, ClaudeMessage } from '../../src/agents/claude-agent/sdk-types.ts';
import { claudeAgentAdapter } from '../../src/claude-agent.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { openSession } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

/** Deadlines and cancellations stop an evaluation whatever the SDK does. */

const NEVER = new Promise<never>(() => {});
const prompt = definePrompt({ ns: 'test', key: 'deadline', instructions: 'Work.' });

/** An SDK whose stream never ends, and cannot be ended. */
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

/** Moves the clock until the evaluation has ended. */
async function ended<T>(clock: FakeClock, evaluation: Promise<T>): Promise<T> {
  let isOver = false;
  evaluation.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return evaluation;
}

test.for([
  ['before its first message', []],
  ['after its first message', [INIT]],
] as const)(
  "a deadline stops an evaluation when the SDK's stream never ends: %s",
  { timeout: 30_000 },
  async ([, messages]) => {
    const clock = fakeClock();
    const session = await openSession({ store: memoryStore(), id: 'one', clock });
    const waits = Promise.withResolvers<void>();
    const adapter = claudeAgentAdapter({ sdk: endlessSdk(messages, waits.resolve) });
    const evaluation = adapter.evaluate(prompt, { session, input: 'go', deadline: clock.now() + 60_000 });
    await waits.promise;
    expect(await ended(clock, evaluation)).toMatchObject({ status: 'suspended', reason: 'DEADLINE_EXCEEDED' });
  },
);

test("a cancellation stops an evaluation when the SDK's stream never ends", { timeout: 30_000 }, async () => {
  const clock = fakeClock();
  const session = await openSession({ store: memoryStore(), id: 'one', clock });
  const controller = new AbortController();
  const adapter = claudeAgentAdapter({ sdk: endlessSdk([INIT], () => controller.abort()) });
  const evaluation = adapter.evaluate(prompt, { session, input: 'go', signal: controller.signal });
  expect(await ended(clock, evaluation)).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
  expect(session.state.record.evaluations.items.toArray()).toMatchObject([{ status: 'suspended' }]);
});

test("a request to cancel from another handle stops the SDK's run (D73)", { timeout: 30_000 }, async () => {
  const clock = fakeClock();
  const store = memoryStore();
  const session = await openSession({ store, id: 'one', clock });
  const waits = Promise.withResolvers<void>();
  const adapter = claudeAgentAdapter({ sdk: endlessSdk([INIT], waits.resolve), autoResume: true });
  const evaluation = adapter.evaluate(prompt, { session, input: 'go' });
  await waits.promise;
  await (await openSession({ store, id: 'one' })).cancel({ by: 'ada' });
  const { evaluationId, ...response } = await ended(clock, evaluation);
  const message = 'it was cancelled by ada; resume it to continue';
  expect(response).toMatchObject({ status: 'suspended', reason: 'CANCELLED', message });
  const autoResumed = adapter.evaluate(prompt, { session, input: 'go', deadline: clock.now() + 1_000 });
  expect((await ended(clock, autoResumed)).evaluationId).not.toBe(evaluationId);
});
