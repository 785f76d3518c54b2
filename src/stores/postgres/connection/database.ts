import { type HoldfastError, isHoldfastError } from '../../../core/errors.ts';
import { storeClosed } from '../../refusals.ts';
import type { PgClient, PgPool, PgQuery, PgResult } from '../pg.ts';
import { BorrowedConnection, failedStatementIgnored } from './borrowed-connection.ts';
import { ClientLoans } from './client-loans.ts';
import { isBroken, isOutdated, isTransient, storeError } from './postgres-errors.ts';
import { StatementTimeouts } from './statement-timeouts.ts';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** A statement with a name: servers plan it once for each connection. Text without a name is planned each time. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** Runs statements, in a transaction or each in its own. */
export interface Sql {
  query<Row = Record<string, unknown>>(statement: Statement, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs a statement that returns no rows, which is faster; resolves to the number of rows that it wrote. */
  run(statement: Statement, values?: readonly unknown[]): Promise<number>;
}

interface DatabaseOptions {
  readonly schema: string;
  /** How long a call tries again while the database cannot be reached. */
  readonly retryMs: number;
  /** How long one statement may take. */
  readonly timeoutMs: number;
}

/**
 * The connections of a store. A statement that fails because the connection broke is run again on another one: every statement of
 * the store may run twice, since the first run may have been committed in the instant that the connection broke.
 */
export class PostgresDatabase implements Sql {
  readonly schema: string;
  readonly #pool: PgPool;
  readonly #options: DatabaseOptions;
  readonly #loans: ClientLoans;
  readonly #timeouts: StatementTimeouts<PgClient>;
  /** The names of statements as servers know them. */
  readonly #names = new Map<string, string>();
  readonly #handled = new WeakSet<object>();
  /**
   * Starts a transaction that the server ends when its client is silent for too long: the locks of a machine that lost its power would
   * stay until the server finds out that its connection is dead, which takes hours by default.
   */
  readonly #begin: Statement;
  /** Whether statements are prepared by name; not behind a proxy that gives each transaction another connection. */
  prepares = false;
  /** Throws `STORE_TOO_NEW` when a newer Holdfast has changed the tables. */
  checkLayout: () => Promise<void> = async () => {};
  #closed = false;

  constructor(pool: PgPool, options: DatabaseOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#loans = new ClientLoans(pool);
    this.#timeouts = new StatementTimeouts(options.timeoutMs, (client) => void this.#cancel(client).catch(ignore));
    this.schema = options.schema;
    this.#begin = { text: `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(options.timeoutMs)}` };
    pool.on('error', ignore); // of an idle connection: the next statement uses another one
    pool.on('connect', this.#handleErrors);
  }

  /**
   * Ignores the errors of a connection: they also reject the statement that waits for it. The pool calls this before it resolves
   * `connect`: a connection may end in the instant that it is open, and an error without a handler ends the process.
   */
  readonly #handleErrors = (client: Pick<PgClient, 'on'>): void => {
    if (this.#handled.has(client)) return;
    this.#handled.add(client);
    client.on('error', ignore);
  };

  /** How many connections the pool may have. */
  get connections(): number {
    return this.#pool.options?.max ?? 10; // as a pool of `pg` without the option
  }

  /** The quoted name of a table. */
  table(name: string): string {
    return `"${this.schema}".${name}`;
  }

  /** Runs a statement in a transaction of its own; again if the connection broke. */
  async query<Row>(statement: Statement, values?: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.retrying(() => this.#once(statement, values))).rows as Row[];
  }

  async run(statement: Statement, values?: readonly unknown[]): Promise<number> {
    return (await this.retrying(() => this.#once(statement, values))).rowCount ?? 0;
  }

  /** Runs work in a transaction; all of it again if it was disturbed or the connection broke. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.retrying(() => this.tryTransaction(work));
  }

  /** As `transaction`, once. */
  async tryTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#workOn(await this.#connect(), this.#giveBack, async (connection) => {
      await connection.send(this.#begin);
      try {
        const value = await work(connection);
        const { command } = await connection.send({ text: 'COMMIT' });
        if (command === 'ROLLBACK') throw failedStatementIgnored();
        return value;
      } catch (error) {
        await connection.rollBack();
        throw error;
      }
    });
  }

  /** Runs work on one connection, once. Errors are those of the driver. */
  async withClient<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#workOn(await this.#connect(), this.#giveBack, work);
  }

  /** As `withClient`, for work that runs beside the calls: it takes no connection from a caller that sends one statement after the other. */
  async aside<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#workOn(await this.#connectAside(), release, work);
  }

  readonly #giveBack = (client: PgClient, isBroken: boolean): void => this.#loans.giveBack(client, isBroken);

  async #workOn<T>(
    client: PgClient,
    giveBack: (client: PgClient, isBroken: boolean) => void,
    work: (connection: BorrowedConnection) => Promise<T>,
  ): Promise<T> {
    const connection = new BorrowedConnection((statement, values) => this.#send(client, statement, values));
    try {
      return await work(connection);
    } finally {
      giveBack(client, connection.isBroken);
    }
  }

  /** As `withClient` for one statement: every append comes here. */
  async #once(statement: Statement, values?: readonly unknown[]): Promise<PgResult> {
    const client = await this.#connect();
    let broken = false;
    try {
      return await this.#send(client, statement, values);
    } catch (error) {
      broken = isBroken(error);
      throw error;
    } finally {
      this.#loans.giveBack(client, broken);
    }
  }

  /**
   * Runs a statement once, on a connection that is free at this instant; undefined if there is none. Errors are those of the driver.
   */
  runAtOnce(statement: Statement, values: readonly unknown[]): Promise<number> | undefined {
    const client = this.#closed ? undefined : this.#loans.take();
    if (!client) return undefined;
    return this.#send(client, statement, values).then(
      ({ rowCount }) => {
        this.#loans.giveBack(client, false);
        return rowCount ?? 0;
      },
      (error: unknown) => {
        this.#loans.giveBack(client, isBroken(error));
        throw error;
      },
    );
  }

  /** Whether work that started at `since` may not run again after this error: the time to retry is over. */
  isOutOfTime(error: unknown, since: number): boolean {
    return isTransient(error) && performance.now() - since > this.#options.retryMs;
  }

  #connect(): PgClient | Promise<PgClient> {
    if (this.#closed) throw storeClosed();
    return this.#loans.take() ?? this.#connectAside();
  }

  async #connectAside(): Promise<PgClient> {
    if (this.#closed) throw storeClosed();
    const connecting = this.#pool.connect();
    // The caller's pool may wait without a limit while its connections are in use.
    const client = await this.#timeouts.limit(connecting).catch((error: unknown) => {
      connecting.then((late) => late.release(), ignore);
      throw error;
    });
    this.#handleErrors(client); // the caller's pool may have opened it earlier
    return client;
  }

  #send(client: PgClient, statement: Statement, values: readonly unknown[] = []): Promise<PgResult> {
    return this.#timeouts.limit(client.query(this.#queryOf(statement, values)), client);
  }

  /**
   * Cancels the statement of a connection that is being closed: the server would work on it until it ends, and keep its locks. Behind a
   * pooling proxy the connection to the server is another client's by now.
   */
  async #cancel({ processID }: PgClient): Promise<void> {
    if (!processID || !this.prepares || this.#closed) return;
    const client = await this.#connectAside();
    const text = 'SELECT pg_cancel_backend($1)';
    // Not cancelled itself if it takes too long.
    await this.#timeouts.limit(client.query({ text, values: [processID] })).then(
      () => client.release(),
      () => client.release(true),
    );
  }

  #queryOf({ name, text }: Statement, values: readonly unknown[]): PgQuery {
    if (name === undefined || !this.prepares) return { text, values: values as unknown[] };
    let known = this.#names.get(name);
    if (known === undefined) {
      known = `hf:${this.schema}:${name}`;
      this.#names.set(name, known);
    }
    return { name: known, text, values: values as unknown[] };
  }

  /** Runs work again while the database cannot be reached or is disturbed. Its errors become typed. */
  async retrying<T>(
    work: () => Promise<T>,
    typed: (error: unknown) => HoldfastError | Promise<HoldfastError> = (error) => this.#typed(error),
  ): Promise<T> {
    const deadline = performance.now() + this.#options.retryMs;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await work();
      } catch (error) {
        if (!isTransient(error) || performance.now() + pause > deadline || this.#closed) throw await typed(error);
        await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
      }
    }
  }

  async #typed(error: unknown): Promise<HoldfastError> {
    const typed = storeError(error);
    if (!isOutdated(error)) return typed;
    const cause = await this.checkLayout().catch((reason: unknown) => reason);
    return isHoldfastError(cause, 'STORE_TOO_NEW') ? cause : typed;
  }

  /** Ends the pool if it is the store's own. */
  async close(owned: boolean): Promise<void> {
    this.#closed = true;
    if (!owned) {
      this.#pool.removeListener('error', ignore);
      this.#pool.removeListener('connect', this.#handleErrors);
      return;
    }
    await keepingAlive(() => this.#pool.end());
  }
}

/** Idle connections do not keep the process alive; while they are being closed, this does. */
export async function keepingAlive<T>(work: () => Promise<T>): Promise<T> {
  const alive = setInterval(ignore, 60_000);
  return work().finally(() => clearInterval(alive));
}

function release(client: PgClient, isBroken: boolean): void {
  client.release(isBroken);
}

function ignore(): void {}
