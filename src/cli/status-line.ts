/** One line of a terminal that is written again and again. On any other output it is silent: logs need no progress. */
export class StatusLine {
  readonly #output: NodeJS.WriteStream;
  #isShown = false;

  constructor(output: NodeJS.WriteStream = process.stdout) {
    this.#output = output;
  }

  show(text: string): void {
    if (!this.#output.isTTY) return;
    const width = (this.#output.columns ?? 80) - 1;
    this.#output.write(`\r\u001b[2K${text.length > width ? `${text.slice(0, width - 1)}…` : text}`);
    this.#isShown = true;
  }

  /** Removes the line; what is printed next takes its place. */
  clear(): void {
    if (this.#isShown) this.#output.write('\r\u001b[2K');
    this.#isShown = false;
  }
}
