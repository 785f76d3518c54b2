import { setTimeout as sleep } from 'node:timers/promises';

/** Something that others wait at until it is opened, until they are let through one by one, or for a while. */
export class Gate {
  #isOpen = true;
  #pauseMs = 0;
  #passes = 0;
  #waiting: (() => void)[] = [];

  close(): void {
    this.#isOpen = false;
    this.#passes = 0;
  }

  open(): void {
    this.#isOpen = true;
    this.#pauseMs = 0;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** From now on everything waits this long. What waits at the closed gate still waits until it is opened. */
  slow(ms: number): void {
    this.#isOpen = true;
    this.#pauseMs = ms;
  }

  /** Lets this many through, now or later. */
  pass(count: number): void {
    this.#passes += count;
    while (this.#passes > 0 && this.#waiting.length > 0) {
      this.#passes--;
      this.#waiting.shift()?.();
    }
  }

  passed(): Promise<void> | void {
    if (this.#isOpen) return this.#pauseMs === 0 ? undefined : sleep(this.#pauseMs);
    if (this.#passes > 0) {
      this.#passes--;
      return;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
