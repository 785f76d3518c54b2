import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type HistoryManager, type SummaryRequest, summarize } from '../../src/history.ts';
import {
  cancelEvaluation,
  type HistoryCurated,
  type Model,
  type ModelRequest,
  memoryStore,
  type Session,
  type SessionEvent,
  scriptedModel,
  textOf,
} from '../../src/index.ts';
import { eraseMessage } from '../../src/session/erase-message.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { STORES } from '../session/stores.ts';
import { writeDraft } from '../support/write-draft.ts';
import { type Agent, type AgentOptions, agent, call, deferred, eventTypes, tool } from './agent.ts';

/** Summaries that are created before a request needs them (D56). */

const TURNS = 12;
const usage = { inputTokens: 100, outputTokens: 10 };
const ahead = summarize({ size: 6, low: 4, ahead: 3 });
const justAhead = summarize({ size: 6, low: 4, ahead: 1 });
const onTime = summarize({ size: 6, low: 4 });

const isSummary = ({ prompt }: ModelRequest): boolean => prompt.ns === 'holdfast';
const turnsOf = ({ requests }: Agent): readonly ModelRequest[] => requests.filter((request) => !isSummary(request));
const summariesOf = ({ requests }: Agent): readonly ModelRequest[] => requests.filter(isSummary);

const work = tool('work', (input) => `worked on ${JSON.stringify(input)}`, { effect: 'read' });

/** An agent that works for a number of turns; `summary` returns the texts of its summaries. */
function worker(
  options: Partial<AgentOptions> & {
    readonly turns?: number;
    readonly summary?: (request: ModelRequest) => Promise<string>;
    readonly said?: (request: ModelRequest) => Promise<void> | void;
  } = {},
): Promise<Agent> {
  const { turns = TURNS, summary, said, ...rest } = options;
  const texts = new WeakMap<ModelRequest, string>();
  const model: Model = scriptedModel(
    (request) => {
      if (isSummary(request)) return { text: 'placeholder', usage };
      return request.turn > turns
        ? { text: 'done', usage }
        : { toolCalls: [call('work', { turn: request.turn })], usage };
    },
    {
      beforePart: async (part, request) => {
        if (part.type !== 'finish') return;
        if (isSummary(request)) texts.set(request, (await summary?.(request)) ?? textOf(lastOf(request)));
        else await said?.(request);
      },
    },
  );
  // A summary contains the texts that it was created from.
  const script: Model = {
    ...model,
    async *stream(request) {
      for await (const part of model.stream(request)) {
        const text = texts.get(request);
        yield part.type === 'finish' && text !== undefined
          ? { type: 'finish', answer: { ...part.answer, content: [{ type: 'text', text: `[${text.length}]` }] } }
          : part;
      }
    },
  };
  return agent({ script, tools: [work], ...rest });
}

function lastOf({ messages }: ModelRequest): ModelRequest['messages'][number] {
  const message = messages.at(-1);
  if (!message) throw new Error('an empty request');
  return message;
}

async function eventsOf(session: Session): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
}

const repairsOf = async (session: Session): Promise<readonly string[]> =>
  (await eventsOf(session)).flatMap((event) =>
    event.type === 'history/curated' ? ((event as HistoryCurated).repairs ?? []) : [],
  );

const resultsIn = ({ session }: Agent): number =>
  session.state.record.messages.filter(({ role }) => role === 'tool').length;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

const said = (requests: readonly ModelRequest[]): readonly unknown[] =>
  requests.map(({ messages }) => messages.map(({ role, content }) => [role, content]));

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
        await cancelEvaluation(one.session);
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
