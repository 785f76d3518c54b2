import type { ContentWrite } from '../../ports/store.ts';

/** The most characters of contents that a handle holds. */
const MOST = 8 * 1024 * 1024;

/** The external contents that a handle has written last, so that a snapshot that is taken synchronously includes them (D91). */
export class HeldContents {
  readonly #texts = new Map<string, string>();
  #length = 0;

  hold(contents: readonly ContentWrite[]): void {
    for (const { hash, text } of contents) {
      if (this.#texts.has(hash)) continue;
      this.#texts.set(hash, text);
      this.#length += text.length;
    }
    for (const [hash, text] of this.#texts) {
      if (this.#length <= MOST) return;
      this.#texts.delete(hash);
      this.#length -= text.length;
    }
  }

  get(name: string): string | undefined {
    return this.#texts.get(name);
  }
}
