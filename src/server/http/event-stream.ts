/**
 * Server-sent events as the body of a response. The next message is made when the client has taken the last one: nothing is queued for
 * a slow reader.
 */
import { HttpError } from './http-error.ts';
import { afterLongTurn } from './long-turns.ts';

/** The headers of a stream. */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Proxies that collect a response before they pass it on do not do so with this.
  'x-accel-buffering': 'no',
};

/** A stream's source and the conditions under which it ends. */
export interface StreamSource {
  /** Makes the messages. It ends soon after `signal` aborts, and throws nothing. */
  readonly messages: (signal: AbortSignal) => AsyncIterator<string | Uint8Array, void>;
  /** Called when nothing was sent for a while: returns a last message when the stream cannot continue. */
  readonly check: () => Promise<string | undefined>;
  /** Called once, however the stream ends. */
  readonly ended: () => void;
}

const HEARTBEAT = ': heartbeat\n\n';

/** The streams that a server has open. */
export class EventStreams {
  readonly #max: number;
  readonly #heartbeatMs: number;
  readonly #open = new Set<() => void>();

  constructor({ maxStreams, heartbeatMs }: { readonly maxStreams: number; readonly heartbeatMs: number }) {
    this.#max = maxStreams;
    this.#heartbeatMs = heartbeatMs;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Throws when no stream may be opened now. */
  assertRoom(): void {
    if (this.#open.size < this.#max) return;
    throw new HttpError('TOO_MANY_STREAMS', `${this.#max} streams are open; try again later`, { 'retry-after': '5' });
  }

  /** A body of server-sent events. */
  open(source: StreamSource): ReadableStream<Uint8Array> {
    const stop = new AbortController();
    const silence = new Silence(this.#heartbeatMs);
    const messages = source.messages(stop.signal);
    const end = (): void => {
      if (!this.#open.delete(end)) return;
      stop.abort();
      // A source that waits ends by the signal; one whose last message was not taken ends here.
      void messages.return?.();
      silence.end();
      source.ended();
    };
    this.#open.add(end);
    const encoder = new TextEncoder();
    let pending: Promise<IteratorResult<string | Uint8Array, void>> | undefined;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          await afterLongTurn(); // a client on this machine takes 100 MB as fast as they are read
          pending ??= messages.next();
          const next = await silence.or(pending);
          if (next === undefined) {
            const last = await source.check();
            controller.enqueue(encoder.encode(last ?? HEARTBEAT));
            if (last === undefined) return;
            controller.close();
            end();
            return;
          }
          pending = undefined;
          if (!next.done) {
            controller.enqueue(typeof next.value === 'string' ? encoder.encode(next.value) : next.value);
            return;
          }
          end();
          controller.close();
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    );
  }

  /** Ends all streams. */
  close(): void {
    for (const end of [...this.#open]) end();
  }
}

/** Notices that nothing was sent for a while. One timer for a stream: most messages come long before it ends. */
class Silence {
  readonly #timer: NodeJS.Timeout;
  #noticed: (() => void) | undefined;

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#noticed?.(), ms);
    this.#timer.unref();
  }

  /** What the promise resolves with; undefined when it takes too long. */
  or<T>(promise: Promise<T>): Promise<T | undefined> {
    this.#timer.refresh();
    return new Promise((resolve, reject) => {
      this.#noticed = () => resolve(undefined);
      promise.then(resolve, reject);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
