/** Something that others wait at until it is opened, or until they are let through one by one. */
export class Gate {
  #isOpen = true;
  #passes = 0;
  #waiting: (() => void)[] = [];

  close(): void {
    this.#isOpen = false;
    this.#passes = 0;
  }

  open(): void {
    this.#isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
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
    if (this.#isOpen) return;
    if (this.#passes > 0) {
      this.#passes--;
      return;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
