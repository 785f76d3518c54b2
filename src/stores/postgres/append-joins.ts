import type { SessionSummary } from '../../core/summary/session-summary.ts';
import type { ReadyAppend } from './appends/append-statements.ts';
import type { Sql } from './connection/database.ts';

/** An append that is about to be committed. */
export interface JoinedAppend {
  readonly sessionId: string;
  /** The last seq of the append. */
  readonly seq: number;
  /** The summary of the session before the append; undefined for its first. */
  readonly before: SessionSummary | undefined;
  readonly summary: SessionSummary;
}

/** Runs SQL in the transaction of an append. */
export interface AppendTransaction {
  /** Runs one statement; returns its rows. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/**
 * Extra work in the transaction of appends, such as a job for a queue in the same database.
 *
 * Contract: `run` is called after the events were inserted and before the commit, with all appends of the transaction that `wants`
 * accepted. If it throws, its transaction is rolled back, and the appends reject. It may run again for the same append, in another
 * transaction, and never after the append was committed.
 */
export interface AppendJoin {
  /** Whether this append needs extra work. Others are committed in one statement, which is faster. */
  wants(append: JoinedAppend): boolean;
  run(transaction: AppendTransaction, appends: readonly JoinedAppend[]): Promise<void>;
}

/** The joins of a store. */
export class AppendJoins {
  readonly #joins = new Set<AppendJoin>();

  add(join: AppendJoin): () => void {
    const own: AppendJoin = { wants: (append) => join.wants(append), run: (sql, appends) => join.run(sql, appends) };
    this.#joins.add(own);
    return () => {
      this.#joins.delete(own);
    };
  }

  want(appends: readonly ReadyAppend[]): boolean {
    if (this.#joins.size === 0) return false;
    return [...this.#joins].some((join) => appends.some((append) => join.wants(joined(append))));
  }

  async run(sql: Sql, appends: readonly ReadyAppend[]): Promise<void> {
    const transaction: AppendTransaction = { query: (text, values) => sql.query({ text }, values) };
    for (const join of this.#joins) {
      const wanted = appends.map(joined).filter((append) => join.wants(append));
      if (wanted.length > 0) await join.run(transaction, wanted);
    }
  }
}

function joined({ sessionId, append: { expectedSeq, events, folded } }: ReadyAppend): JoinedAppend {
  return { sessionId, seq: expectedSeq + events.length, before: folded.before, summary: folded.after };
}
