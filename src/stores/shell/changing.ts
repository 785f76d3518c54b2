import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import type { SessionSummary } from '../../core/summary/session-summary.ts';
import { changesSummary } from '../../core/summary/summary-fields.ts';
import type { ForkOptions, ReplaceEventOptions } from '../../ports/store.ts';
import { checkFork } from '../check-arguments.ts';
import { decodeEvent, encodeEvent } from '../encoded-event.ts';
import { eventNotFound, forkTargetExists, gap, sessionGone, sessionNotFound } from '../refusals.ts';
import type { SessionKey, SessionRow, StoreBackend } from './backend.ts';
import { findLiving, readEvents } from './reading.ts';
import { foldNew, foldReadable, type Summaries, storedSummary } from './summaries.ts';

/** How often a change is tried again because another one of the same session came first. */
const MAX_TRIES = 50;

interface Refolded {
  readonly revision: number;
  /** The last event that is folded in. */
  readonly seq: number;
  readonly summary: SessionSummary | undefined;
}

/** Replacing events and forking: what changes a log other than by appending, with the summary of the changed log. */
export class Changing<Key extends SessionKey> {
  readonly #backend: StoreBackend<Key>;
  readonly #summaries: Summaries<Key>;

  constructor(backend: StoreBackend<Key>, summaries: Summaries<Key>) {
    this.#backend = backend;
    this.#summaries = summaries;
  }

  /**
   * Replaces one event. A summary that depends on it is folded again from the log before the transaction, in short reads; the
   * transaction folds in what was appended since.
   */
  async replace(sessionId: string, event: SessionEvent, options: ReplaceEventOptions): Promise<void> {
    const { seq } = event;
    const encoded = encodeEvent(event);
    // As it will be read, and as it is now: the caller may change its event meanwhile.
    const replacement = decodeEvent(sessionId, seq, encoded.at, encoded.type, encoded.data);
    const kept = [...(options.contents ?? [])];
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const session = await findLiving(this.#backend, sessionId, options.incarnation);
      const { key, revision } = session;
      if (key === undefined || session.seq === 0) throw sessionNotFound(sessionId);
      if (seq > session.seq) throw eventNotFound(sessionId, seq);
      const base = await this.#withReplacement(sessionId, { ...session, key }, replacement);
      const replacing = this.#backend.replace(key, {
        ...{ seq, event: encoded, contents: kept, revision, summarizedSeq: base.seq },
        summarize(rest) {
          const summary = foldReadable(base.summary, sessionId, rest);
          const shown = summary ?? { tags: [], metadata: {}, createdAt: encoded.at };
          return storedSummary(shown, rest.at(-1)?.seq ?? base.seq, revision + 1);
        },
      });
      if (await replacing.finally(() => this.#summaries.forget(sessionId))) return;
    }
    throw new HoldfastError('STORE_BUSY', `others erase events of session ${sessionId} without a pause; try again`);
  }

  /** Copies the beginning of a session into a new one; again if an event of the origin was erased meanwhile. */
  async fork(sessionId: string, target: string, options: ForkOptions): Promise<{ readonly seq: number }> {
    // As they are now: the caller may change its events while the copy is made.
    const closing = options.events.map(encodeEvent);
    const { at } = options;
    let origin: Key | undefined;
    for (;;) {
      const session = await findLiving(this.#backend, sessionId, options.incarnation);
      const { key, revision } = session;
      if (origin !== undefined && origin !== key) throw sessionGone(sessionId);
      checkFork({ id: sessionId, seq: session.seq }, target, options);
      if ((await this.#backend.find(target)).seq > 0) throw forkTargetExists(target);
      origin = key as Key;
      const copied = await this.#fold(sessionId, session, at);
      const own = closing.map((each, i) => decodeEvent(target, at + i + 1, each.at, each.type, each.data));
      const summary = storedSummary(foldNew(copied, own) as SessionSummary, at + closing.length, 0);
      const isForked = await this.#backend.fork(origin, { target, revision, at, events: closing, summary });
      this.#summaries.forget(target);
      if (isForked) return { seq: at + closing.length };
    }
  }

  async #withReplacement(
    sessionId: string,
    session: SessionRow<Key> & { readonly key: Key },
    replacement: SessionEvent,
  ): Promise<Refolded> {
    const isChanged = await this.#changesSummary(sessionId, session.key, replacement);
    if (!isChanged) return this.#summaries.current(sessionId, session);
    const { seq, revision } = session;
    return { seq, revision, summary: await this.#fold(sessionId, session, seq, replacement) };
  }

  /** An event that cannot be read may be replaced, too; what its session's summary has of it stays. */
  async #changesSummary(sessionId: string, key: Key, replacement: SessionEvent): Promise<boolean> {
    const { seq } = replacement;
    const [row] = await this.#backend.events(key, { after: seq - 1, until: seq, limit: 1 });
    if (!row) throw gap(sessionId, seq);
    try {
      return changesSummary(decodeEvent(sessionId, seq, row.at, row.type, row.data), replacement);
    } catch (error) {
      if (isHoldfastError(error, 'STORE_CORRUPT')) return false;
      throw error;
    }
  }

  /** The summary of the first events of a log, one of them replaced. */
  async #fold(
    sessionId: string,
    session: SessionRow<Key>,
    until: number,
    replacement?: SessionEvent,
  ): Promise<SessionSummary | undefined> {
    const { incarnation } = session;
    const find = (): Promise<SessionRow<Key>> => findLiving(this.#backend, sessionId, incarnation);
    let summary: SessionSummary | undefined;
    for await (const event of readEvents(this.#backend, find, sessionId, { incarnation, limit: until })) {
      summary = foldNew(summary, [event.seq === replacement?.seq ? replacement : event]);
    }
    return summary;
  }
}
