import { HoldfastError, messageOf } from '../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../core/known-options.ts';
import type { Doorbell } from '../ports/doorbell.ts';
import { reporter } from '../session/report-errors.ts';
import type { JoinedAppend } from '../stores/postgres/append-joins.ts';
import type { PostgresStore } from '../stores/postgres/postgres-store.ts';

/** The part of a `PgBoss` of pg-boss 12 that is used. */
export interface JobQueue {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  start(): Promise<unknown>;
  stop(options?: { readonly graceful?: boolean; readonly timeout?: number }): Promise<void>;
  createQueue(name: string, options: { readonly policy: 'short'; readonly notify: boolean }): Promise<void>;
  insert(
    name: string,
    jobs: { readonly data: object; readonly singletonKey: string }[],
    options: { readonly db: JobDatabase },
  ): Promise<unknown>;
  work(
    name: string,
    options: { readonly batchSize: number; readonly pollingIntervalSeconds: number },
    handler: (jobs: readonly { readonly data: unknown }[]) => Promise<void>,
  ): Promise<string>;
  offWork(name: string): Promise<void>;
}

/** Runs SQL for pg-boss. */
export interface JobDatabase {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** Options of `pgBossDoorbell`. */
export interface PgBossDoorbellOptions {
  /** The name of the queue; `holdfast` unless given. */
  readonly queue?: string;
  /** The schema of pg-boss, when it is created here; `pgboss` unless given. */
  readonly schema?: string;
  /** Receives errors of pg-boss, which recovers by itself. By default a process warning. */
  readonly onError?: (error: unknown) => void;
}

/** A doorbell on pg-boss. */
export interface PgBossDoorbell extends Doorbell {
  /** Enqueues nothing more, and stops the pg-boss that was created here. */
  close(): Promise<void>;
}

const KNOWN: KnownOptions<PgBossDoorbellOptions> = { queue: true, schema: true, onError: true };
const BATCH = 100;
/** pg-boss notices jobs at once when it listens, and this often when it does not. */
const POLL_SECONDS = 0.5;

/**
 * Rings through pg-boss: an append that gives a session work enqueues a job in its own transaction, and one of the workers that listen
 * takes it. Every process that appends needs it for its own store, also one that runs no worker. Pass the address of the database, or a
 * started `PgBoss` of your own. The queue notifies, and one that was created here polls twice a second.
 *
 * The job holds nothing but the session's id, and its handler only rings: it ends at once, and a job that is lost, doubled or late does
 * no harm.
 */
export async function pgBossDoorbell(
  store: PostgresStore,
  database: string | JobQueue,
  options: PgBossDoorbellOptions = {},
): Promise<PgBossDoorbell> {
  refuseUnknownOptions('pgBossDoorbell', options, KNOWN);
  const { queue = 'holdfast', schema = 'pgboss', onError = warn } = options;
  const isOwn = typeof database === 'string';
  const boss = isOwn ? await createBoss(database, schema) : database;
  // An error event without a listener, or with one that throws, ends the process.
  const report = reporter(onError);
  boss.on('error', (error) => report(asError(error)));
  try {
    if (isOwn) await boss.start();
    await boss.createQueue(queue, { policy: 'short', notify: true });
  } catch (cause) {
    if (isOwn) await boss.stop({ graceful: false }).catch(() => {});
    throw new HoldfastError(
      'STORE_FAILED',
      `pg-boss could not start: ${messageOf(cause)}; check its database and try again`,
      {
        cause,
      },
    );
  }
  const leave = store.joinAppends({
    wants: givesWork,
    async run(transaction, appends) {
      const db: JobDatabase = {
        executeSql: async (text, values) => ({ rows: [...(await transaction.query(text, values))] }),
      };
      const ids = [...new Set(appends.map(({ sessionId }) => sessionId))];
      await boss.insert(
        queue,
        ids.map((sessionId) => ({ data: { sessionId }, singletonKey: sessionId })),
        { db },
      );
    },
  });
  return {
    async listen({ ring }) {
      const how = { batchSize: BATCH, pollingIntervalSeconds: POLL_SECONDS };
      await boss.work(queue, how, async (jobs) => {
        for (const { data } of jobs) ring((data as { readonly sessionId?: string } | null)?.sessionId);
      });
      return () => boss.offWork(queue);
    },
    async close() {
      leave();
      if (isOwn) await boss.stop({ graceful: false });
    },
  };
}

/** Whether a session had no work before an append and has some now that no process is doing. */
function givesWork({ before, summary }: JoinedAppend): boolean {
  return summary.work !== undefined && summary.work !== 'evaluation' && before?.work === undefined;
}

async function createBoss(connectionString: string, schema: string): Promise<JobQueue> {
  try {
    const { PgBoss } = await import('pg-boss');
    // Its listener (12.35) ends the process when its connection is cut while it connects: it removes its error handlers first.
    return new PgBoss({ connectionString, schema, useListenNotify: false, max: 4 }) as unknown as JobQueue;
  } catch (cause) {
    throw new HoldfastError(
      'DEPENDENCY_MISSING',
      'pgBossDoorbell needs the package pg-boss: npm install pg-boss@12.35.0',
      {
        cause,
      },
    );
  }
}

/** pg-boss emits the errors of its workers as copies, which have lost their class. */
function asError(error: unknown): unknown {
  const { message } = (error ?? {}) as { readonly message?: unknown };
  if (error instanceof Error || typeof message !== 'string') return error;
  return Object.assign(new Error(message), error);
}

function warn(error: unknown): void {
  process.emitWarning(`pg-boss: ${messageOf(error)}`, 'HoldfastWarning');
}
