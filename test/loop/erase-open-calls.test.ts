import { describe, expect, test } from 'vitest';
import { slidingWindow } from '../../src/history.ts';
import { type CallRef, openSession } from '../../src/index.ts';
import { type Agent, agent, call, deferred, eventTypes, resultText, said, tool } from './agent.ts';

/** D58: no call runs without its arguments after they were erased. */

const script = [{ toolCalls: [call('delete_rows', { where: 'id = 7' })] }, 'ok'];

interface Made extends Agent {
  readonly runs: unknown[];
  readonly messageId: string;
  readonly pending: CallRef;
}

/** An agent whose call waits for approval. */
async function waiting(): Promise<Made> {
  const runs: unknown[] = [];
  const remove = tool('delete_rows', (input) => runs.push(input), { needsApproval: true });
  const made = await agent({ script, tools: [remove] });
  const { pending } = await made.evaluate();
  return { ...made, runs, messageId: answerOf(made), pending: pending[0] as CallRef };
}

function answerOf({ session }: Pick<Agent, 'session'>): string {
  return session.messages().find(({ role }) => role === 'assistant')?.id ?? '';
}

/** An agent whose call was started by a process that was killed. */
async function started(): Promise<Made> {
  const runs: unknown[] = [];
  const begun = deferred();
  const remove = tool('delete_rows', (input) => {
    runs.push(input);
    begun.resolve();
    return new Promise(() => {});
  });
  const first = await agent({ script, tools: [remove] });
  const { store } = first;
  void first.evaluate();
  await begun.promise;
  await store.releaseLease('session', (await store.readLease('session'))?.fence ?? 0);
  const made = await agent({ script, tools: [remove], store });
  const { pending } = await made.evaluate({ resume: true });
  return { ...made, runs, messageId: answerOf(made), pending: pending[0] as CallRef };
}

describe('D58: erasing a message with open calls', () => {
  test.for(['waiting', 'approved'] as const)(
    'a call that was not started (%s) is closed as failed and never runs',
    async (how) => {
      const { session, pending, messageId, evaluate, runs, results } = await waiting();
      if (how === 'approved') await session.approve(pending);
      await session.eraseMessage(messageId);
      expect(results().call_1_1).toMatchObject({ isError: true });
      expect(resultText(session, 'call_1_1')).toContain('erased');
      expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
      expect(runs).toEqual([]);
      await expect(session.approve(pending)).rejects.toMatchObject({ code: 'TOOL_CALL_NOT_FOUND' });
    },
  );

  test('a call that was started and not settled prevents the erasure, and nothing is changed', async () => {
    const { session, messageId } = await started();
    const { seq } = session;
    const before = JSON.stringify(session.messages());
    await expect(session.eraseMessage(messageId)).rejects.toMatchObject({ code: 'CALL_OPEN' });
    expect(session.seq).toBe(seq);
    expect(JSON.stringify((await openSession({ store: session.store, id: session.id })).messages())).toBe(before);
  });

  test('a call that may run again prevents it, too; one that was settled with its result does not', async () => {
    const { session, messageId, pending, evaluate, runs } = await started();
    await session.settle(pending, { rerun: true });
    await expect(session.eraseMessage(messageId)).rejects.toMatchObject({ code: 'CALL_OPEN' });
    await session.settle(pending, { result: 'deleted' });
    await session.eraseMessage(messageId);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(resultText(session, 'call_1_1')).toBe('deleted');
    expect(runs).toHaveLength(1);
  });

  test('a running sibling prevents it', async () => {
    const gate = deferred<string>();
    const begun = deferred();
    const slow = tool('slow', () => {
      begun.resolve();
      return gate.promise;
    });
    const remove = tool('delete_rows', () => 'deleted', { needsApproval: true });
    const made = await agent({
      script: [{ toolCalls: [call('slow'), call('delete_rows')] }, 'ok'],
      tools: [slow, remove],
    });
    const running = made.evaluate();
    await begun.promise;
    await expect(made.session.eraseMessage(answerOf(made))).rejects.toMatchObject({ code: 'CALL_OPEN' });
    gate.resolve('done');
    await running;
    expect(resultText(made.session, 'call_1_1')).toBe('done');
  });

  test('reads of the same message that run are closed, and the run continues', async () => {
    const gate = deferred<string>();
    const begun = deferred();
    const slow = tool(
      'slow',
      () => {
        begun.resolve();
        return gate.promise;
      },
      { effect: 'read' },
    );
    const runs: unknown[] = [];
    const remove = tool('delete_rows', (input) => runs.push(input));
    const made = await agent({
      script: [{ toolCalls: [call('slow'), call('delete_rows')] }, 'ok'],
      tools: [slow, remove],
    });
    const running = made.evaluate({ maxParallelCalls: 1 });
    await begun.promise;
    const elsewhere = await openSession({ store: made.store, id: made.session.id });
    await elsewhere.eraseMessage(answerOf({ session: elsewhere }));
    gate.resolve('seen');
    expect(await running).toMatchObject({ status: 'completed', text: 'ok' });
    expect(runs).toEqual([]);
    expect(said(made.session).filter((text) => text.startsWith('tool:'))).toHaveLength(2);
  });

  test('while a resumed read runs: the resume is recorded with the next append (D68)', async () => {
    const begun = [deferred(), deferred()];
    const gate = deferred<string>();
    let runs = 0;
    const slow = tool(
      'slow',
      () => {
        begun[runs++]?.resolve();
        return runs === 1 ? new Promise(() => {}) : gate.promise;
      },
      { effect: 'read' },
    );
    const agentScript = [{ toolCalls: [call('slow')] }, 'ok'];
    const first = await agent({ script: agentScript, tools: [slow] });
    const { store } = first;
    void first.evaluate();
    await begun[0]?.promise;
    await store.releaseLease('session', (await store.readLease('session'))?.fence ?? 0);
    const made = await agent({ script: agentScript, tools: [slow], store });
    const running = made.evaluate({ resume: true, history: slidingWindow({ size: 9 }) });
    await begun[1]?.promise;
    const elsewhere = await openSession({ store, id: made.session.id });
    await elsewhere.eraseMessage(answerOf({ session: elsewhere }));
    gate.resolve('seen');
    expect(await running).toMatchObject({ status: 'completed', text: 'ok' });
    expect((await eventTypes(made.session)).filter((type) => type === 'evaluation/resumed')).toHaveLength(1);
  });

  test("a sibling's result that is recorded at the same time gets another position", async () => {
    const gate = deferred<string>();
    const begun = deferred();
    const slow = tool(
      'slow',
      () => {
        begun.resolve();
        return gate.promise;
      },
      { effect: 'read' },
    );
    const remove = tool('delete_rows', () => 'deleted', { needsApproval: true });
    const made = await agent({
      script: [{ toolCalls: [call('slow'), call('delete_rows')] }, 'ok'],
      tools: [slow, remove],
    });
    const running = made.evaluate();
    await begun.promise;
    // The reader's result is being appended when the other call is closed at the same position.
    const evaluation = made.session.state.record.evaluations.items.at(0);
    const append = made.store.append.bind(made.store);
    made.store.append = async (id, events, options) => {
      if (events.some((event) => event.type === 'message/recorded' && JSON.stringify(event).includes('seen'))) {
        made.store.append = append;
        const other = await openSession({ store: made.store, id });
        const [, waits] = other.state.record.evaluations.items.at(0)?.calls ?? [];
        await other.settle(waits as CallRef, { result: 'by hand' });
        const sequence = evaluation?.nextSequence ?? 0;
        const { promptNs, promptKey, conversationId } = evaluation ?? {};
        const base = { evaluationId: evaluation?.id, conversationId, promptNs, promptKey, createdAt: '' };
        const result = { role: 'tool', toolCallId: 'call_1_2', toolName: 'delete_rows', isError: true, content: [] };
        const message = { id: `${evaluation?.id}:${sequence}`, ...base, ...result, sequence, turn: 1 };
        await other.append([{ type: 'message/recorded', message }]);
      }
      return append(id, events, options);
    };
    gate.resolve('seen');
    expect(await running).toMatchObject({ status: 'completed' });
    expect(resultText(made.session, 'call_1_1')).toBe('seen');
  });

  test('edited arguments are erased with the message of the call', async () => {
    const { session, pending, messageId, store, evaluate } = await waiting();
    await session.approve(pending, { arguments: { where: 'ossifrage' } });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    await session.eraseMessage(messageId);
    await session.eraseMessage(session.messages().find(({ role }) => role === 'tool')?.id ?? '');
    const again = await openSession({ store, id: session.id });
    const log: unknown[] = [];
    for await (const event of again.events()) log.push(event);
    expect(JSON.stringify([log, again.state.record, session.state.record])).not.toContain('ossifrage');
  });

  test('in a log where an older version erased the message of an open call, the call never runs', async () => {
    const { session, messageId, evaluate, runs, pending } = await waiting();
    await session.approve(pending);
    await session.append([{ type: 'message/erased', messageId }]);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(runs).toEqual([]);
    expect(resultText(session, 'call_1_1')).toContain('erased');
  });
});
