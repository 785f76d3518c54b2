import { addUsage, NO_USAGE, type Usage } from '../../core/log/usage.ts';
import type { AnySession } from '../../session/session.ts';
import { perSession } from '../evaluate/per-session.ts';

/** What the recorded responses of an evaluation with its children, or of a whole session, used. */
export interface LedgerEntry {
  readonly all: Usage;
  /** Of it, by model: what was recorded without a cost. */
  readonly withoutCost: ReadonlyMap<string, Usage>;
}

const EMPTY: LedgerEntry = { all: NO_USAGE, withoutCost: new Map() };

/** Adds up recorded usage for cost limits. Reads every record once per session handle, and none without such a limit. */
export class UsageLedger {
  readonly #session: AnySession;
  readonly #entries = new Map<string | undefined, { all: Usage; withoutCost: Map<string, Usage> }>();
  #seen = 0;

  constructor(session: AnySession) {
    this.#session = session;
  }

  /** The entry of an evaluation with its children; without an id that of the session. */
  entryOf(evaluationId: string | undefined): LedgerEntry {
    const { usage: records } = this.#session.state.record;
    for (; this.#seen < records.length; this.#seen++) {
      const record = records.at(this.#seen);
      if (!record) continue;
      for (const id of this.#charged(record.evaluationId)) this.#add(id, record.usage, record.model ?? '');
    }
    return this.#entries.get(evaluationId) ?? EMPTY;
  }

  #add(id: string | undefined, usage: Usage, model: string): void {
    const entry = this.#entries.get(id) ?? { all: NO_USAGE, withoutCost: new Map<string, Usage>() };
    entry.all = addUsage(entry.all, usage);
    if (usage.costUsd === undefined) {
      entry.withoutCost.set(model, addUsage(entry.withoutCost.get(model) ?? NO_USAGE, usage));
    }
    this.#entries.set(id, entry);
  }

  /** The session, the evaluation and every evaluation above it (D52). */
  #charged(evaluationId: string): ReadonlySet<string | undefined> {
    const { evaluations } = this.#session.state.record;
    const charged = new Set<string | undefined>([undefined]);
    for (let id: string | undefined = evaluationId; id !== undefined && !charged.has(id); ) {
      charged.add(id);
      id = evaluations.get(id)?.parent?.evaluationId;
    }
    return charged;
  }
}

/** The ledger of a session. */
export const usageLedger: (session: AnySession) => UsageLedger = perSession((session) => new UsageLedger(session));
