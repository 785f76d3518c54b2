import { canonicalJson } from '../../core/canonical-json.ts';
import { HoldfastError, isHoldfastError } from '../../core/errors.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import type { MessageRecorded, NewEvent } from '../../core/log/events.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';

/**
 * Which message may be written at which place (D12): a place in an evaluation is taken once. Checked right before an append, when
 * every earlier event is known, because two writers may both have found the place free.
 */
export class MessageSequences {
  readonly #state: SessionState;
  /** The places that events of the same commit have taken: the next free place of each evaluation, and the messages at the others. */
  readonly #next = new Map<string, number>();
  readonly #taken: ConversationMessage[] = [];

  constructor(state: SessionState) {
    this.#state = state;
  }

  /** Takes the places of these events' messages, all of them or none. Throws `SESSION_CONFLICT` when another message has one. */
  take(events: readonly NewEvent[]): void {
    const next = new Map<string, number>();
    const taken: ConversationMessage[] = [];
    for (const event of events) {
      if (event.type !== 'message/recorded') continue;
      const { message } = event as MessageRecorded;
      const { evaluationId: id, sequence } = message;
      const evaluation = this.#state.record.evaluations.get(id);
      if (sequence >= (next.get(id) ?? this.#next.get(id) ?? evaluation?.nextSequence ?? 0)) {
        next.set(id, sequence + 1);
        taken.push(message);
      } else {
        const isThere = (other: ConversationMessage): boolean =>
          other.sequence === sequence && other.evaluationId === id;
        const there = taken.find(isThere) ?? this.#taken.find(isThere) ?? evaluation?.messages.find(isThere);
        if (!isSameMessage(there, message)) throw conflict(message);
      }
    }
    for (const [id, sequence] of next) this.#next.set(id, sequence);
    for (const message of taken) this.#taken.push(message);
  }
}

/** Whether two messages are equal but for the time when they were made. */
function isSameMessage(there: ConversationMessage | undefined, message: ConversationMessage): boolean {
  return there !== undefined && canonicalJson({ ...message, createdAt: there.createdAt }) === canonicalJson(there);
}

function conflict(message: ConversationMessage): HoldfastError {
  return new HoldfastError(
    'SESSION_CONFLICT',
    `evaluation ${message.evaluationId} has another message at ${message.sequence}; resume it instead of writing beside it`,
    { detail: 'sequence', data: new SequenceTaken(message.evaluationId, message.sequence) },
  );
}

/** The place that another message has. */
class SequenceTaken {
  readonly evaluationId: string;
  readonly sequence: number;

  constructor(evaluationId: string, sequence: number) {
    this.evaluationId = evaluationId;
    this.sequence = sequence;
  }
}

/** Whether an append failed because another message has the place of one of its own. Nothing was written. */
export function isSequenceTaken(error: unknown): boolean {
  return isHoldfastError(error, 'SESSION_CONFLICT') && error.data instanceof SequenceTaken;
}
