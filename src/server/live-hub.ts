/**
 * One tail for all readers of a session that have caught up: an item is read, converted and encoded once. Its newest messages are in a ring
 * that all readers share, so a reader costs a position and no buffer. A reader that falls out of the ring continues with a tail of
 * its own, and comes back when it has caught up.
 *
 *     own tail ─▶ caught up ─▶ attach ─▶ ring, ring, ring …
 *         ▲                                  └──▶ too slow: the ring has lost its place
 *         └────────────────────────────────────────┘
 */
import type { TailEvent, TailItem } from '../core/log/tail.ts';
import type { AnySession } from '../session/session.ts';

/** The most messages of the ring, and the most bytes, unless one message has more. */
const RING_MESSAGES = 256;
const RING_BYTES = 4 * 2 ** 20;
/** Readers that are woken in one turn of the event loop: an agent in this process does not wait for all of them. */
const WOKEN_AT_ONCE = 10;

/** A message as it is sent. */
export interface HubMessage {
  readonly cursor: string;
  readonly event: TailEvent;
  readonly bytes: Uint8Array;
}

/** A reader of a hub. */
export interface Attached {
  /** Waits for the next message. Undefined: the hub has lost the reader's place or has ended, or `signal` was aborted. */
  next(signal: AbortSignal): Promise<HubMessage | undefined>;
  detach(): void;
}

const HUBS = new WeakMap<AnySession, LiveHub>();

/** The shared tail of one open session. */
export class LiveHub {
  readonly #session: AnySession;
  readonly #encode: (item: TailItem) => Uint8Array;
  readonly #ring: HubMessage[] = [];
  #bytes = 0;
  /** The number of the first message in the ring, counted from the hub's start, and the cursor before it. */
  #first = 0;
  #before: string;
  #readers = 0;
  #isEnded = false;
  #error: unknown;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();

  /** Attaches a reader that has read everything up to a cursor; undefined when the hub cannot continue from there. */
  static attach(session: AnySession, cursor: string, encode: (item: TailItem) => Uint8Array): Attached | undefined {
    const known = HUBS.get(session);
    const hub = known && !known.#isEnded ? known : new LiveHub(session, cursor, encode);
    return hub.#attach(cursor);
  }

  private constructor(session: AnySession, cursor: string, encode: (item: TailItem) => Uint8Array) {
    this.#session = session;
    this.#before = cursor;
    this.#encode = encode;
    HUBS.set(session, this);
    void this.#follow();
  }

  #attach(cursor: string): Attached | undefined {
    const start = this.#positionAfter(cursor);
    if (start === undefined) return undefined;
    let position = start;
    let isAttached = true;
    this.#readers++;
    return {
      next: async (signal) => {
        for (;;) {
          if (signal.aborted || position < this.#first) return undefined;
          const message = this.#ring[position - this.#first];
          if (message) {
            position++;
            return message;
          }
          if (this.#error !== undefined) throw this.#error;
          if (this.#isEnded) return undefined;
          await this.#changed(signal);
        }
      },
      detach: () => {
        if (!isAttached) return;
        isAttached = false;
        if (--this.#readers === 0) this.#end();
      },
    };
  }

  /** The number of the message that follows a cursor. A reset has the cursor of the item before it: it is sent again, which is harmless. */
  #positionAfter(cursor: string): number | undefined {
    if (cursor === this.#before) return this.#first;
    const index = this.#ring.findIndex((message) => message.cursor === cursor);
    return index < 0 ? undefined : this.#first + index + 1;
  }

  async #follow(): Promise<void> {
    try {
      const options = { live: true, drafts: true, after: this.#before, signal: this.#stop.signal } as const;
      for await (const item of this.#session.events(options)) {
        this.#add({ ...item, bytes: this.#encode(item) });
      }
    } catch (error) {
      this.#error = error;
    }
    this.#end();
  }

  #add(message: HubMessage): void {
    this.#ring.push(message);
    this.#bytes += message.bytes.byteLength;
    while (this.#ring.length > 1 && (this.#ring.length > RING_MESSAGES || this.#bytes > RING_BYTES)) {
      const dropped = this.#ring.shift() ?? message;
      this.#bytes -= dropped.bytes.byteLength;
      this.#before = dropped.cursor;
      this.#first++;
    }
    this.#wake();
  }

  #end(): void {
    this.#isEnded = true;
    if (HUBS.get(this.#session) === this) HUBS.delete(this.#session);
    this.#stop.abort();
    this.#wake();
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  #wake(): void {
    const woken = [...this.#waiting];
    this.#waiting.clear();
    wakeFrom(woken, 0);
  }
}

/** Wakes readers some at a time. */
function wakeFrom(woken: readonly (() => void)[], from: number): void {
  const next = from + WOKEN_AT_ONCE;
  for (const wake of woken.slice(from, next)) wake();
  if (next < woken.length) setImmediate(wakeFrom, woken, next);
}
