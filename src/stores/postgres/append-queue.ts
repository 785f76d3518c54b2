import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import { type SessionSummary, summarizeSession } from '../../core/summary/session-summary.ts';
import type { AppendOptions } from '../../ports/store.ts';
import { type EncodedEvent, encodeEvent } from '../encoded-event.ts';
import { eventsForSummary } from '../events-for-summary.ts';
import { incompleteEvent } from '../refusals.ts';
import type { AppendJoins } from './append-joins.ts';
import type { AppendRefusals } from './append-refusals.ts';
import { type AppendBase, groupAppend, isPlain, plainAppend, type ReadyAppend } from './append-statements.ts';
import type { PostgresDatabase, Sql } from './database.ts';
import { isTransient, storeError } from './postgres-errors.ts';
import { parseSummary, type SessionRow } from './session-rows.ts';

const MAX_BATCH = 256;
const MAX_BATCH_CHARACTERS = 4_000_000;
/** One group is on its way while the next one is collected; a second one overlaps them. */
const MAX_UNDER_WAY = 2;
/** A statement that takes longer waits for a lock or a slow disk: it does not count, so that the other sessions continue. */
const SLOW_MS = 250;
/** How much of the pool statements may take, slow ones included: reads need connections, too. */
const MAX_SHARE = 0.6;
const MAX_KNOWN = 4096;
/** How often an append whose check failed without a reason is tried again: another process changed the session in between. */
const MAX_TRIES = 50;

interface Job {
  readonly sessionId: string;
  readonly encoded: readonly EncodedEvent[];
  /** The fields of the events that a summary reads. */
  readonly read: readonly SessionEvent[];
  readonly options: AppendOptions;
  readonly characters: number;
  /** How often it was refused without a reason. It is then sent apart from others: its row may be locked. */
  tries: number;
  readonly resolve: (appended: { readonly seq: number }) => void;
  readonly reject: (error: unknown) => void;
}

type Known = AppendBase & Session & { readonly seq: number };

/** A session that an append was written to. */
interface Session {
  readonly key: string;
  readonly incarnation: number;
}

/** A statement on its way. */
interface UnderWay {
  readonly since: number;
}

/** The sessions that were written to, by the positions of their appends. */
type Written = ReadonlyMap<number, Session>;

interface Parts {
  readonly database: PostgresDatabase;
  readonly refusals: AppendRefusals;
  readonly joins: AppendJoins;
  /** Called after the commit. */
  readonly committed: (sessionId: string, summary: SessionSummary) => void;
}

/**
 * Group commit: what is appended while a statement is on its way goes with the next one. No timer delays it, and a session that
 * appends alone never waits.
 *
 *     append ─▶ waiting ─▶ one statement for many sessions ─▶ each promise resolves
 *                  ▲              │ refused                │ failed
 *                  │              ▼                        └─▶ each append again, by itself
 *                  └── changed ── why? ─▶ repeated: resolves · stale: rejects
 *
 * An append whose acknowledgement was lost is sent again. If it was committed the first time, it is refused now, and found by its id.
 */
export class AppendQueue {
  readonly #parts: Parts;
  /** The newest state of the sessions that this process appended to last, so that an append needs no read. */
  readonly #known = new Map<string, Known>();
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

  append(sessionId: string, events: readonly NewEvent[], options: AppendOptions): Promise<{ readonly seq: number }> {
    // As they are now: the caller may change its events while the append waits.
    const encoded = events.map(encodeEvent);
    const read = eventsForSummary(events, encoded, options.expectedSeq);
    const contents = options.contents?.map((content) => ({ ...content }));
    let characters = 0;
    for (const { data } of encoded) characters += data.length;
    for (const { text } of contents ?? []) characters += text.length;
    const own = { ...options, ...(contents && { contents }) };
    return new Promise((resolve, reject) => {
      const job: Job = { sessionId, encoded, read, options: own, characters, tries: 0, resolve, reject };
      if (this.#sendAlone(job)) return;
      this.#waiting.push(job);
      this.#send();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Forgets a session whose log was changed other than by appending. */
  forget(sessionId: string): void {
    this.#known.delete(sessionId);
  }

  /**
   * Sends the next append of a session that appends alone, without the steps of the queue: they cost a tenth of the statement. If it is
   * refused or fails, and there is time left, the queue sends it again and finds out why. Returns whether it is on its way.
   */
  #sendAlone(job: Job): boolean {
    const { database, joins } = this.#parts;
    if (this.#underWay.size >= MAX_UNDER_WAY || this.#busy.has(job.sessionId) || !isPlain(job)) return false;
    const append = this.#prepare(job);
    if (!append || joins.want([append])) return false;
    const { statement, values } = plainAppend(database, append);
    const sent: UnderWay = { since: performance.now() };
    const sending = database.runAtOnce(statement, values);
    if (!sending) return false;
    this.#busy.set(job.sessionId, job);
    this.#underWay.add(sent);
    const end = (count: number): void => {
      if (count > 0) this.#settle(job, append, append.base as Session);
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
      const isApart = taken.length > 0 && (job.tries > 0 || (taken[0] as Job).tries > 0);
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
      const unknown = jobs.filter((job) => this.#isUnknown(job));
      if (unknown.length > 0) await this.#lookUp(unknown);
      const ready: { readonly job: Job; readonly append: ReadyAppend }[] = [];
      const refused: Job[] = [];
      for (const job of jobs) {
        try {
          const append = this.#prepare(job);
          if (append) ready.push({ job, append });
          else refused.push(job);
        } catch (error) {
          job.reject(error);
        }
      }
      const written = await this.#commit(ready.map(({ append }) => append));
      for (const [i, { job, append }] of ready.entries()) {
        const session = written.get(i);
        if (session === undefined) refused.push(job);
        else this.#settle(job, append, session);
      }
      // The caller's next append can be sent alone. Those of a group wait for each other, so that the next statement has them all.
      if (jobs.length === 1 && refused.length === 0) this.#release(jobs[0] as Job);
      for (const job of refused) await this.#explain(job);
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

  #isUnknown({ sessionId, options }: Job): boolean {
    return options.expectedSeq > 0 && this.#known.get(sessionId)?.seq !== options.expectedSeq;
  }

  /** Reads the state of sessions that this process does not know. */
  async #lookUp(unknown: readonly Job[]): Promise<void> {
    const { database } = this.#parts;
    const rows = await database.query<SessionRow & { readonly id: string }>(
      {
        name: 'look-up',
        text: `SELECT id, key::text AS key, incarnation, seq, revision, summary FROM ${database.table('sessions')}
               WHERE id = ANY ($1::text[])`,
      },
      [unknown.map(({ sessionId }) => sessionId)],
    );
    for (const { id, ...row } of rows) this.#remember(id, { ...row, summary: parseSummary(row.summary) });
  }

  /** Undefined when it cannot be appended to the session as it is known. Throws for an event that lacks required fields. */
  #prepare({ sessionId, encoded, read, options }: Job): ReadyAppend | undefined {
    const { expectedSeq, incarnation } = options;
    const known = expectedSeq === 0 ? { incarnation, revision: 0, summary: undefined } : this.#known.get(sessionId);
    if (!known || (expectedSeq > 0 && (known as Known).seq !== expectedSeq)) return undefined;
    if (incarnation !== undefined && known.incarnation !== incarnation) return undefined;
    let summary = known.summary;
    for (const event of read) {
      try {
        summary = summarizeSession(summary, event);
      } catch (cause) {
        throw incompleteEvent(event.type, cause);
      }
    }
    return { sessionId, encoded, options, base: known, summary: summary as SessionSummary };
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

  #settle(job: Job, { sessionId, options, encoded, base, summary }: ReadyAppend, session: Session): void {
    const seq = options.expectedSeq + encoded.length;
    this.#remember(sessionId, {
      key: session.key,
      incarnation: session.incarnation,
      revision: base.revision,
      seq,
      summary,
    });
    job.resolve({ seq });
    this.#parts.committed(sessionId, summary);
  }

  /** An append that was not written: was it made before, is it stale, or did the session change in between? */
  async #explain(job: Job): Promise<void> {
    try {
      const outcome = await this.#parts.refusals.explain(job.sessionId, job.encoded, job.options);
      if (outcome.repeated !== undefined) {
        job.resolve({ seq: outcome.repeated });
        return;
      }
      if (++job.tries > MAX_TRIES) throw disturbed(job.sessionId);
      this.#known.delete(job.sessionId);
      this.#waiting.unshift(job);
    } catch (error) {
      job.reject(error);
    }
  }

  #remember(sessionId: string, known: Known): void {
    this.#known.delete(sessionId);
    this.#known.set(sessionId, known);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

async function write(database: PostgresDatabase, sql: Sql, appends: readonly ReadyAppend[]): Promise<Written> {
  const [first] = appends;
  if (appends.length === 1 && first && isPlain(first)) {
    const { statement, values } = plainAppend(database, first);
    const count = await sql.run(statement, values);
    return count > 0 ? new Map([[0, first.base as Session]]) : new Map();
  }
  const { statement, values } = groupAppend(database, appends);
  const rows = await sql.query<Session & { readonly n: number }>(statement, values);
  return new Map(rows.map((row) => [row.n, row]));
}

function disturbed(sessionId: string): HoldfastError {
  return new HoldfastError('STORE_BUSY', `other processes write to session ${sessionId} without a pause; try again`);
}
