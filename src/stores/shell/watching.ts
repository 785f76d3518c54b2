import { Watchers } from '../watchers.ts';

const POLL_MS = 100;

/** How a store notices what other processes commit, and how they notice what it commits. */
export interface CommitFeed {
  /** Called once, with the watchers to notify. */
  start(watchers: Watchers): void;
  /** A session is watched from now on. */
  watch(sessionId: string): void;
  watchWork(): void;
  /** After a commit of this store: its own watchers are notified already. */
  committed(sessionId: string, isWork: boolean): void;
}

/** Asks for a value that each commit changes, while something is watched. */
export class PollingFeed implements CommitFeed {
  readonly #ask: () => Promise<unknown>;
  #watchers = new Watchers();
  #timer: NodeJS.Timeout | undefined;
  /** The value when the watchers were last notified; a first look notifies them, too. */
  #version: unknown;

  constructor(ask: () => Promise<unknown>) {
    this.#ask = ask;
  }

  start(watchers: Watchers): void {
    this.#watchers = watchers;
  }

  watch(): void {
    this.#timer ??= setTimeout(() => void this.#look(), POLL_MS).unref();
  }

  watchWork(): void {
    this.watch();
  }

  committed(): void {}

  async #look(): Promise<void> {
    try {
      const version = await this.#ask();
      if (version !== this.#version) this.#watchers.notifyAll();
      this.#version = version;
    } catch {
      // It cannot be read now: the next look finds the same news.
    }
    this.#timer = undefined;
    if (this.#watchers.isWatching) this.watch();
  }
}
