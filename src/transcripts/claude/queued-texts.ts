/**
 * Texts that the user typed while the agent worked. Older versions of Claude Code write them only as operations on a queue:
 *
 *     enqueue (with the text) ─┬─▶ remove, dequeue: the agent got it
 *                              └─▶ popAll: the user took it back
 *
 * Newer versions also write a user line or an attachment with the same text, before the response to it. A text that none of them
 * repeats until then becomes a line of its own.
 */
import { asName, asText } from '../json-access.ts';
import { contentText } from './content.ts';
import type { ClaudeEntry } from './entry.ts';
import { readableText } from './user-text.ts';

interface QueuedText {
  /** Absent where the source keeps only the operation. */
  readonly text: string | undefined;
  /** Whether a line has the same text. */
  isRepeated: boolean;
}

/** No user types more texts than this while an agent works; a longer queue is damaged. */
const MAX_QUEUED = 1000;

export class QueuedTexts {
  #queue: QueuedText[] = [];
  #received: { readonly text: string; readonly operation: ClaudeEntry }[] = [];
  #count = 0;

  /** Whether so many texts were received that they have to be taken now. */
  get isFull(): boolean {
    return this.#received.length >= MAX_QUEUED;
  }

  /** Applies an operation on the queue. */
  operate(entry: ClaudeEntry): void {
    const text = asName(asText(entry.raw.content)?.trim());
    switch (entry.raw.operation) {
      case 'enqueue':
        if (this.#queue.length < MAX_QUEUED) this.#queue.push({ text, isRepeated: false });
        break;
      case 'popAll':
        this.#queue = [];
        break;
      case 'remove':
      case 'dequeue': {
        const named = text === undefined ? 0 : this.#queue.findIndex((queued) => queued.text === text);
        const [queued] = named < 0 ? [] : this.#queue.splice(named, 1);
        const reason = asName(entry.raw.reason);
        const isReceived = reason === undefined || reason.startsWith('absorbed');
        if (queued?.text === undefined || queued.isRepeated || !isReceived) break;
        this.#received.push({ text: queued.text, operation: entry });
        break;
      }
      default:
    }
  }

  /** Notes that a line of the user has this content: a queued text that is equal needs no line of its own. */
  repeat(content: unknown): void {
    if (this.#received.length === 0 && this.#queue.length === 0) return;
    const text = readableText(contentText(content)).trim();
    const received = this.#received.findIndex((one) => one.text === text);
    if (received >= 0) {
      this.#received.splice(received, 1);
      return;
    }
    const queued = this.#queue.find((one) => one.text === text && !one.isRepeated);
    if (queued) queued.isRepeated = true;
  }

  /** The lines of the texts that the agent got and that no line repeats; each is returned once. */
  take(): readonly ClaudeEntry[] {
    if (this.#received.length === 0) return [];
    const received = this.#received;
    this.#received = [];
    return received.map(({ text, operation }) => ({
      ...operation,
      type: 'attachment',
      uuid: `queued:${++this.#count}`,
      raw: { type: 'attachment', attachment: { type: 'queued_command', prompt: text } },
    }));
  }
}
