/** Moves along the lines of a thread, through all files that hold parts of it, with a chunk or two of one file in memory. */

import type { RolloutLine } from '../../transcripts/codex/rollouts/rollout-line.ts';
import type { ThreadInfo } from '../../transcripts/codex/rollouts/session-plan.ts';
import type { CodexTranscript, OpenedRollout } from '../../transcripts/codex/transcript.ts';
import type { ThreadCursor } from '../../transcripts/codex/transcript-events.ts';
import type { ChunkReader } from '../chunk-reader.ts';
import { LineScanner } from '../line-scanner.ts';

const BYTE_ORDER_MARK = '\uFEFF';

/** A part of a thread: a file, opened when its turn comes. */
export interface RolloutPart {
  readonly opened: OpenedRollout;
  readonly open: () => Promise<ChunkReader>;
}

export class RolloutCursor implements ThreadCursor {
  readonly info: ThreadInfo;
  head: RolloutLine | undefined;
  readonly #transcript: CodexTranscript;
  readonly #parts: readonly RolloutPart[];
  #part = 0;
  #scanner: LineScanner | undefined;
  /** Records that stand on the same line as the current one. */
  #glued: readonly RolloutLine[] = [];

  constructor(transcript: CodexTranscript, info: ThreadInfo, parts: readonly RolloutPart[]) {
    this.#transcript = transcript;
    this.info = info;
    this.#parts = parts;
  }

  advance(): boolean | Promise<boolean> {
    [this.head, ...this.#glued] = this.#glued;
    return this.head !== undefined || (this.#scan() ?? this.#readOn());
  }

  async close(): Promise<void> {
    await this.#scanner?.close();
    this.#scanner = undefined;
    this.#part = this.#parts.length;
  }

  /** Finds the next line in the current chunk; `undefined` when another chunk or another file is needed. */
  #scan(): boolean | undefined {
    const opened = this.#parts[this.#part]?.opened;
    if (opened === undefined) {
      this.head = undefined;
      return false;
    }
    while (this.#scanner !== undefined && !opened.isDone) {
      const line = this.#scanner.next();
      if (line === 'more' || line === 'end') {
        if (line === 'end') opened.isDone = true;
        return undefined;
      }
      if (line.isTooLong) {
        this.#transcript.skipTooLong(opened);
        continue;
      }
      const text = line.buffer.toString('utf8', line.start, line.end);
      const isMarked = opened.lineNumber === 0 && text.startsWith(BYTE_ORDER_MARK);
      [this.head, ...this.#glued] = this.#transcript.read(opened, isMarked ? text.slice(1) : text, line.isTorn);
      if (this.head !== undefined) return true;
    }
    return undefined;
  }

  async #readOn(): Promise<boolean> {
    while (true) {
      const part = this.#parts[this.#part];
      if (part === undefined) {
        this.head = undefined;
        return false;
      }
      if (part.opened.isDone) {
        await this.#scanner?.close();
        this.#scanner = undefined;
        this.#part++;
        continue;
      }
      this.#scanner ??= new LineScanner(await part.open());
      await this.#scanner.read();
      const found = this.#scan();
      if (found !== undefined) return found;
    }
  }
}
