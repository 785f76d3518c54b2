/** Summaries that are created before a request needs them (D56). */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { HistoryCurated } from '../../src/core/log/events.ts';
import { type HistoryManager, type SummaryRequest, summarize } from '../../src/history.ts';
import { type Model, type ModelRequest, memoryStore, type Session, scriptedModel, textOf } from '../../src/index.ts';
import { eraseMessage } from '../../src/session/change/erase-message.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { writeDraft } from '../support/write-draft.ts';
import { agent, deferred, eventTypes } from './agent.ts';
import {
  ahead,
  eventsOf,
  isSummary,
  lastOf,
  onTime,
  resultsIn,
  summariesOf,
  turnsOf,
  until,
  usage,
  work,
  worker,
} from './summarizing-agent.ts';

const justAhead = summarize({ size: 6, low: 4, ahead: 1 });

const repairsOf = async (session: Session): Promise<readonly string[]> =>
  (await eventsOf(session)).flatMap((event) =>
    event.type === 'history/curated' ? ((event as HistoryCurated).repairs ?? []) : [],
  );

describe('D56: a summary that is created ahead', () => {
  test('and is not ready at the end is created by the evaluation that continues', async () => {
    const store = memoryStore();
    const never = deferred<string>();
    const first = await worker({ store, turns: 4, summary: () => never.promise });
    const { evaluationId } = await first.evaluate({ history: ahead });
    expect(summariesOf(first)).toHaveLength(1);
    expect(await eventTypes(first.session)).not.toContain('history/summarized');
    const second = await worker({ store, turns: 4 });
    await second.evaluate({ history: ahead, input: 'More.', continues: evaluationId });
    expect(textOf(lastOf(summariesOf(second)[0] as ModelRequest))).toBe(
      textOf(lastOf(summariesOf(first)[0] as ModelRequest)),
    );
    expect(await eventTypes(second.session)).toContain('history/summarized');
  });

  test('that fails is in the log, does not stop the evaluation, and is created by the request that needs it', async () => {
    let tries = 0;
    const one = await worker({
      turns: 7,
      summary: async () => {
        if (tries++ === 0) throw new Error('the summary model is down');
        return 'second try';
      },
    });
    expect(await one.evaluate({ history: ahead })).toMatchObject({ status: 'completed' });
    const [first, again] = summariesOf(one) as readonly [ModelRequest, ModelRequest];
    expect(textOf(lastOf(again))).toBe(textOf(lastOf(first)));
    // Turns 5 and 6 tried it, too; the request for turn 7 needed it.
    expect(one.requests.slice(0, one.requests.indexOf(again)).filter((request) => !isSummary(request))).toHaveLength(6);
    expect(await repairsOf(one.session)).toEqual([
      'summary-failed: the summary model is down; it is made when a request needs it',
    ]);
    expect(turnsOf(one)[6]?.messages.map(textOf).join()).toContain('Summary of the conversation so far');
  });

  test('one that fails when it is needed is in the log, too; the request is sent without it', async () => {
    const one = await worker({ turns: 6, summary: () => Promise.reject(new Error('down')) });
    expect(await one.evaluate({ history: onTime })).toMatchObject({ status: 'completed' });
    expect(await repairsOf(one.session)).toEqual(['summary-failed: down; the request was made without it']);
  });

  test('is not recorded after the end in the same commit, however close to it the summary is ready', async () => {
    const types = new Set<boolean>();
    for (let steps = 0; steps < 60; steps++) {
      const ready = deferred();
      const one = await worker({
        turns: 4,
        summary: async () => {
          await ready.promise;
          for (let i = 0; i < steps; i++) await undefined;
          return 'ready';
        },
        said: ({ turn }) => {
          if (turn === 5) ready.resolve();
        },
      });
      expect(await one.evaluate({ history: ahead })).toMatchObject({ status: 'completed' });
      const events = await eventTypes(one.session);
      expect(events.at(-1)).toBe('evaluation/completed');
      types.add(events.includes('history/summarized'));
    }
    expect(types).toEqual(new Set([true, false])); // both cases occurred: ready in time, and too late
  });

  test('is aborted when the evaluation is suspended, and not recorded after the suspension', async () => {
    const summary = deferred<string>();
    const one = await worker({ summary: () => summary.promise });
    expect(await one.evaluate({ history: ahead, maxTurns: 5 })).toMatchObject({ reason: 'TURN_LIMIT' });
    expect(summariesOf(one)[0]?.signal?.aborted).toBe(true);
    summary.resolve('late');
    await setImmediate();
    expect((await eventTypes(one.session)).at(-1)).toBe('evaluation/suspended');
  });

  test('does not end the draft of the response that is streaming at the same time', async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const first = await worker({ store, clock });
    const { evaluationId } = await first.evaluate({ history: onTime, maxTurns: 4 });
    // The leftovers of a process that was killed after it had recorded the turn.
    await writeDraft(store, 'session', [{ evaluationId, turn: 4, attempt: 1, blockId: 'b', delta: 'recorded' }]);
    const ready = deferred();
    const drafts: string[] = [];
    const model = scriptedModel((request) => (isSummary(request) ? 'before' : 'some words of a response'), {
      beforePart: async (part, request) => {
        if (isSummary(request)) return ready.promise;
        if (part.type !== 'finish') return;
        clock.advance(200);
        const chunks = async (): Promise<string> =>
          (await store.readDraft('session'))
            .filter(({ turn }) => turn === 5)
            .map(({ delta }) => delta)
            .join('');
        while ((await chunks()) === '') await setImmediate();
        ready.resolve();
        await until(() => second.session.state.record.summaries.length === 1);
        drafts.push(await chunks());
      },
    });
    const second = await agent({ script: model, tools: [work], store, clock });
    expect(await second.evaluate({ history: ahead, resume: true })).toMatchObject({ status: 'completed' });
    expect(drafts).toEqual(['some words of a response']);
    expect(await store.readDraft('session')).toEqual([]);
  });

  test('that fails while the last response is streaming is in the log, too', async () => {
    const failed = deferred<string>();
    const one = await worker({
      turns: 5,
      summary: () => failed.promise,
      said: async ({ turn }) => {
        if (turn !== 6) return;
        failed.reject(new Error('down'));
        await setImmediate();
      },
    });
    await one.evaluate({ history: justAhead });
    expect(await repairsOf(one.session)).toEqual(['summary-failed: down; it is made when a request needs it']);
  });

  test('a manager that requests summaries of nothing does not stop the evaluation', async () => {
    const one = await worker({ turns: 1 });
    const needs = [null, 'text', {}, { ahead: true }, { key: 'k', messages: null }] as unknown as SummaryRequest[];
    const history: HistoryManager = { name: 'odd', curate: (messages) => ({ messages, needs }) };
    expect(await one.evaluate({ history })).toMatchObject({ status: 'completed' });
    expect((await repairsOf(one.session)).join()).toContain('summary-failed');
  });

  test('counts against the budget', async () => {
    const one = await worker({ turns: 7 });
    const response = await one.evaluate({ history: justAhead });
    expect(response.usage.inputTokens).toBe((response.turns + 1) * usage.inputTokens);
    const two = await worker({ turns: 7 });
    const limited = await two.evaluate({ history: justAhead, budget: { maxInputTokens: 700 } });
    expect(limited).toMatchObject({ status: 'suspended', reason: 'BUDGET_EXCEEDED', turns: 6 });
  });

  test.for(['cancelled', 'deadline', 'signal'] as const)(
    'is aborted when the evaluation is stopped: %s',
    async (how) => {
      const clock = fakeClock();
      const store = memoryStore({ clock });
      const never = deferred<string>();
      const controller = new AbortController();
      const one = await worker({ store, clock, summary: () => never.promise });
      const deadline = clock.now() + 60_000;
      const response = one.evaluate({ history: ahead, deadline, signal: controller.signal });
      await until(() => turnsOf(one).length === 6);
      for (let i = 0; i < 20; i++) await setImmediate();
      if (how === 'cancelled') {
        await one.session.cancel();
        await until(() => clock.waiting > 0);
        clock.advance(100);
      } else if (how === 'deadline') clock.advance(60_001);
      else controller.abort();
      expect(await response).toMatchObject({ status: 'suspended' });
      expect(summariesOf(one)[0]?.signal?.aborted).toBe(true);
      expect(await eventTypes(one.session)).not.toContain('history/summarized');
      expect((await eventTypes(one.session)).at(-1)).toBe('evaluation/suspended');

      const again = await worker({ store, clock });
      expect(await again.evaluate({ history: ahead, resume: true })).toMatchObject({ status: 'completed' });
      expect(textOf(lastOf(summariesOf(again)[0] as ModelRequest))).toBe(
        textOf(lastOf(summariesOf(one)[0] as ModelRequest)),
      );
    },
  );

  test('is not recorded by a process that has lost its lease', async () => {
    const clock = fakeClock();
    const memory = memoryStore({ clock });
    const summary = deferred<string>();
    const stuck = deferred();
    const one = await worker({
      store: memory,
      clock,
      adapter: { leaseTtlMs: 1_000 },
      summary: () => summary.promise,
      said: async ({ turn }) => {
        if (turn === 5) await stuck.promise;
      },
    });
    const response = one.evaluate({ history: ahead });
    response.catch(() => {});
    await until(() => turnsOf(one).length === 5);
    const { fence } = (await memory.readLease(one.session.id)) ?? { fence: 0 };
    await memory.releaseLease(one.session.id, fence);
    const other = await worker({ store: memory, clock, turns: 4 });
    await other.evaluate({ history: ahead, resume: true });
    summary.resolve('too late');
    stuck.resolve();
    await expect(response).rejects.toMatchObject({ code: 'SESSION_CONFLICT' });
    const made = (await eventsOf(other.session)).filter((event) => event.type === 'history/summarized');
    expect(made.map((event) => (event as { text?: string }).text)).not.toContain('[8]');
    expect((await eventTypes(other.session)).at(-1)).toBe('evaluation/completed');
  });

  test('of a message that is erased meanwhile is not recorded, and created again without it', async () => {
    const store = memoryStore();
    const gate = deferred();
    let asked = 0;
    const one = await worker({
      store,
      summary: async (request) => {
        if (asked++ === 0) await gate.promise;
        return textOf(lastOf(request));
      },
    });
    const response = one.evaluate({ history: ahead });
    await until(() => resultsIn(one) === 6);
    const result = one.session.state.record.messages.toArray().find(({ role }) => role === 'tool');
    const other = await agent({ script: [], store });
    await eraseMessage(other.session, result?.id ?? '');
    gate.resolve();
    expect(await response).toMatchObject({ status: 'completed' });
    const [first, second] = summariesOf(one).map((request) => textOf(lastOf(request)));
    expect(first).toContain('worked on {"turn":1}');
    expect(second).not.toContain('worked on {"turn":1}');
    const events = await eventsOf(one.session);
    const erasedAt = events.findIndex(({ type }) => type === 'message/erased');
    const texts = events.flatMap((event) => (event.type === 'history/summarized' ? [event.text] : []));
    expect(erasedAt).toBeGreaterThan(0);
    expect(texts[0]).toBe(`[${second?.length}]`);
  });

  test('by a model that ignores its signal delays neither the end nor the next evaluation', async () => {
    const never = new Promise<never>(() => {});
    const deaf: Model = {
      provider: 'test',
      modelId: 'deaf',
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) }),
    };
    const one = await worker({ turns: 4, adapter: { summaryModel: deaf } });
    expect(await one.evaluate({ history: ahead })).toMatchObject({ status: 'completed' });
    expect(await one.evaluate({ history: ahead })).toMatchObject({ status: 'completed' });
  });
});
