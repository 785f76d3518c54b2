import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { textOf } from '../../src/index.ts';
import { STORES } from '../session/stores.ts';
import { type Agent, deferred, eventTypes } from './agent.ts';
import { ahead, eventsOf, onTime, resultsIn, said, summariesOf, turnsOf, until, worker } from './summarizing-agent.ts';

describe.each(STORES)('D56: a summary that is created ahead, on %s', (_, open) => {
  test('leads to the same requests and summaries as one that is created on demand', async () => {
    const [early, late] = [await worker({ store: await open() }), await worker({ store: await open() })];
    expect(await early.evaluate({ history: ahead })).toMatchObject({ status: 'completed' });
    expect(await late.evaluate({ history: onTime })).toMatchObject({ status: 'completed' });
    expect(said(turnsOf(early))).toEqual(said(turnsOf(late)));
    const texts = async ({ session }: Agent): Promise<readonly unknown[]> =>
      (await eventsOf(session)).flatMap((event) => (event.type === 'history/summarized' ? [event.text] : []));
    const made = await texts(early);
    expect(made.length).toBeGreaterThan(2);
    // The last fold may be too far away to be reached.
    expect(made.slice(0, (await texts(late)).length)).toEqual(await texts(late));
    expect(summariesOf(early)).toHaveLength(made.length);
  });

  test('delays no request until one needs it; that one waits for it, and it is created once', async () => {
    const gate = deferred();
    const one = await worker({
      store: await open(),
      summary: async () => {
        await gate.promise;
        return 'late';
      },
    });
    const response = one.evaluate({ history: ahead });
    // System, user and five groups: the sixth group fills the window, the seventh makes it fold.
    await until(() => resultsIn(one) === 6);
    await setImmediate();
    expect(turnsOf(one)).toHaveLength(6);
    expect(summariesOf(one)).toHaveLength(1);
    expect(turnsOf(one).at(-1)?.messages).toHaveLength(2 + 2 * 5);
    gate.resolve();
    expect(await response).toMatchObject({ status: 'completed' });
    expect(turnsOf(one)[6]?.messages.map(textOf)).toContain('Summary of the conversation so far:\n\n[4]');
    const keys = (await eventsOf(one.session)).flatMap((event) =>
      event.type === 'history/summarized' ? [event.key] : [],
    );
    expect(new Set(keys).size).toBe(keys.length);
    expect(summariesOf(one)).toHaveLength(keys.length);
  });

  test('is recorded before the end of the evaluation or not at all, whichever is ready first', async () => {
    for (const last of ['summary', 'response', 'both'] as const) {
      const gates = { summary: deferred(), response: deferred() };
      const one = await worker({
        store: await open(),
        turns: 4,
        summary: async () => {
          await gates.summary.promise;
          return 'ready';
        },
        said: async ({ turn }) => {
          if (turn === 5) await gates.response.promise;
        },
      });
      const response = one.evaluate({ history: ahead });
      await until(() => turnsOf(one).length === 5 && summariesOf(one).length === 1);
      if (last === 'summary') gates.response.resolve();
      else gates.summary.resolve();
      if (last === 'response') await until(() => one.session.state.record.summaries.length === 1);
      if (last === 'both') gates.response.resolve();
      if (last === 'response') gates.response.resolve();
      expect(await response).toMatchObject({ status: 'completed', text: 'done' });
      gates.summary.resolve();
      await setImmediate();
      const types = await eventTypes(one.session);
      expect(types.at(-1)).toBe('evaluation/completed');
      if (last !== 'both') expect(types.includes('history/summarized')).toBe(last === 'response');
      expect(summariesOf(one)[0]?.signal?.aborted).toBe(true);
    }
  });
});
