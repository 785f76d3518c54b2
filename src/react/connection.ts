import { isVisible, onReturn } from './browser.ts';
import type { ConversationSource, SourceReader } from './conversation-source.ts';
import { asError, pauseAfter, unreachable } from './request.ts';

/** What a connection reads for, and how. */
export interface ConnectionOwner extends Pick<SourceReader, 'item' | 'live'> {
  /** The cursor of the last item. */
  cursor(): string | undefined;
  limits(): { readonly silenceMs?: number | undefined; readonly maxRetryMs?: number | undefined };
  /** Called when the source failed or ended. `isOver`: it will not be opened again. */
  lost(isOver: boolean, error: Error | undefined): void;
  /** Called when the tab was shown or hidden: frames begin or end with that. */
  shown(): void;
}

/** A server may wish less time between two connections than this, but not get it. */
const MIN_RETRY_MS = 100;
const RETRY_MS = 1000;
const SILENCE_MS = 40_000;

/** Follows a source until it is closed or over: opens it again after the last cursor whenever it fails, with backoff and jitter. */
export class Connection {
  readonly #source: ConversationSource;
  readonly #owner: ConnectionOwner;
  readonly #stopReturns: () => void;
  /** The attempt under way; none while the next one waits for its timer. */
  #current: AbortController | undefined;
  /** Until the next attempt, or until the current one counts as dead. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #retryMs = RETRY_MS;
  #aliveAt = 0;

  constructor(source: ConversationSource, owner: ConnectionOwner) {
    this.#source = source;
    this.#owner = owner;
    this.#stopReturns = onReturn((isOnline) => this.#returned(isOnline));
    this.#connect();
  }

  close(): void {
    this.#stopReturns();
    this.#stop();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#current?.abort();
    this.#current = undefined;
  }

  async #connect(): Promise<void> {
    this.#stop();
    const attempt = new AbortController();
    this.#current = attempt;
    const isCurrent = (): boolean => this.#current === attempt;
    const alive = (retryMs = this.#retryMs): void => {
      if (!isCurrent()) return;
      this.#retryMs = Math.max(retryMs, MIN_RETRY_MS);
      this.#aliveAt = Date.now();
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => attempt.abort(unreachable('the server')), this.#silenceMs);
    };
    let problem: unknown;
    try {
      await this.#source.follow(
        this.#owner.cursor(),
        {
          alive,
          item: (item) => {
            if (!isCurrent()) return;
            this.#owner.item(item);
            this.#failures = 0;
          },
          live: () => {
            if (!isCurrent()) return;
            this.#owner.live();
            this.#failures = 0;
          },
        },
        attempt.signal,
      );
      problem = attempt.signal.reason; // it was aborted, and ended without an error
    } catch (error) {
      problem = error;
    }
    if (!isCurrent()) return;
    this.#stop(); // an error of the reader leaves the response open
    const isOver = this.#source.isFinal(problem);
    if (isOver) this.#stopReturns();
    else {
      const pause = pauseAfter(this.#failures++, this.#retryMs, this.#owner.limits().maxRetryMs);
      this.#timer = setTimeout(() => this.#connect(), pause);
    }
    this.#owner.lost(isOver, problem ? asError(problem) : undefined);
  }

  get #silenceMs(): number {
    return this.#owner.limits().silenceMs ?? SILENCE_MS;
  }

  /** A tab that was hidden or offline: its timers were slow and its connection may be dead. */
  #returned(isOnline: boolean): void {
    this.#owner.shown();
    if (!isVisible() && !isOnline) return;
    const isDoubtful = isOnline || Date.now() - this.#aliveAt > this.#silenceMs / 2;
    if (this.#current && !isDoubtful) return;
    this.#failures = 0;
    this.#connect();
  }
}
