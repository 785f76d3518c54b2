import type { Evaluation } from '../../core/fold/evaluations.ts';
import { addUsage, NO_USAGE, type Usage } from '../../core/log/usage.ts';
import type { AnySession } from '../../session/session.ts';

/** What several evaluations use together: `budget: { …, over: sharedUsage }`. */
export interface SharedUsage {
  /** The usage that is recorded so far, of all that share it. */
  readonly total: Usage;
}

/** Options of `createSharedUsage`. */
export interface SharedUsageOptions {
  /** Sessions whose evaluations count from the start, with what they have used before. */
  readonly sessions?: readonly AnySession[];
}

/** Usage by evaluation. It is read from the log while an evaluation runs, so that the other runs see each response at once. */
export class UsagePool implements SharedUsage {
  readonly #byEvaluation = new Map<string, () => Usage>();

  get total(): Usage {
    return [...this.#byEvaluation.values()].reduce((sum, usage) => addUsage(sum, usage()), NO_USAGE);
  }

  /** Counts an evaluation, with what it has used before. Returns what ends the counting; the sum stays. */
  count(session: AnySession, evaluationId: string): () => void {
    const key = `${numberOf(session.store)}/${session.incarnation}/${session.id}/${evaluationId}`;
    const used = (): Usage => session.state.record.evaluations.get(evaluationId)?.totalUsage ?? NO_USAGE;
    this.#byEvaluation.set(key, used);
    return () => {
      const after = used();
      this.#byEvaluation.set(key, () => after);
    };
  }
}

/**
 * Creates a usage that several evaluations share, in one session or many: pass it as `over` in the `budget` of each. An evaluation
 * counts with all that its log has, also from before a crash. It lives in this process: after a restart, create it with the sessions
 * that share it.
 */
export function createSharedUsage({ sessions = [] }: SharedUsageOptions = {}): SharedUsage {
  const pool = new UsagePool();
  for (const session of sessions) {
    for (const { id } of mainEvaluations(session)) pool.count(session, id)();
  }
  return pool;
}

/** The evaluations of a session whose usage is part of no other's. */
export function mainEvaluations({ state }: AnySession): readonly Evaluation[] {
  const { evaluations } = state.record;
  return evaluations.items.filter(({ parent }) => !parent || !evaluations.has(parent.evaluationId));
}

/** Sessions of two stores may have the same id. */
function numberOf(store: object): number {
  const known = numbers.get(store) ?? ++newest;
  numbers.set(store, known);
  return known;
}

const numbers = new WeakMap<object, number>();
let newest = 0;
