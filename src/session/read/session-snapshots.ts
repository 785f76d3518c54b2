import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { type Snapshot, sealSnapshot, snapshotText, takeSnapshot } from '../../core/fold/snapshot.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ContentWrite } from '../../ports/store.ts';
import { type ContentSource, contentHashes, sha256 } from './contents.ts';
import type { FoldedLog } from './folded-log.ts';

/** A snapshot is due after this many events, and at least as many as the last one covers: the cost per event stays constant. */
const SNAPSHOT_EVERY = 10_000;

/** The session whose snapshots are taken. */
interface SnapshotSource extends ContentSource {
  readonly clock: Clock;
  readonly readOnly: boolean;
}

/** What a session's snapshots are taken of. */
interface SnapshotParts {
  readonly log: FoldedLog;
  readonly report: (error: unknown) => void;
}

/** Takes the snapshots of one session (D63, D91), and decides when one is due. */
export class SessionSnapshots {
  readonly #source: SnapshotSource;
  readonly #log: FoldedLog;
  readonly #held = new HeldContents();
  readonly #report: (error: unknown) => void;
  /** The last seq that the stored snapshot covers. */
  #writtenSeq: number;

  constructor(source: SnapshotSource, { log, report }: SnapshotParts) {
    this.#source = source;
    this.#log = log;
    this.#report = report;
    this.#writtenSeq = log.state.seq - log.replayed;
  }

  /** Keeps contents that this handle has written, for a snapshot that is taken synchronously. */
  hold(contents: readonly ContentWrite[]): void {
    this.#held.hold(contents);
  }

  /** The state that is folded, with its external contents. Throws when this handle does not hold all of them. */
  take(): Snapshot {
    const names = contentNames(this.#log.state);
    const { contents, missing } = pick(names, (name) => this.#held.get(name));
    refuseLack(
      missing,
      'that this handle does not hold; take it with await session.snapshot({ contents: true }), or with { contents: false } if it is restored in this store',
    );
    return sealSnapshot(names.length === 0 ? this.#take() : this.#take(contents), sha256);
  }

  /** The state that is folded, without external contents: it names them. */
  takeWithout(): Snapshot {
    return sealSnapshot(this.#take(), sha256);
  }

  /**
   * The state that is folded, with the external contents and with what other processes have stored of slices unknown here. Rejects when
   * the store does not have all of the contents.
   */
  async takeWhole(): Promise<Snapshot> {
    await this.#log.refreshOpaque();
    return sealSnapshot(this.#take(await this.#readContents()), sha256);
  }

  /** The external contents of the state as it is in the end: messages may be appended or erased while they are read. */
  async #readContents(): Promise<Readonly<Record<string, string>>> {
    const { store, id, incarnation } = this.#source;
    const read = new Map<string, string | undefined>();
    for (let isNewest = false; ; ) {
      const names = contentNames(this.#log.state);
      const unread = names.filter((name) => !read.has(name));
      for (const name of unread) read.set(name, await store.readContent(id, name, { incarnation }));
      if (unread.length > 0) continue;
      const { contents, missing } = pick(names, (name) => read.get(name));
      if (missing.length === 0) return contents;
      if (isNewest) {
        refuseLack(
          missing,
          'that are not in the store; session.snapshot({ contents: false }) leaves all of them out and names them',
        );
      }
      await this.#log.refresh(); // another handle may have erased them
      isNewest = true;
    }
  }

  /** Stores a snapshot, so that opening folds only later events. Throws `SNAPSHOT_TOO_LARGE` when no text can hold it. */
  async write(): Promise<void> {
    await this.#log.refresh();
    const { seq } = this.#log.state;
    if (seq === 0) return;
    await this.#store();
    this.#writtenSeq = seq;
  }

  /**
   * Stores a snapshot if one is due. Correctness never depends on it (D17): errors are reported, not thrown. A snapshot that is too
   * large is skipped until the next one is due.
   */
  async writeIfDue(): Promise<void> {
    const { seq } = this.#log.state;
    if (this.#source.readOnly || seq - this.#writtenSeq < Math.max(SNAPSHOT_EVERY, this.#writtenSeq)) return;
    await this.write().catch((error) => {
      if (isHoldfastError(error, 'SNAPSHOT_TOO_LARGE')) this.#writtenSeq = seq;
      else if (!isHoldfastError(error, 'STORE_READ_ONLY')) this.#report(error);
    });
  }

  async #store(): Promise<void> {
    const { store, id, incarnation } = this.#source;
    await this.#log.refreshOpaque();
    const { revision, state } = this.#log;
    const data = snapshotText(this.#take(), sha256);
    await store.writeSnapshot(id, { seq: state.seq, data }, { incarnation, revision });
  }

  #take(contents?: Readonly<Record<string, string>>): Snapshot {
    const { id, clock } = this.#source;
    const { state, opaque } = this.#log;
    return takeSnapshot(state, {
      sessionId: id,
      at: new Date(clock.now()).toISOString(),
      slices: this.#log.slices,
      opaque,
      missingContents: contentNames(state).filter((name) => !contents || !Object.hasOwn(contents, name)),
      ...(contents && { contents }),
    });
  }
}

/** The names of the external contents that the messages of a state refer to. */
function contentNames({ record }: SessionState): readonly string[] {
  const names = new Set<string>();
  for (const message of record.messages) for (const name of contentHashes(message)) names.add(name);
  return [...names];
}

/** The contents of these names as a value, and the names of those that are not there. */
function pick(
  names: readonly string[],
  get: (name: string) => string | undefined,
): { readonly contents: Readonly<Record<string, string>>; readonly missing: readonly string[] } {
  const contents: Record<string, string> = {};
  for (const name of names) {
    const text = get(name);
    if (text !== undefined) contents[name] = text;
  }
  return { contents, missing: names.filter((name) => !Object.hasOwn(contents, name)) };
}

/** A snapshot that lacks contents fails when it is taken, not when it is restored after a crash. */
function refuseLack(missing: readonly string[], advice: string): void {
  if (missing.length === 0) return;
  throw new HoldfastError(
    'SNAPSHOT_INVALID',
    `this snapshot would lack ${missing.length} external contents ${advice}`,
    { data: missing },
  );
}

/** The most characters of contents that a handle holds. */
const MOST = 8 * 1024 * 1024;

/** The external contents that a handle has written last, so that a snapshot that is taken synchronously includes them (D91). */
class HeldContents {
  readonly #texts = new Map<string, string>();
  #length = 0;

  hold(contents: readonly ContentWrite[]): void {
    for (const { hash, text } of contents) {
      if (this.#texts.has(hash)) continue;
      this.#texts.set(hash, text);
      this.#length += text.length;
    }
    for (const [hash, text] of this.#texts) {
      if (this.#length <= MOST) return;
      this.#texts.delete(hash);
      this.#length -= text.length;
    }
  }

  get(name: string): string | undefined {
    return this.#texts.get(name);
  }
}
