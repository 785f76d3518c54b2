import { isHoldfastError } from '../../../core/errors.ts';
import type { AppendRows } from '../../shell/backend.ts';
import type { AppendJoins } from '../append-joins.ts';
import type { PostgresDatabase, Sql } from '../connection/database.ts';
import { isTransient, storeError } from '../connection/postgres-errors.ts';
import { groupAppend, isPlain, plainAppend, type ReadyAppend } from './append-statements.ts';

const MAX_BATCH = 256;
const MAX_BATCH_CHARACTERS = 4_000_000;
/** One group is on its way while the next one is collected; a second one overlaps them. */
const MAX_UNDER_WAY = 2;
/** A statement that takes longer waits for a lock or a slow disk: it does not count, so that the other sessions continue. */
const SLOW_MS = 250;
/** How much of the pool statements may take, slow ones included: reads need connections, too. */
const MAX_SHARE = 0.6;

interface Job extends ReadyAppend {
  readonly characters: number;
  /** It was refused or failed with others. It is then sent apart from them: its row may be locked. */
  isApart: boolean;
  /** Resolves with the session's key, or undefined when it was refused. */
  readonly resolve: (key: string | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** A statement on its way. */
interface UnderWay {
  readonly since: number;
}

/** The keys of the sessions that were written to, by the positions of their appends. */
type Written = ReadonlyMap<number, string>;

interface Parts {
  readonly database: PostgresDatabase;
  readonly joins: AppendJoins;
}

/**
 * Group commit: what is appended while a statement is on its way goes with the next one. No timer delays it, and a session that
 * appends alone never waits.
 *
 *     append ─▶ waiting ─▶ one statement for many sessions ─▶ each promise resolves
 *                                 │ refused or failed
 *                                 └─▶ each append again, by itself ─▶ refused: resolves with undefined
 *
 * An append whose acknowledgement was lost is sent again. If it was committed the first time, it is refused now, and found by its id.
 */
export class AppendQueue {
  readonly #parts: Parts;
  #waiting: Job[] = [];
  /** The append of each session that is on its way: appends of a session are sent one after the other. */
  readonly #busy = new Map<string, Job>();
  /** The statements on their way, with the time when they were sent. */
  readonly #underWay = new Set<UnderWay>();
  readonly #maxUnderWay: number;
  /** Sends what waits when the statements on their way turn out to be slow. */
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#maxUnderWay = Math.max(MAX_UNDER_WAY, Math.floor(parts.database.connections * MAX_SHARE));
  }

  append(sessionId: string, append: AppendRows<string>): Promise<string | undefined> {
    let characters = 0;
    for (const { data } of append.events) characters += data.length;
    for (const { text } of append.contents) characters += text.length;
    return new Promise((resolve, reject) => {
      const job: Job = { sessionId, append, characters, isApart: false, resolve, reject };
      if (this.#sendAlone(job)) return;
      this.#waiting.push(job);
      this.#send();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /**
   * Sends the next append of a session that appends alone, without the steps of the queue: they cost a tenth of the statement. If it is
   * refused or fails, and there is time left, the queue sends it again and finds out why. Returns whether it is on its way.
   */
  #sendAlone(job: Job): boolean {
    const { database, joins } = this.#parts;
    if (this.#underWay.size >= MAX_UNDER_WAY || this.#busy.has(job.sessionId) || !isPlain(job)) return false;
    if (joins.want([job])) return false;
    const { statement, values } = plainAppend(database, job);
    const sent: UnderWay = { since: performance.now() };
    const sending = database.runAtOnce(statement, values);
    if (!sending) return false;
    this.#busy.set(job.sessionId, job);
    this.#underWay.add(sent);
    const end = (count: number): void => {
      if (count > 0) job.resolve(job.append.key);
      else this.#waiting.unshift(job);
      this.#end(sent, [job]);
    };
    const fail = (error: unknown): void => {
      if (!database.isOutOfTime(error, sent.since)) {
        end(0);
        return;
      }
      job.reject(storeError(error));
      this.#end(sent, [job]);
    };
    sending.then(end, fail);
    return true;
  }

  #send(): void {
    while (!this.#isFull()) {
      const jobs = this.#take();
      if (jobs.length === 0) return;
      const sent: UnderWay = { since: performance.now() };
      this.#underWay.add(sent);
      void this.#process(jobs).then(() => this.#end(sent, jobs));
    }
    if (this.#waiting.length === 0) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#send();
    }, SLOW_MS).unref();
  }

  /** Whether what is appended now waits for a statement to end. */
  #isFull(): boolean {
    const { size } = this.#underWay;
    if (size < MAX_UNDER_WAY || size >= this.#maxUnderWay) return size >= MAX_UNDER_WAY;
    const now = performance.now();
    let slow = 0;
    for (const { since } of this.#underWay) if (now - since >= SLOW_MS) slow++;
    return size - slow >= MAX_UNDER_WAY;
  }

  #end(sent: UnderWay, jobs: readonly Job[]): void {
    for (const job of jobs) this.#release(job);
    this.#underWay.delete(sent);
    if (this.#waiting.length > 0) this.#send();
    if (this.#underWay.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #release(job: Job): void {
    if (this.#busy.get(job.sessionId) === job) this.#busy.delete(job.sessionId);
  }

  #take(): readonly Job[] {
    const taken: Job[] = [];
    const left: Job[] = [];
    let characters = 0;
    for (const job of this.#waiting) {
      const fits = taken.length === 0 || characters + job.characters <= MAX_BATCH_CHARACTERS;
      const isApart = taken.length > 0 && (job.isApart || (taken[0] as Job).isApart);
      if (taken.length >= MAX_BATCH || !fits || isApart || this.#busy.has(job.sessionId)) {
        left.push(job);
        continue;
      }
      this.#busy.set(job.sessionId, job);
      characters += job.characters;
      taken.push(job);
    }
    this.#waiting = left;
    return taken;
  }

  /** Settles the jobs, or puts them back. Never rejects. */
  async #process(jobs: readonly Job[]): Promise<void> {
    try {
      const written = await this.#commit(jobs);
      // The caller's next append can be sent alone. Those of a group wait for each other, so that the next statement has them all.
      if (jobs.length === 1) this.#release(jobs[0] as Job);
      const refused = jobs.filter((_, i) => !written.has(i));
      for (const [i, job] of jobs.entries()) if (jobs.length === 1 || written.has(i)) job.resolve(written.get(i));
      if (jobs.length === 1) return;
      for (const job of refused) job.isApart = true;
      this.#waiting.unshift(...refused);
    } catch (error) {
      const isUnreachable = isTransient(isHoldfastError(error) ? error.cause : error);
      if (jobs.length === 1 || isUnreachable || isHoldfastError(error, 'SESSION_CLOSED')) {
        for (const job of jobs) job.reject(storeError(error));
        return;
      }
      // One of them cannot be stored: only that one fails.
      for (const job of jobs) await this.#process([job]);
    }
  }

  async #commit(appends: readonly ReadyAppend[]): Promise<Written> {
    if (appends.length === 0) return new Map();
    const { database, joins } = this.#parts;
    if (!joins.want(appends)) return write(database, database, appends);
    return database.transaction(async (sql) => {
      const written = await write(database, sql, appends);
      await joins.run(
        sql,
        appends.filter((_, i) => written.has(i)),
      );
      return written;
    });
  }
}

async function write(database: PostgresDatabase, sql: Sql, appends: readonly ReadyAppend[]): Promise<Written> {
  const [first] = appends;
  if (appends.length === 1 && first && isPlain(first)) {
    const { statement, values } = plainAppend(database, first);
    return (await sql.run(statement, values)) > 0 ? new Map([[0, first.append.key as string]]) : new Map();
  }
  const { statement, values } = groupAppend(database, appends);
  const rows = await sql.query<{ readonly n: number; readonly key: string }>(statement, values);
  return new Map(rows.map(({ n, key }) => [n, key]));
}
