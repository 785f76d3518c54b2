import { HoldfastError } from '../../../core/errors.ts';
import type { PgResult } from '../pg.ts';
import type { Sql, Statement } from './database.ts';
import { isBroken } from './postgres-errors.ts';

/** One connection while it is borrowed; remembers whether it can be used again. */
export class BorrowedConnection implements Sql {
  readonly #send: (statement: Statement, values?: readonly unknown[]) => Promise<PgResult>;
  /** Whether the connection must be closed instead of being given back. */
  isBroken = false;

  constructor(send: (statement: Statement, values?: readonly unknown[]) => Promise<PgResult>) {
    this.#send = send;
  }

  async send(statement: Statement, values?: readonly unknown[]): Promise<PgResult> {
    try {
      return await this.#send(statement, values);
    } catch (error) {
      this.isBroken ||= isBroken(error);
      throw error;
    }
  }

  async query<Row>(statement: Statement, values?: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.send(statement, values)).rows as Row[];
  }

  async run(statement: Statement, values?: readonly unknown[]): Promise<number> {
    return (await this.send(statement, values)).rowCount ?? 0;
  }

  /**
   * Ends a transaction that failed, for any reason. A connection that stays in it must not be used again: what the next caller sends
   * would be acknowledged and never committed.
   */
  async rollBack(): Promise<void> {
    if (this.isBroken) return;
    try {
      await this.send({ text: 'ROLLBACK' });
    } catch {
      this.isBroken = true;
    }
  }
}

/** PostgreSQL turns the COMMIT of a transaction in which a statement failed into a ROLLBACK, without an error. */
export function failedStatementIgnored(): HoldfastError {
  return new HoldfastError(
    'STORE_FAILED',
    'a statement of the transaction failed and its error was ignored, so nothing was committed; let `run` of the join throw it, or use a savepoint',
  );
}
