import type { SessionState } from '../core/fold.ts';
import type { AnySlice } from '../core/slices.ts';
import { type Snapshot, sealSnapshot, snapshotText, takeSnapshot } from '../core/snapshot.ts';
import type { Clock } from '../ports/clock.ts';
import { type ContentSource, contentHashes, readContents, sha256 } from './contents.ts';
import type { FoldedLog } from './folded-log.ts';

/** Takes the snapshots of one session (D63). */
export class SessionSnapshots {
  readonly #source: ContentSource & { readonly clock: Clock };
  readonly #log: FoldedLog;
  readonly #slices: readonly AnySlice[];

  constructor(source: ContentSource & { readonly clock: Clock }, log: FoldedLog, slices: readonly AnySlice[]) {
    this.#source = source;
    this.#log = log;
    this.#slices = slices;
  }

  /** The state that is folded, without external contents: it names them. */
  take(): Snapshot {
    return sealSnapshot(this.#take(), sha256);
  }

  /** The state that is folded, with the external contents and with what other processes have stored of slices unknown here. */
  async takeWhole(): Promise<Snapshot> {
    const { store, id, incarnation } = this.#source;
    await this.#log.refreshOpaque();
    const contents = await readContents(
      (name) => store.readContent(id, name, { incarnation }),
      contentNames(this.#log.state),
    );
    return sealSnapshot(this.#take(contents), sha256);
  }

  /** Stores a snapshot, so that opening folds only what comes after. Throws `SNAPSHOT_TOO_LARGE` when no text can hold it. */
  async write(): Promise<void> {
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
      slices: this.#slices,
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
