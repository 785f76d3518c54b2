/** Appends records to the log of an imported session in bounded transactions, each guarded by the log's end. */

import { hash } from 'node:crypto';
import { present } from '../../conversation/same-value.ts';
import { isHoldfastError } from '../../core/errors.ts';
import type { NewEvent } from '../../core/log/events.ts';
import type {
  ErasedRange,
  SourceDescribedFields,
  SourceRange,
  SourceRecordedFields,
  SourceReplacedFields,
} from '../../core/log/source-events.ts';
import type { ContentWrite } from '../../ports/store.ts';
import { uniqueId } from '../../session/append/unique-id.ts';
import { encodeBytes } from '../../stores/source-bytes.ts';
import type { KeptLog } from './kept-log.ts';

const MAX_EVENTS = 2000;
const MAX_CHARACTERS = 1024 * 1024;
/** Longer batches are external content: opening and listing sessions does not read them. */
const MAX_INLINE = 4096;

/** Another importer appended first: the log has to be read again. */
export class StaleLog extends Error {}

/** A batch before it is encoded. */
export interface NewBatch extends Pick<SourceRecordedFields, 'file' | 'role' | 'agentId' | 'generation' | 'stamp'> {
  readonly offset: number;
  /** The source's bytes. */
  readonly bytes: Buffer;
  /** The bytes to record instead. */
  readonly redacted?: Buffer | undefined;
  /** What was erased before and is therefore not in the bytes to record. */
  readonly left?: { readonly bytes: Buffer; readonly erased: readonly ErasedRange[] } | undefined;
  readonly at: string;
}

/** The SHA-256 of bytes. */
export function hashOf(bytes: Buffer | string): string {
  return hash('sha256', bytes, 'hex');
}

export class RecordAppender {
  readonly #log: Pick<KeptLog, 'store' | 'id' | 'incarnation'>;
  #seq: number;
  #events: NewEvent[] = [];
  #contents: ContentWrite[] = [];
  #characters = 0;
  #bytes = 0;
  readonly #onCommit: (bytes: number) => void;

  /** `onCommit` is called after each transaction with the number of the source's bytes in it. */
  constructor(log: Pick<KeptLog, 'store' | 'id' | 'incarnation' | 'seq'>, onCommit: (bytes: number) => void) {
    this.#log = log;
    this.#seq = log.seq;
    this.#onCommit = onCommit;
  }

  /** Adds an event without records. */
  add(event: SourceDescribedFields | SourceReplacedFields, at: string): void {
    this.#events.push({ ...event, at });
    this.#characters += 256;
  }

  /** Adds a batch; returns a promise when the transaction is full and is being committed. The bytes of the batch are no longer used then. */
  record({ bytes, redacted, left, at, stamp, agentId, ...place }: NewBatch): Promise<void> | undefined {
    const range: SourceRange = { offset: place.offset, bytes: bytes.length, hash: hashOf(bytes) };
    const { encoding, data } = encodeBytes(redacted ?? left?.bytes ?? bytes);
    const isExternal = data.length > MAX_INLINE;
    const name = isExternal ? `sha256:${hashOf(data)}` : undefined;
    if (name !== undefined) this.#contents.push({ event: this.#events.length, hash: name, text: data });
    this.#events.push({
      type: 'source/recorded',
      ...place,
      ...range,
      encoding,
      ...(name === undefined ? { data } : { content: name }),
      ...present({ agentId, stamp }),
      ...(redacted && { redacted: true }),
      ...(left && { erased: left.erased }),
      at,
    });
    this.#characters += data.length + 256;
    this.#bytes += bytes.length;
    return this.#characters >= MAX_CHARACTERS || this.#events.length >= MAX_EVENTS ? this.commit() : undefined;
  }

  /** Commits what was added. Throws `StaleLog` when another process has appended since the log was read. */
  async commit(): Promise<void> {
    const events = this.#events;
    if (events.length === 0) return;
    const contents = this.#contents;
    const bytes = this.#bytes;
    this.#events = [];
    this.#contents = [];
    this.#characters = 0;
    this.#bytes = 0;
    const { store, id, incarnation } = this.#log;
    const options = { id: uniqueId(), expectedSeq: this.#seq, incarnation };
    try {
      const { seq } = await store.append(id, events, { ...options, ...(contents.length > 0 && { contents }) });
      this.#seq = seq;
    } catch (error) {
      throw isHoldfastError(error, 'SESSION_CONFLICT') ? new StaleLog() : error;
    }
    this.#onCommit(bytes);
  }
}

/** The time of a batch: its newest timestamp. Listings show a session under the time of its last event, not of its import. */

const FIELD = '"timestamp":"';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/;
const LONGEST = 30;

/** The last timestamp in the bytes of a batch, unless it is invalid or in the future. */
export function timeIn(bytes: Buffer): string | undefined {
  const at = bytes.lastIndexOf(FIELD);
  if (at < 0) return undefined;
  const start = at + FIELD.length;
  const [text] = TIME.exec(bytes.toString('latin1', start, start + LONGEST)) ?? [];
  return validTime(text);
}

/** A time in the form of our own, unless it is invalid or in the future. */
export function validTime(text: string | undefined): string | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return time <= Date.now() ? new Date(time).toISOString() : undefined;
}
