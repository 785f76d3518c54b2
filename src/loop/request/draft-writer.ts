import { isHoldfastError } from '../../core/errors.ts';
import type { DraftChunk } from '../../ports/store.ts';
import type { HeldLease } from '../../session/lease.ts';
import type { AnySession } from '../../session/session.ts';

/** A chunk before its lease has numbered it. */
export type UnnumberedChunk = Omit<DraftChunk, 'fence' | 'n' | 'after'>;

/** A response or a call's progress that is being written as a draft. */
export interface DraftSource {
  readonly draftId: string;
  /** Returns what is new and may be stored, once. */
  take(): readonly UnnumberedChunk[];
}

type NumberingLease = Pick<HeldLease, 'fence' | 'nextChunk' | 'nextRun'>;

/** How often drafts are written, at most. */
const DRAFT_EVERY_MS = 200;

/**
 * Writes the drafts of all conversations that run under one lease.
 *
 *     sources ─▶ ask ─▶ timer ─▶ take, number ─▶ store.appendDraft, one at a time
 *
 * Readers continue after the last number they saw (D74), so a chunk must never become visible after one with a higher number: chunks are
 * numbered when they are written, one write follows the other, and a write that fails is repeated before anything new is taken.
 */
export class DraftWriter {
  readonly #session: AnySession;
  readonly #lease: NumberingLease;
  readonly #due = new Set<DraftSource>();
  /** Sources of which a chunk was given to the store. */
  readonly #begun = new WeakSet<DraftSource>();
  /** Chunks of a write that failed. */
  #unwritten: readonly DraftChunk[] = [];
  #writing: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(session: AnySession, lease: NumberingLease) {
    this.#session = session;
    this.#lease = lease;
  }

  /** Names a run of a tool's function: later runs under the same or a later lease have greater names. */
  nextRun(): string {
    return `${this.#lease.fence}.${this.#lease.nextRun()}`;
  }

  /** Takes from `source` the next time that drafts are written. */
  ask(source: DraftSource): void {
    if (this.#stopped) return;
    this.#due.add(source);
    this.#schedule();
  }

  /**
   * The draft is about to end: nothing more is written of it. Returns the write that is under way, or the last one; undefined when no
   * chunk of the source was given to the store.
   */
  forget(source: DraftSource): Promise<void> | undefined {
    this.#due.delete(source);
    if (!this.#begun.has(source)) return undefined;
    const forgotten = (): void => {
      this.#unwritten = this.#unwritten.filter(({ draftId }) => draftId !== source.draftId);
    };
    forgotten();
    return this.#writing ? this.#writing.then(forgotten) : Promise.resolve();
  }

  /** Writes what these sources have, after the write that is under way. */
  async write(sources: readonly DraftSource[]): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#unwritten.length > 0) {
      this.#write();
      await this.#writing;
      if (this.#unwritten.length > 0) return; // the store still fails
    }
    this.#write(sources);
    await this.#writing;
  }

  /** Nothing is written any more, except by `write`. */
  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    if (this.#stopped) return;
    const write = (): void => {
      this.#cancel = undefined;
      if (this.#writing) this.#schedule();
      else this.#write();
    };
    this.#cancel ??= this.#session.clock.after(DRAFT_EVERY_MS, write, { background: true });
  }

  #write(sources?: readonly DraftSource[]): void {
    const repeated = this.#unwritten.length > 0;
    // Behind a store that fails nothing more is taken, so that what is kept stays bounded.
    const chunks = repeated ? this.#unwritten : this.#take(sources ?? [...this.#due]);
    if (chunks.length === 0) return;
    if (repeated && this.#due.size > 0) this.#schedule();
    this.#unwritten = [];
    const { store, id, incarnation } = this.#session;
    this.#writing = store
      .appendDraft(id, chunks, { fence: this.#lease.fence, incarnation })
      .catch((error: unknown) => {
        // The recorded message holds all of it: a draft that cannot be written does not fail the evaluation.
        if (isFinal(error)) return;
        this.#unwritten = chunks;
        this.#schedule();
      })
      .then(() => {
        this.#writing = undefined;
      });
  }

  #take(sources: readonly DraftSource[]): readonly DraftChunk[] {
    const { fence } = this.#lease;
    const after = this.#session.seq;
    const chunks: DraftChunk[] = [];
    for (const source of sources) {
      this.#due.delete(source);
      for (const chunk of source.take()) {
        this.#begun.add(source);
        chunks.push({ ...chunk, fence, n: this.#lease.nextChunk(), after });
      }
    }
    return chunks;
  }
}

/** Whether repeating the write cannot help: the lease is another's, or the session is gone. */
function isFinal(error: unknown): boolean {
  return ['SESSION_CONFLICT', 'SESSION_NOT_FOUND', 'SESSION_CLOSED', 'INVALID_ARGUMENT'].some(
    (code) => isHoldfastError(error) && error.code === code,
  );
}
