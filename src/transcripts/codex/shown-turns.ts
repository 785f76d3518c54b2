/** Remembers which blocks each prompt of a thread led to, so that turns which a person took back can be removed. */
import type { ConversationEvent } from '../../conversation/events.ts';
import { isCount } from '../../core/message-problem.ts';
import type { BlockWriter } from '../block-writer.ts';
import type { RolloutLine } from './rollout-line.ts';

export class ShownTurns {
  readonly #conversationId: string;
  readonly #turns: string[][] = [];
  readonly #known = new Set<string>();

  constructor(conversationId: string) {
    this.#conversationId = conversationId;
  }

  add(events: readonly ConversationEvent[]): void {
    for (const event of events) {
      if (event.type !== 'block:upsert' || event.conversationId !== this.#conversationId) continue;
      const { id, type } = event.block;
      if (this.#known.has(id)) continue;
      this.#known.add(id);
      if (type === 'user_message') this.#turns.push([id]);
      else this.#turns.at(-1)?.push(id);
    }
  }

  /** Removes the turns that a `thread_rolled_back` names: the newest ones. */
  rollBack({ payload, timestamp }: RolloutLine, writer: BlockWriter): void {
    for (let left = isCount(payload.num_turns) ? payload.num_turns : 0; left > 0 && this.#turns.length > 0; left--) {
      for (const id of this.#turns.pop() ?? []) {
        this.#known.delete(id);
        writer.remove(this.#conversationId, id, timestamp);
      }
    }
  }
}
