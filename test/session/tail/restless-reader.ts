import { setImmediate } from 'node:timers/promises';
import {
  createConversationState,
  logConverter,
  messagesToEvents,
  reduceConversationEvents,
  type SessionConversationState,
} from '../../../src/conversation.ts';
import { type AnySession, openSession, type SessionEvent, type Store, type TailItem } from '../../../src/index.ts';
import type { LogConverter } from '../../../src/transcripts/own-log.ts';
import { StrictReader } from './strict-reader.ts';

interface Options {
  readonly store: Store;
  readonly id: string;
  readonly random: () => number;
  /** Also continues after items that it read long ago, like a client that lost its last cursors. */
  readonly forgets: boolean;
}

/**
 * A reader that is disconnected all the time and continues with the cursor of the last item it read. One converter receives all its items
 * and is never reset.
 */
export class RestlessReader {
  readonly strict: StrictReader | undefined;
  readonly items: TailItem[] = [];
  cuts = 0;
  readonly #options: Options;
  readonly #converter: LogConverter = logConverter({ machinery: true });
  #state: SessionConversationState = createConversationState();
  #cursors: string[] = [];
  #stop: AbortController | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
    this.strict = options.forgets ? undefined : new StrictReader();
  }

  /** Reads and disconnects, until `stop`. */
  start(): void {
    this.#stop = new AbortController();
    this.#reading = this.#read(this.#stop.signal);
  }

  /** Stops, reads the rest, and compares the converter's state with a reload; returns the differences. */
  async stop(): Promise<readonly string[]> {
    this.#stop?.abort();
    await this.#reading;
    await this.#withSession(async (session) => {
      const after = this.#cursors.at(-1);
      for await (const item of session.events({ drafts: true, after })) this.#take(item);
    });
    const wrong = [...(this.strict?.wrong ?? [])];
    const reloaded = await this.#reload();
    const shown = JSON.stringify(this.#state);
    if (shown !== reloaded) wrong.push(`after ${this.#cursors.at(-1)} shown: ${difference(shown, reloaded)}`);
    return wrong;
  }

  /** The state of a converter that receives all items, many of them several times. */
  async replayed(): Promise<readonly string[]> {
    const { random } = this.#options;
    const converter = logConverter({ machinery: true });
    let state = createConversationState();
    for (let next = 0; next < this.items.length; next++) {
      const again = random() < 0.02 ? Math.max(0, next - Math.floor(random() * 200)) : next;
      for (const item of this.items.slice(again, next + 1)) {
        state = reduceConversationEvents(state, converter.push(item));
      }
    }
    const reloaded = await this.#reload();
    return JSON.stringify(state) === reloaded ? [] : [`replayed: ${difference(JSON.stringify(state), reloaded)}`];
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { random } = this.#options;
    while (!signal.aborted) {
      await this.#withSession(async (session) => {
        for (let tails = 1 + random() * 3; tails > 0 && !signal.aborted; tails--) await this.#readTail(session, signal);
      });
      await setImmediate();
    }
  }

  async #readTail(session: AnySession, signal: AbortSignal): Promise<void> {
    const { random, forgets } = this.#options;
    const remembered = forgets ? Math.floor(random() * 20) : 0;
    const after = this.#cursors.at(-1 - remembered) ?? this.#cursors[0];
    const iterator = session.events({ live: true, drafts: true, after, signal })[Symbol.asyncIterator]();
    let count = Math.floor(random() * 12);
    for (; count > 0; count--) {
      const next = await iterator.next();
      if (next.done) break;
      this.#take(next.value);
    }
    // Sometimes ends while it waits for an item: an item that still arrives counts as read.
    const pending = random() < 0.3 ? iterator.next() : undefined;
    for (let turns = random() * 4; turns > 1; turns--) await setImmediate();
    await iterator.return?.();
    const last = await pending;
    if (last && !last.done) this.#take(last.value);
    this.cuts++;
  }

  #take(item: TailItem): void {
    this.items.push(item);
    this.strict?.read(item);
    // A converter accepts items, or the events in them.
    const shown = this.#converter.push(this.items.length % 2 === 0 ? item : item.event);
    this.#state = reduceConversationEvents(this.#state, shown);
    this.#cursors.push(item.cursor);
    if (this.#cursors.length > 1000) this.#cursors = this.#cursors.slice(-100);
  }

  async #reload(): Promise<string> {
    const { store, id } = this.#options;
    const drafts = await store.readDraft(id);
    const log: SessionEvent[] = [];
    for await (const event of store.read(id)) log.push(event);
    const events = messagesToEvents(log, { machinery: true, drafts });
    return JSON.stringify(reduceConversationEvents(createConversationState(), events));
  }

  async #withSession(use: (session: AnySession) => Promise<void>): Promise<void> {
    const { store, id } = this.#options;
    const session = await openSession({ store, id });
    try {
      await use(session);
    } finally {
      await session.close();
    }
  }
}

function difference(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - 200), at + 200);
  return `${around(one)}\n    reloaded: ${around(other)}`;
}
