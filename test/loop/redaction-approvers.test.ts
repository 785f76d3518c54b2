import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type CallRef, callKey } from '../../src/core/log/messages.ts';
import { memoryStore, type NewEvent, openSession, readCallArguments, type Store } from '../../src/index.ts';
import { agent, call, resultText, tool } from './agent.ts';
import { contentOf, EXACT, logOf, OTHER, type Paying, paying, redact, shown } from './paying-agent.ts';

const editedOf = (store: Store, ref: CallRef): Promise<string | undefined> =>
  store.readCallContent('session', `edited:${callKey(ref)}`);

describe('D77: approvers', () => {
  test('read the exact arguments through the call, from any handle', async () => {
    const { session, store, evaluate } = await paying({ needsApproval: true });
    const { pending } = await evaluate();
    const [ref] = session.pending();
    expect(ref).toMatchObject({ arguments: '{"card":"[card]"}', argumentsRedacted: true });
    const viewer = await openSession({ store, id: 'session', readOnly: true });
    expect(await readCallArguments(viewer, pending[0] as CallRef)).toBe(JSON.stringify(EXACT));
  });

  test('read the arguments of a call that was not redacted, and are rejected for a call that has ended', async () => {
    const plain = await paying({ needsApproval: true }, { script: [{ toolCalls: [call('pay', { n: 1 })] }, 'ok'] });
    const [open] = (await plain.evaluate()).pending;
    expect(plain.session.pending()[0]?.argumentsRedacted).toBeUndefined();
    expect(await readCallArguments(plain.session, open as CallRef)).toBe('{"n":1}');
    const ended = await paying({ needsApproval: true });
    const [ref] = (await ended.evaluate()).pending;
    await ended.session.deny(ref as CallRef);
    await expect(readCallArguments(ended.session, ref as CallRef)).rejects.toMatchObject({ code: 'CONTENT_NOT_FOUND' });
    await expect(readCallArguments(ended.session, { ...(ref as CallRef), turn: 7 })).rejects.toMatchObject({
      code: 'TOOL_CALL_NOT_FOUND',
    });
  });

  test('edit arguments outside the log: tool/approved only records that they were edited', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await made.session.approve(ref, { by: 'Ann', arguments: { card: OTHER } });
    expect((await logOf(made.session)).at(-1)).toMatchObject({ type: 'tool/approved', by: 'Ann', edited: true });
    expect((await logOf(made.session)).at(-1)).not.toHaveProperty('arguments');
    expect(await readCallArguments(made.session, ref)).toBe(JSON.stringify({ card: OTHER }));
    const next = await made.again();
    await next.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }]);
    expect(resultText(next.session, ref.callId)).toMatch(/A person changed the arguments/);
    expect(await shown(next)).not.toMatch(/4111-1111|4222-2222/);
    expect(await contentOf(made.store, ref)).toBeUndefined();
    expect(await editedOf(made.store, ref)).toBeUndefined();
  });

  test('without redact edit a redacted call outside the log, too', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await (await openSession({ store: made.store, id: 'session' })).approve(ref, { arguments: { card: OTHER } });
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }]);
    expect(await shown(made)).not.toMatch(/4111-1111|4222-2222/);
  });

  test('edit a call that was not redacted outside the log of a session with redact', async () => {
    const made = await paying({ needsApproval: true }, { script: [{ toolCalls: [call('pay', { n: 1 })] }, 'ok'] });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await made.session.approve(ref, { arguments: { n: 2 } });
    expect((await logOf(made.session)).at(-1)).toMatchObject({ edited: true });
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([{ n: 2 }]);
    expect(await editedOf(made.store, ref)).toBeUndefined();
  });

  test('run a call with edited arguments whatever redact leaves of the approval', async () => {
    const forgetful = (event: NewEvent): NewEvent => {
      const { edited: _, ...rest } = redact(event) as NewEvent & { edited?: true };
      return rest as NewEvent;
    };
    const made = await paying({ needsApproval: true }, { redact: forgetful });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await made.session.approve(ref, { arguments: { card: OTHER } });
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }]);
  });

  test('approve twice: the second edit is rejected and changes nothing', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    const other = await openSession({ store: made.store, id: 'session', redact });
    const said = await Promise.allSettled([
      made.session.approve(ref, { arguments: { card: OTHER } }),
      other.approve(ref, { arguments: { card: 'stolen' } }),
      made.session.approve(ref, { arguments: { card: 'mine' } }),
    ]);
    const won = said.findIndex(({ status }) => status === 'fulfilled');
    expect(said.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(other.approve(ref, { arguments: {} })).rejects.toMatchObject({ code: 'CALL_DECIDED' });
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: [OTHER, 'stolen', 'mine'][won] }]);
  });

  test("whose edit is invalid find the call waiting again with the model's arguments", async () => {
    const input = z.object({ card: z.string() }) as never;
    const made = await paying({ needsApproval: true, input });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await made.session.approve(ref, { arguments: { card: 7 } });
    expect(await made.evaluate({ resume: true })).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
    expect(await editedOf(made.store, ref)).toBeUndefined();
    expect(await readCallArguments(made.session, ref)).toBe(JSON.stringify(EXACT));
    await made.session.approve(ref);
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([EXACT]);
  });

  test("whose message is erased leave neither the model's arguments nor their own", async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await made.session.approve(ref, { arguments: { card: OTHER } });
    expect(await contentOf(made.store, ref)).toBe(JSON.stringify(EXACT));
    expect(await editedOf(made.store, ref)).toBe(JSON.stringify({ card: OTHER }));
    await made.session.eraseMessage(`${ref.evaluationId}:2`);
    expect(await contentOf(made.store, ref)).toBeUndefined();
    expect(await editedOf(made.store, ref)).toBeUndefined();
    await made.evaluate({ resume: true });
    expect(made.given).toEqual([]);
  });

  test("edit a call that then starts: the model's arguments are dropped, and a rerun gets the edited ones", async () => {
    const made = await paying({ needsApproval: true, effect: 'once' });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await made.session.approve(ref, { arguments: { card: OTHER } });
    const next = await made.again();
    await next.interrupt({ resume: true });
    expect(await contentOf(made.store, ref)).toBeUndefined();
    await next.session.settle({ ...ref, attempt: 1 }, { rerun: true });
    await (await made.again()).evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }, { card: OTHER }]);
    expect(await editedOf(made.store, ref)).toBeUndefined();
  });

  test('without redaction edit in the log, as before', async () => {
    const { session, store, prompt, adapter } = await agent({
      script: [{ toolCalls: [call('pay', { n: 1 })] }, 'ok'],
      tools: [tool('pay', (input) => JSON.stringify(input), { needsApproval: true })],
    });
    const [ref] = (await adapter.evaluate(prompt, { session, input: 'go' })).pending as [CallRef];
    await session.approve(ref, { arguments: { n: 2 } });
    const approval = (await logOf(session)).at(-1);
    expect(approval).toMatchObject({ arguments: { n: 2 } });
    expect(approval).not.toHaveProperty('edited');
    expect(await editedOf(store, ref)).toBeUndefined();
    await adapter.evaluate(prompt, { session, resume: true });
    expect(resultText(session, ref.callId)).toContain('It ran with: {"n":2}');
  });
});

describe('D77: a call whose exact arguments are missing', () => {
  /** A session in another store, restored from a snapshot of this one. */
  const restored = async (made: Paying, rest: Parameters<typeof tool>[2]): Promise<Paying> => {
    const moved = await paying(rest, {}, made.given);
    await moved.session.restore(made.session.snapshot());
    return moved;
  };

  test('never runs and is recorded as failed if it was not started', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    await made.session.approve(ref);
    const moved = await restored(made, { needsApproval: true });
    await expect(readCallArguments(moved.session, ref)).rejects.toMatchObject({ code: 'CONTENT_NOT_FOUND' });
    expect(await moved.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(made.given).toEqual([]);
    expect(resultText(moved.session, ref.callId)).toMatch(
      /^This call never ran: its exact arguments are not in this store/,
    );
  });

  test.for(['idempotent', 'once'] as const)(
    'has an unknown outcome if it was started, and a rerun is rejected, with effect %s',
    async (effect) => {
      const reconcile = (): never => {
        throw new Error('without arguments nobody is asked');
      };
      const made = await paying({ effect, reconcile });
      const ref = await made.interrupt();
      const moved = await restored(made, { effect, reconcile });
      const response = await moved.evaluate({ resume: true });
      expect(response).toMatchObject({ status: 'suspended', reason: 'TOOL_OUTCOME_UNKNOWN' });
      expect(response.message).not.toContain('rerun');
      await expect(moved.session.settle(ref, { rerun: true })).rejects.toMatchObject({
        code: 'CONTENT_NOT_FOUND',
        message: expect.stringContaining('cannot run again'),
      });
      await moved.session.settle(ref, { result: 'paid' });
      expect(await moved.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
      expect(made.given).toEqual([EXACT]);
    },
  );

  test('runs with the arguments that a person approves instead', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    const moved = await restored(made, { needsApproval: true });
    await moved.session.approve(ref, { arguments: { card: OTHER } });
    await moved.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: OTHER }]);
  });

  test('of a fork is closed as failed, and the origin keeps its own', async () => {
    const made = await paying({ needsApproval: true });
    const [ref] = (await made.evaluate()).pending as [CallRef];
    const fork = await made.session.fork();
    expect(await made.store.readCallContent(fork.id, callKey(ref))).toBeUndefined();
    expect(fork.pending()).toEqual([]);
    expect(await contentOf(made.store, ref)).toBeDefined();
  });

  test('is distinguished from a call of an older log, which has no mark and runs as it was recorded', async () => {
    const made = await paying({ needsApproval: true });
    await made.evaluate();
    const old = JSON.parse(JSON.stringify(await logOf(made.session)).replaceAll(/,"argumentsRedacted":true/g, ''));
    const store = memoryStore();
    await store.append('session', old, { id: 'old', expectedSeq: 0 });
    const next = await paying({ needsApproval: true }, { store }, made.given);
    const [ref] = next.session.pending();
    await next.session.approve(ref as CallRef);
    await next.evaluate({ resume: true });
    expect(made.given).toEqual([{ card: '[card]' }]);
  });
});
