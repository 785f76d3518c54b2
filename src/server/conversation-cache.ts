import type { SessionConversationState } from '../conversation/blocks.ts';
import type { ConversationEvent } from '../conversation/events.ts';
import { createConversationState } from '../conversation/indexed-state.ts';
import { reduceConversationEvents } from '../conversation/reduce-conversation.ts';
import type { SessionEvent } from '../core/log/events.ts';
import type { TailItem } from '../core/log/tail.ts';
import { conversationOf } from '../importers/kept/load-imported.ts';
import type { AnySession } from '../session/session.ts';
import { type LogConverter, logConverter } from '../transcripts/own-log.ts';
import { afterLongTurn } from './http/long-turns.ts';

interface Known {
  readonly incarnation: number;
  readonly converter: LogConverter;
  seq: number;
  state: SessionConversationState;
}

/** How many conversations are kept. A page reads one at a time. */
const MAX_KNOWN = 4;
const BATCH = 1000;

/**
 * The conversations that pages of blocks are read from, without drafts. A conversation of our own is continued with the events that are new;
 * an imported one is parsed again when its log has grown.
 */
export class ConversationCache {
  /** Those that were read last are at the end. */
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<Known>>();

  /** The conversation of a session at its newest event. Requests for one session wait for each other. */
  async read(session: AnySession): Promise<{ readonly seq: number; readonly state: SessionConversationState }> {
    const { id } = session;
    const before = this.#reading.get(id);
    const reading = (before ?? Promise.resolve()).catch(() => {}).then(() => this.#continue(session));
    this.#reading.set(id, reading);
    try {
      const { seq, state } = await reading;
      return { seq, state };
    } finally {
      if (this.#reading.get(id) === reading) this.#reading.delete(id);
    }
  }

  async #continue(session: AnySession): Promise<Known> {
    const { id, incarnation, seq, summary } = session;
    const last = this.#known.get(id);
    this.#known.delete(id);
    const known: Known =
      last?.incarnation === incarnation && last.seq <= seq
        ? last
        : { incarnation, converter: logConverter({ machinery: true }), seq: 0, state: createConversationState() };
    if (known.seq < seq) {
      if (summary?.source) known.state = await conversationOf(session);
      else known.state = await foldConversation(session.events({ from: known.seq + 1 }), known);
      known.seq = seq;
    }
    this.#known.set(id, known);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > MAX_KNOWN) this.#known.delete(oldest);
    return known;
  }
}

/** Folds what a session's log, or its tail, has. */
export async function foldConversation(
  items: AsyncIterable<SessionEvent | TailItem>,
  { converter, state }: Pick<Known, 'converter' | 'state'>,
): Promise<SessionConversationState> {
  let folded = state;
  let batch: ConversationEvent[] = [];
  for await (const item of items) {
    batch.push(...converter.push(item));
    await afterLongTurn();
    if (batch.length < BATCH) continue;
    folded = reduceConversationEvents(folded, batch);
    batch = [];
  }
  return reduceConversationEvents(folded, batch);
}
