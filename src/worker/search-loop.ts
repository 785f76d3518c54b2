import type { Clock } from '../ports/clock.ts';

/** Rings that name no session start one search for all of them. */
const RING_MS = 50;

interface SearchLoopOptions {
  readonly clock: Clock;
  /** 0: no searches but the first and those that are rung for. */
  readonly pollMs: number;
  /** Searches do not keep the process alive. */
  readonly isBackground: boolean;
  readonly search: (isFirst: boolean) => Promise<void>;
  readonly report: (error: unknown) => void;
}

/** Searches one after the other: every `pollMs`, and soon after a ring. */
export class SearchLoop {
  readonly #options: SearchLoopOptions;
  #last: { readonly at: number; readonly error?: unknown } | undefined;
  #searching: Promise<void> | undefined;
  #isRungMeanwhile = false;
  /** A ring has set the time of the next search: more rings do not delay it. */
  #isSoon = false;
  #isStopped = false;
  #cancel: () => void = () => {};

  constructor(options: SearchLoopOptions) {
    this.#options = options;
  }

  /** When the last search ended, and its error if it failed. */
  get last(): { readonly at: number; readonly error?: unknown } | undefined {
    return this.#last;
  }

  start(): void {
    this.#searchNow(true);
  }

  /** There may be work: searches soon. */
  ring(): void {
    if (this.#searching) this.#isRungMeanwhile = true;
    else if (this.#last && !this.#isSoon) this.#searchSoon();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#searching;
  }

  #searchSoon(): void {
    this.#isSoon = true;
    this.#searchIn(RING_MS);
  }

  #searchIn(ms: number): void {
    if (this.#isStopped) return;
    this.#cancel();
    const { clock, isBackground } = this.#options;
    this.#cancel = clock.after(ms, () => this.#searchNow(false), { background: isBackground });
  }

  #searchNow(isFirst: boolean): void {
    if (this.#isStopped || this.#searching) return;
    this.#cancel();
    this.#isRungMeanwhile = false;
    this.#isSoon = false;
    this.#searching = this.#searched(isFirst).then(() => {
      this.#searching = undefined;
      const { pollMs } = this.#options;
      if (this.#isRungMeanwhile) this.#searchSoon();
      else if (pollMs > 0) this.#searchIn(pollMs);
    });
  }

  async #searched(isFirst: boolean): Promise<void> {
    const { clock, search, report } = this.#options;
    try {
      await search(isFirst);
      this.#last = { at: clock.now() };
    } catch (error) {
      this.#last = { at: clock.now(), error };
      if (!this.#isStopped) report(error);
    }
  }
}
