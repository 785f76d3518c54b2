/** A new evaluation supersedes an open one. What becomes of the calls that its process had started. */
import { describe, expect, test, vi } from 'vitest';
import { type ConversationMessage, type ScriptedTurn, textOf } from '../../src/index.ts';
import { type Agent, agent, call, resultText, tool } from './agent.ts';

const UNKNOWN =
  'tool: A new request superseded this call before its result was recorded. Its outcome is unknown: it may have taken effect.';

/** Pays on the first message, and responds to every other one with text. */
const script = ({ messages }: { messages: readonly ConversationMessage[] }): ScriptedTurn =>
  messages.length === 2 ? { toolCalls: [call('pay'), call('look')] } : 'noted';

const lines = (messages: readonly ConversationMessage[] | undefined): readonly string[] =>
  messages?.map((message) => `${message.role}: ${textOf(message)}`) ?? [];

/** The session of a process that died inside a `once` call, opened by another process; `pay` counts that one's payments. */
async function afterCrash(): Promise<Agent & { readonly pay: ReturnType<typeof vi.fn> }> {
  const look = tool('look', () => 'seen', { effect: 'read' });
  const entered = Promise.withResolvers<void>();
  const die = (): Promise<never> => {
    entered.resolve();
    return new Promise(() => {});
  };
  const dying = tool('pay', die, { effect: 'once' });
  const first = await agent({ script, tools: [dying, look] });
  void first.evaluate({ input: 'pay A-1' });
  await entered.promise;
  await vi.waitUntil(() => resultText(first.session, 'call_1_2') !== undefined);
  await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
  const pay = vi.fn(() => 'paid');
  const second = await agent({ script, tools: [tool('pay', pay, { effect: 'once' }), look], store: first.store });
  return { ...second, pay };
}

describe('I2: a `once` call that was started and whose evaluation is superseded', () => {
  test('never runs again, and its outcome is recorded as unknown', async () => {
    const { session, evaluate, pay } = await afterCrash();
    const old = session.latestEvaluation();
    await evaluate({ input: 'and now?', continues: true });
    expect(pay).not.toHaveBeenCalled();
    const superseded = session.state.record.evaluations.get(old?.id ?? '');
    expect(superseded).toMatchObject({ status: 'superseded', calls: [{ status: 'failed' }, { status: 'completed' }] });
    expect(lines(superseded?.messages.toArray()).at(-1)).toBe(UNKNOWN);
    expect(session.pending()).toEqual([]);
  });

  test('is sent as unknown to the model of an evaluation that continues it', async () => {
    const { evaluate, requests } = await afterCrash();
    await evaluate({ input: 'and now?', continues: true });
    expect(lines(requests[0]?.messages)).toEqual([
      'system: Do it.',
      'user: pay A-1',
      'assistant: ',
      UNKNOWN,
      'tool: seen',
      'user: and now?',
    ]);
  });

  test('has the result that a person settled, if one did', async () => {
    const { session, evaluate, requests } = await afterCrash();
    const [open] = session.pending();
    if (!open) throw new Error('no call is open');
    await session.settle(open, { result: 'paid, says the bank' });
    await evaluate({ input: 'and now?', continues: true });
    expect(lines(requests[0]?.messages)).toContain('tool: paid, says the bank');
  });

  test('does not keep a new evaluation with the same input from making the call again, as a call of its own', async () => {
    const { evaluate, session, pay } = await afterCrash();
    const old = session.latestEvaluation()?.id;
    await evaluate({ input: 'pay A-1' });
    expect(pay).toHaveBeenCalledTimes(1);
    const [, { idempotencyKey }] = pay.mock.calls[0] as unknown as [unknown, { idempotencyKey: string }];
    expect(idempotencyKey).not.toContain(old);
  });
});
