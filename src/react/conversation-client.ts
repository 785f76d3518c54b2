/**
 * Follows one conversation and notifies listeners, without React: `useConversation` renders it.
 *
 *     first listener ─▶ connecting ─▶ live ◀──▶ reconnecting      by the cursor, with backoff and jitter
 *                                      └──────▶ ended             the session is gone, or access was refused
 *
 * `logConverter` and `reduceConversationEvents` fold everything that arrived within a frame, then listeners are notified once. Connecting
 * and disconnecting wait for the current task to end, so that a component that React mounts twice opens one connection.
 */

import type { SessionConversationState } from '../conversation/blocks.ts';
import type { ConversationEvent } from '../conversation/events.ts';
import { createConversationState } from '../conversation/indexed-state.ts';
import { reduceConversationEvents } from '../conversation/reduce-conversation.ts';
import { reviveConversationState } from '../conversation/revive.ts';
import type { PendingCall, QueuedInput } from '../core/views/views.ts';
import type { AnySession } from '../session/session.ts';
import { type LogConverter, logConverter } from '../transcripts/own-log.ts';
import { nextFrame } from './browser.ts';
import { Connection } from './connection.ts';
import type { ConversationActions, ConversationSource } from './conversation-source.ts';
import { Observable } from './observable.ts';
import { pause, type RequestOptions } from './request.ts';
import { serverSource } from './server-source.ts';
import { type AgentStatus, Waiting, withoutInputOf } from './waiting.ts';

/** Whether a conversation is followed. */
export type ConversationStatus = 'connecting' | 'live' | 'reconnecting' | 'ended';

/** A conversation at one moment. Immutable: a change makes a new object that shares everything else. */
export interface ConversationSnapshot {
  readonly state: SessionConversationState;
  readonly status: ConversationStatus;
  /** What the agent does, by the log: `working` until its evaluation has ended or is suspended. `idle` until the log was read. */
  readonly agent: AgentStatus;
  /** Inputs that were sent and are not part of the conversation yet. */
  readonly queue: readonly QueuedInput[];
  /** Calls that wait for a person. */
  readonly pending: readonly PendingCall[];
  /** Why the conversation is not live; undefined while it is. */
  readonly error: Error | undefined;
  /** The position of the newest item. */
  readonly cursor: string | undefined;
}

/** What people can do with a conversation that is followed. */
export interface ClientActions extends ConversationActions {
  /** Connects again at once, also after the conversation has ended. Without listeners it does nothing. */
  reconnect(): void;
}

/** Options of a conversation. */
export interface ConversationOptions extends RequestOptions {
  /** What is shown until the log was read, for example what `GET /sessions/:id/state` returned when the page was rendered. */
  readonly initial?: { readonly state: unknown } | undefined;
  /** Also shows the blocks that are marked as machinery, which are for operators. Default: false. */
  readonly machinery?: boolean | undefined;
  /** Milliseconds without a byte after which a connection counts as dead. Default: 40,000; servers send a heartbeat every 15,000. */
  readonly silenceMs?: number | undefined;
  /** The most milliseconds between two attempts to reconnect. Default: 15,000. */
  readonly maxRetryMs?: number | undefined;
  /** Required for a session in this process: `import * as holdfast from 'holdfast'`, then `{ holdfast }`. */
  readonly holdfast?: { sessionSource(session: AnySession): ConversationSource } | undefined;
}

/** Follows a conversation while it has listeners. */
export class ConversationClient extends Observable<ConversationSnapshot> {
  /** The newest options: a token, for example, is read for every request. `initial`, `machinery` and `holdfast` are read once. */
  options: ConversationOptions;
  readonly actions: ClientActions;
  readonly #source: ConversationSource;
  readonly #waiting = new Waiting();
  readonly #converter: LogConverter;
  /** The state of everything but `#events`, which arrived since the last frame. */
  #folded = createConversationState();
  #events: ConversationEvent[] = [];
  /** The initial state is shown until everything was read once. */
  #isRead: boolean;
  /** What the next frame shows, without its state. */
  #next: ConversationSnapshot;
  /** A frame that publishes was requested. A hidden tab's comes late, when there may be nothing left to publish. */
  #isRequested = false;
  #connection: Connection | undefined;
  #isReading = false;

  constructor(source: string | AnySession, options: ConversationOptions = {}) {
    const { initial, machinery = false, holdfast } = options;
    const state = initial ? reviveConversationState(initial.state) : createConversationState();
    super({ state, status: 'connecting', agent: 'idle', queue: [], pending: [], error: undefined, cursor: undefined });
    this.options = options;
    const own = typeof source === 'string' ? serverSource(source, () => this.options) : holdfast?.sessionSource(source);
    if (!own) throw new TypeError("a session needs { holdfast }: import * as holdfast from 'holdfast'");
    this.#source = own;
    this.actions = { ...this.#source.actions, reconnect: () => this.#reconnect() };
    this.#converter = logConverter({ machinery });
    this.#isRead = !initial;
    this.#next = this.value;
  }

  #reconnect(): void {
    if (!this.#connection) return;
    this.follow(false);
    this.follow(true);
  }

  protected follow(isObserved: boolean): void {
    if (isObserved === Boolean(this.#connection)) return;
    this.#connection?.close();
    this.#connection = undefined;
    this.#change({ status: this.#next.cursor ? 'reconnecting' : 'connecting' });
    this.#publish();
    if (isObserved) this.#connection = this.#connect();
  }

  #connect(): Connection {
    return new Connection(this.#source, {
      cursor: () => this.#next.cursor,
      limits: () => this.options,
      item: (item) => {
        for (const event of this.#converter.push(item)) this.#events.push(event);
        this.#waiting.push(item.event);
        this.#change({ cursor: item.cursor, queue: withoutInputOf(this.#next.queue, item.event) });
        if (this.#next.status === 'live') this.#readWaiting();
      },
      live: () => {
        this.#isRead = true;
        this.#change({ status: 'live', error: undefined });
        this.#readWaiting();
      },
      lost: (isOver, error) => this.#change({ status: isOver ? 'ended' : 'reconnecting', error }),
      shown: () => this.#publishRequested(),
    });
  }

  #change(change: Partial<ConversationSnapshot>): void {
    this.#next = { ...this.#next, ...change };
    if (!this.#isRequested) nextFrame(() => this.#publishRequested());
    this.#isRequested = true;
  }

  #publishRequested(): void {
    if (this.#isRequested) this.#publish();
  }

  #publish(): void {
    this.#isRequested = false;
    this.#folded = reduceConversationEvents(this.#folded, this.#events);
    this.#events = [];
    if (this.#isRead) this.#next = { ...this.#next, state: this.#folded, agent: this.#waiting.agent };
    this.show(this.#next);
  }

  /** Reads the queue and the calls that wait when they may have changed, one request at a time; after a failure again. */
  async #readWaiting(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const waiting = this.#waiting;
    for (let failures = 0; this.#connection && waiting.isStale; ) {
      waiting.isStale = false;
      const { mayWait } = waiting;
      try {
        const [queue, open] = await this.#source.readWaiting(mayWait);
        failures = 0;
        this.#change({ queue, ...(mayWait && { pending: waiting.waitingOf(open) }) });
      } catch (error) {
        waiting.isStale = true;
        if (this.#source.isFinal(error)) break;
        await pause(failures++ ? 2 : 0); // after 1 second, then every 4
      }
    }
    this.#isReading = false;
  }
}
