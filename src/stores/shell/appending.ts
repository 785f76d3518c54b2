import { HoldfastError } from '../../core/errors.ts';
import type { NewEvent, SessionEvent } from '../../core/log/events.ts';
import type { SessionSummary } from '../../core/summary/session-summary.ts';
import { summaryFields } from '../../core/summary/summary-fields.ts';
import type { AppendOptions, ContentWrite } from '../../ports/store.ts';
import { type EncodedEvent, encodeEvent, sameEvents } from '../encoded-event.ts';
import { appendIdReused, fenceConflict, sequenceConflict } from '../refusals.ts';
import type { AppendRows, SessionKey, SessionRow, StoreBackend } from './backend.ts';
import { findLiving } from './reading.ts';
import { dueSummary, type Folded, foldNew, NOTHING_FOLDED, type Summaries } from './summaries.ts';

/** How often an append that was refused without a reason is tried again: another process changed the session in between. */
const MAX_TRIES = 50;
const NONE: readonly never[] = [];

interface Job {
  readonly sessionId: string;
  readonly encoded: readonly EncodedEvent[];
  /** The fields of the events that a summary reads. */
  readonly read: readonly SessionEvent[];
  /** As they are now: the caller may change its arguments while the append waits. */
  readonly options: AppendOptions;
  readonly rows: Pick<AppendRows, 'contents' | 'putCalls' | 'dropCalls' | 'endsDrafts'>;
  tries: number;
}

/**
 * Appending: who may, whether it was done before, and what the summary is then. Appends of a session are sent one after the other.
 *
 *     append ─▶ the summary is known ──────────▶ backend ─▶ written
 *                  │ not known      ▲               │ refused
 *                  ▼                └── changed ── why? ─▶ repeated: resolves · stale: rejects
 *                 find
 */
export class Appending<Key extends SessionKey> {
  readonly #backend: StoreBackend<Key>;
  readonly #summaries: Summaries<Key>;
  /** Called after the commit. */
  readonly #committed: (sessionId: string, events: readonly EncodedEvent[]) => void;
  /** The append of each session that is on its way. */
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(
    backend: StoreBackend<Key>,
    summaries: Summaries<Key>,
    committed: (sessionId: string, events: readonly EncodedEvent[]) => void,
  ) {
    this.#backend = backend;
    this.#summaries = summaries;
    this.#committed = committed;
  }

  append(sessionId: string, events: readonly NewEvent[], options: AppendOptions): Promise<{ readonly seq: number }> {
    const encoded = events.map(encodeEvent);
    const { expectedSeq, contents = NONE, callContents: { put = NONE, drop = NONE } = {}, endsDrafts = NONE } = options;
    return this.#inTurn({
      sessionId,
      encoded,
      read: encoded.map((each, i) => eventForSummary(events[i] as NewEvent, each, expectedSeq + i + 1)),
      options: { ...options },
      rows: {
        contents: contents.length === 0 ? NONE : contents.map((content) => contentRow(content, expectedSeq)),
        putCalls: put.length === 0 ? NONE : put.map(({ call, text }) => ({ call, text: JSON.stringify(text) })),
        dropCalls: [...drop],
        endsDrafts: [...endsDrafts],
      },
      tries: 0,
    });
  }

  #inTurn(job: Job): Promise<{ readonly seq: number }> {
    const { sessionId } = job;
    const before = this.#underWay.get(sessionId);
    if (before) {
      const next = (): Promise<{ readonly seq: number }> => this.#inTurn(job);
      return before.then(next, next);
    }
    const appending = this.#start(job);
    this.#underWay.set(sessionId, appending);
    const end = (): void => {
      this.#underWay.delete(sessionId);
    };
    appending.then(end, end);
    return appending;
  }

  #start(job: Job): Promise<{ readonly seq: number }> {
    const { sessionId, options } = job;
    const base = options.expectedSeq === 0 ? NOTHING_FOLDED : this.#summaries.at(sessionId, options.expectedSeq);
    return base ? this.#send(job, base) : this.#look(job);
  }

  async #send(job: Job, base: Folded<Key>): Promise<{ readonly seq: number }> {
    const { sessionId, encoded, options } = job;
    const { key, revision } = base;
    const { expectedSeq, incarnation, fence, id } = options;
    const seq = expectedSeq + encoded.length;
    const after = foldNew(base.summary, job.read) as SessionSummary;
    const summary = dueSummary(base, seq, after);
    const written = await this.#backend.append(sessionId, {
      ...{ key, incarnation, expectedSeq, revision, fence, id, events: encoded },
      ...job.rows,
      ...{ syncLater: options.syncLater === true, summary, folded: { before: base.summary, after } },
    });
    if (written === undefined) return this.#look(job);
    const stored = summary ? { seq, length: summary.data.length } : base.stored;
    this.#summaries.remember(sessionId, { key: written, revision, seq, summary: after, stored });
    this.#committed(sessionId, encoded);
    return { seq };
  }

  /** Looks at the session: the append may be repeated or stale. If not, it is sent, again if it was refused. */
  async #look(job: Job): Promise<{ readonly seq: number }> {
    const { sessionId, encoded, options } = job;
    const { expectedSeq, fence, incarnation } = options;
    const session = await findLiving(this.#backend, sessionId, incarnation);
    const repeated = await this.#findRepeated(session, sessionId, encoded, options);
    if (repeated !== undefined) return { seq: repeated };
    // The caller cannot recover from a stale fence: it is reported first (I6).
    if (fence !== undefined && fence !== session.fence) throw fenceConflict(sessionId, session.fence, fence);
    if (expectedSeq !== session.seq) throw sequenceConflict(sessionId, session.seq, expectedSeq);
    if (++job.tries > MAX_TRIES) throw disturbed(sessionId);
    const { key } = session;
    const base =
      key === undefined || expectedSeq === 0
        ? NOTHING_FOLDED
        : await this.#summaries.current(sessionId, { ...session, key });
    return this.#send(job, base);
  }

  /** Where the append ended that this one repeats: the one at the same position, or the session's last (D51). */
  async #findRepeated(
    { key, seq: head }: SessionRow<Key>,
    sessionId: string,
    events: readonly EncodedEvent[],
    { id, expectedSeq }: AppendOptions,
  ): Promise<number | undefined> {
    if (key === undefined || head === 0) return undefined;
    const { length } = events;
    const isLast = (await this.#backend.lastAppend(key)) === id;
    const starts = [...(expectedSeq < head ? [expectedSeq] : []), ...(isLast ? [head - length] : [])];
    for (const after of starts) {
      const range = { after, until: after + length + 1, limit: length + 1 };
      const [first, ...rest] = after < 0 ? [] : await this.#backend.events(key, range);
      if (first?.appendId !== id) continue;
      const next = rest.findIndex(({ appendId }) => appendId !== undefined);
      if (sameEvents([first, ...(next === -1 ? rest : rest.slice(0, next))], events)) return after + length;
      throw appendIdReused(sessionId, id);
    }
    if (isLast) throw appendIdReused(sessionId, id);
    return undefined;
  }
}

/** A content with the seq of its event. */
function contentRow({ event, hash, text }: ContentWrite, expectedSeq: number): AppendRows['contents'][number] {
  return { seq: expectedSeq + 1 + event, hash, text: JSON.stringify(text) };
}

/** An event with the fields that a summary reads, copied: decoding what was encoded would cost more than the rest of an append. */
export function eventForSummary(event: NewEvent, { at, type, data }: EncodedEvent, seq: number): SessionEvent {
  const fields = summaryFields(type, Object.hasOwn(event, 'toJSON') ? (JSON.parse(data) as object) : event);
  return { ...fields, seq, at, type } as SessionEvent;
}

function disturbed(sessionId: string): HoldfastError {
  return new HoldfastError('STORE_BUSY', `other processes write to session ${sessionId} without a pause; try again`);
}
