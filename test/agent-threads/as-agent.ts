/** A run as in an agent's adapter, on a store whose appends can be delayed. */
import type { EvaluationEvent } from '../../src/index.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { evaluateInSession } from '../../src/loop/evaluate/evaluate-in-session.ts';
import { type Run, record } from '../../src/loop/evaluate/run.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSession, type Session } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';

/** A delayed append: `reached` resolves when it was called. */
export interface Held {
  readonly reached: PromiseWithResolvers<void>;
  readonly release: PromiseWithResolvers<void>;
}

export interface AgentRun {
  readonly run: Run;
  readonly session: Session;
  /** The events that listeners receive. */
  readonly events: readonly EvaluationEvent[];
  /** Delays the next append. */
  hold(): Held;
}

/** Runs `ask` as an agent would be run. */
export async function asAgent(
  ask: (agent: AgentRun) => Promise<void>,
  { clock }: { readonly clock?: Clock } = {},
): Promise<Session> {
  const inner = memoryStore();
  let held: Held | undefined;
  const store: Store = {
    ...inner,
    async append(...args) {
      held?.reached.resolve();
      await held?.release.promise;
      return inner.append(...args);
    },
  };
  const session = await openSession({ store, id: 'one', ...(clock && { clock }) });
  const events: EvaluationEvent[] = [];
  const hold = (): Held => {
    held = { reached: Promise.withResolvers(), release: Promise.withResolvers() };
    return held;
  };
  const agent = {
    adapterType: 'test',
    prepare: async () => {},
    runCalls: async () => {},
    async ask(run: Run): Promise<void> {
      await ask({ run, session, events, hold });
      await record(run, [{ type: 'evaluation/completed', evaluationId: run.evaluationId }]);
    },
  };
  const model = scriptedModel([]);
  const settings = {
    model,
    summaryModel: model,
    agent,
    maxModelRetries: 0,
    maxProviderWaitMs: Number.POSITIVE_INFINITY,
    prices: {},
    leaseTtlMs: undefined,
    maxBlockedMs: undefined,
    random: () => 0,
  };
  const prompt = definePrompt({ ns: 'test', key: 'threads', instructions: 'Work.' });
  await evaluateInSession(settings, session, prompt, { input: 'go', onEvent: (event) => void events.push(event) });
  return session;
}
