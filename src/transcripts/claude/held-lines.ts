/**
 * Lines that stand before the line that they follow. Some versions of Claude Code write the result of a fast call before the call
 * itself. Such a result, and what follows it, is held until the call was read.
 */
import type { ClaudeEntry } from './entry.ts';

interface HeldLine {
  readonly entry: ClaudeEntry;
  isReleased: boolean;
}

/** A call whose line is missing is not waited for longer than this number of lines. */
const MAX_HELD = 1000;

export class HeldLines {
  /** By what they wait for: the id of a line or of a call. */
  readonly #waiting = new Map<string, HeldLine[]>();
  /** In the order of the file. */
  #held: HeldLine[] = [];
  #count = 0;
  readonly #uuids = new Set<string>();

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get isFull(): boolean {
    return this.#held.length >= MAX_HELD;
  }

  /** Whether a line is held. */
  has(uuid: string): boolean {
    return this.#uuids.has(uuid);
  }

  /** Holds a line until one of these ids was read. */
  hold(entry: ClaudeEntry, ids: readonly string[]): void {
    const held: HeldLine = { entry, isReleased: false };
    this.#held.push(held);
    this.#count++;
    if (entry.uuid !== undefined) this.#uuids.add(entry.uuid);
    for (const id of ids) {
      const waiting = this.#waiting.get(id);
      if (waiting) waiting.push(held);
      else this.#waiting.set(id, [held]);
    }
  }

  /** Releases the lines that wait for an id. */
  release(id: string): readonly ClaudeEntry[] {
    const waiting = this.#waiting.get(id)?.filter(({ isReleased }) => !isReleased);
    if (waiting === undefined) return [];
    this.#waiting.delete(id);
    return waiting.map((held) => {
      held.isReleased = true;
      if (held.entry.uuid !== undefined) this.#uuids.delete(held.entry.uuid);
      if (--this.#count === 0) this.#held = [];
      return held.entry;
    });
  }

  /** Releases all lines, in the order of the file. */
  releaseAll(): readonly ClaudeEntry[] {
    const entries = this.#held.flatMap(({ entry, isReleased }) => (isReleased ? [] : [entry]));
    this.#held = [];
    this.#count = 0;
    this.#waiting.clear();
    this.#uuids.clear();
    return entries;
  }
}
