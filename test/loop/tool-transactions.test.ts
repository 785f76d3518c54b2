import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineSlice, isUserEvent, type SessionEvent, type ToolContext, toolContent } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { until } from '../session/log-of.ts';
import { advancing, agent, call, deferred, resultText, tool } from './agent.ts';

interface Noted {
  readonly type: 'note/added';
  readonly text: string;
}
const notes = defineSlice({
  name: 'notes',
  initial: [] as string[],
  rollback: true,
  on: { 'note/added': (items, event: Noted) => [...items, event.text] },
});
/** All attempts, whatever their outcome. */
const tries = defineSlice({
  name: 'tries',
  initial: [] as string[],
  rollback: false,
  on: { 'note/added': (items, event: Noted) => [...items, event.text] },
});
const slices = [notes, tries];
const note = ({ session }: ToolContext, text: string): Promise<void> => session.dispatch({ type: 'note/added', text });

async function logOf(session: { events(): AsyncIterable<SessionEvent> }): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
}

describe('D21: events that a tool dispatches are committed together with its result', () => {
  test('they are invisible before, and visible with the result', async () => {
    const gate = deferred();
    const add = tool('add', async (_, context) => {
      await note(context, 'a');
      await note(context, 'b');
      await gate.promise;
      return 'added';
    });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('add')] }, 'ok'], tools: [add], slices });
    const seen: string[] = [];
    session.observe(notes, (_, after) => {
      seen.push(`${after.join()} ${resultText(session, 'call_1_1')}`);
    });
    const response = evaluate();
    while (session.state.record.toolStarts.length === 0) await setImmediate();
    await setImmediate();
    expect(session.select(notes).all()).toEqual([]);
    gate.resolve();
    await response;
    expect(seen).toEqual(['a,b added']);
    const log = await logOf(session);
    const at = log.findIndex((event) => isUserEvent(event, 'note/added'));
    expect(log.slice(at, at + 3).map(({ type }) => type)).toEqual(['note/added', 'note/added', 'message/recorded']);
  });

  test('a handler reads its own staged events, never a sibling’s', async () => {
    const gates = [deferred(), deferred()];
    const add = tool('add', async ({ n }: { n: number }, context) => {
      await note(context, `from ${n}`);
      gates[n]?.resolve();
      await gates[1 - n]?.promise; // both have dispatched by now
      return context.session.select(notes).all().join();
    });
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('add', { n: 0 }), call('add', { n: 1 })] }, 'ok'],
      tools: [add],
      slices,
    });
    await evaluate();
    expect([resultText(session, 'call_1_1'), resultText(session, 'call_1_2')]).toEqual(['from 0', 'from 1']);
    expect(session.select(notes).all().toSorted()).toEqual(['from 0', 'from 1']);
  });

  test('a later call sees the events of an earlier one', async () => {
    const add = tool('add', async (_, context) => {
      await note(context, 'x');
      return String(context.session.select(notes).all().length);
    });
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('add')] }, { toolCalls: [call('add')] }, 'ok'],
      tools: [add],
      slices,
    });
    await evaluate();
    expect(resultText(session, 'call_2_1')).toBe('2');
  });

  test('of a failed tool are marked as discarded; slices that roll back skip them, the others fold them', async () => {
    const add = tool('add', async (_, context) => {
      await note(context, 'tried');
      throw new Error('no');
    });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('add')] }, 'ok'], tools: [add], slices });
    await evaluate();
    expect(session.select(notes).all()).toEqual([]);
    expect(session.select(tries).all()).toEqual(['tried']);
    expect((await logOf(session)).find((event) => isUserEvent(event, 'note/added'))).toMatchObject({ discarded: true });
  });

  test('of a tool that reports an error, too', async () => {
    const add = tool('add', async (_, context) => {
      await note(context, 'tried');
      return toolContent([{ type: 'text', text: 'no' }], { isError: true });
    });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('add')] }, 'ok'], tools: [add], slices });
    await evaluate();
    expect([session.select(notes).all(), session.select(tries).all()]).toEqual([[], ['tried']]);
  });

  test('of a retried tool are only those of the last attempt', async () => {
    const clock = fakeClock();
    let n = 0;
    const add = tool(
      'add',
      async (_, context) => {
        await note(context, `try ${++n}`);
        if (n < 3) throw new Error('not yet');
        return 'ok';
      },
      { effect: 'idempotent', retries: 2 },
    );
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('add')] }, 'ok'],
      tools: [add],
      slices,
      clock,
    });
    await advancing(clock, evaluate());
    expect([session.select(notes).all(), session.select(tries).all()]).toEqual([['try 3'], ['try 3']]);
  });

  test('dispatching after the tool returned rejects, and nothing is written', async () => {
    const late = deferred<unknown>();
    const gate = deferred();
    const add = tool('add', (_, context) => {
      void gate.promise.then(() => note(context, 'late')).then(late.resolve, late.resolve);
      return 'done';
    });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('add')] }, 'ok'], tools: [add], slices });
    await evaluate();
    gate.resolve();
    expect(await late.promise).toMatchObject({
      code: 'SESSION_CLOSED',
      message: expect.stringContaining('dispatch before the tool returns'),
    });
    expect((await logOf(session)).some((event) => isUserEvent(event, 'note/added'))).toBe(false);
  });

  test('so does dispatching after a timeout', async () => {
    const clock = fakeClock();
    const late = deferred<unknown>();
    const gate = deferred();
    const add = tool('add', (_, context) => gate.promise.then(() => note(context, 'late')).catch(late.resolve), {
      effect: 'idempotent',
      timeoutMs: 1_000,
    });
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('add')] }, 'ok'],
      tools: [add],
      slices,
      clock,
    });
    await advancing(clock, evaluate());
    gate.resolve();
    expect(await late.promise).toMatchObject({ code: 'SESSION_CLOSED' });
    expect(session.select(notes).all()).toEqual([]);
  });

  test.for([
    ['a type that is none', { type: 'nonsense' }],
    ['no JSON', { type: 'note/added', text: 1n }],
  ] as const)('an invalid event (%s) fails the call, not the run (D20)', async ([, event]) => {
    const add = tool('add', (_, { session }) => session.dispatch(event as never));
    const other = tool('other', () => 'fine', { effect: 'idempotent' });
    const { session, evaluate, results } = await agent({
      script: [{ toolCalls: [call('add'), call('other')] }, 'ok'],
      tools: [add, other],
      slices,
    });
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'ok' });
    expect(results().call_1_1?.isError).toBe(true);
    expect(resultText(session, 'call_1_2')).toBe('fine');
  });

  test('an event that is too large fails the call, not the run (D20)', async () => {
    const add = tool('add', async (_, context) => note(context, 'x'.repeat(5_000_000)), { effect: 'idempotent' });
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('add')] }, 'ok'], tools: [add], slices });
    expect(await evaluate()).toMatchObject({ status: 'completed', text: 'ok' });
    expect(resultText(session, 'call_1_1')).toMatch(/"add" ran, but its result was refused: .*over the limit/);
  });

  test('a dispatch after the tool has returned is rejected with a warning, not an unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const warnings: string[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    const onWarning = ({ name, message }: Error): void => void (name === 'HoldfastWarning' && warnings.push(message));
    process.on('unhandledRejection', onUnhandled);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('unhandledRejection', onUnhandled).off('warning', onWarning));
    let late: () => void = () => {};
    const leave = tool('leave', (_, context) => {
      late = () => {
        void note(context, 'late');
        void note(context, 'later');
      };
    });
    const { session, evaluate } = await agent({
      script: [{ toolCalls: [call('leave')] }, 'ok'],
      tools: [leave],
      slices,
    });
    await evaluate();
    late();
    await until(() => warnings.length > 0);
    await setImmediate();
    expect(unhandled).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/was not recorded: this transaction has ended/)]);
    expect(session.select(notes).all()).toEqual([]);
  });

  test('a session cannot be restored inside a tool', async () => {
    const undo = tool('undo', (_, { session }) => session.restore());
    const { session, evaluate } = await agent({ script: [{ toolCalls: [call('undo')] }, 'ok'], tools: [undo] });
    await evaluate();
    expect(resultText(session, 'call_1_1')).toMatch(/cannot be restored inside a tool/);
  });

  test('events of reconcile and compensate are committed with the result', async () => {
    const script = [{ toolCalls: [call('pay'), call('sync')] }, 'ok'];
    const crash = (): Promise<never> => new Promise(() => {});
    const first = await agent({
      script,
      tools: [tool('pay', crash), tool('sync', crash, { effect: 'idempotent' })],
      slices,
    });
    void first.evaluate();
    while (first.session.state.record.toolStarts.length < 2) await setImmediate();
    await first.store.releaseLease('session', (await first.store.readLease('session'))?.fence ?? 0);
    const second = await agent({
      script,
      tools: [
        tool('pay', crash, {
          reconcile: async (_, context) => {
            await note(context, 'paid');
            return { happened: true, result: 'paid' };
          },
        }),
        tool('sync', (_, context) => note(context, 'synced'), {
          effect: 'idempotent',
          compensate: (_, context) => note(context, 'cleaned up'),
        }),
      ],
      slices,
      store: first.store,
    });
    expect(await second.evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(second.session.select(notes).all().toSorted()).toEqual(['cleaned up', 'paid', 'synced']);
  });
});
