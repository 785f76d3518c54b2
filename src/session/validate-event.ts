import { canonicalJson } from '../core/canonical-json.ts';
import { HoldfastError } from '../core/errors.ts';
import { isBuiltInEvent, type MessageRecorded } from '../core/events.ts';
import type { SessionState } from '../core/fold.ts';
import type { ConversationMessage } from '../core/messages.ts';

/** What an event must be before it may enter a log. Checked once, here: what is in a log is trusted from then on. */

const TYPE = /^[a-z][\w.-]*\/[\w./-]+$/i;

/** The event without an envelope of its own, or a typed error that says what is wrong with it. */
export function validateEvent<E extends { readonly type: string }>(event: E, state: SessionState): E {
  if (typeof event !== 'object' || event === null || typeof event.type !== 'string' || !TYPE.test(event.type)) {
    throw new HoldfastError(
      'EVENT_INVALID',
      'an event is an object with a type like "plan/added": a noun, a slash and what happened',
    );
  }
  if (!isBuiltInEvent(event)) return event;
  if (event.type === 'message/recorded') checkMessage(event, state);
  else if ('evaluationId' in event && typeof event.evaluationId !== 'string') {
    throw new HoldfastError('EVENT_INVALID', `a ${event.type} event names its evaluation`);
  }
  return event;
}

function checkMessage(event: MessageRecorded, state: SessionState): void {
  const { message } = event;
  if (typeof message !== 'object' || message === null) refuse('it is missing');
  if (!['system', 'user', 'assistant', 'tool'].includes(message.role)) refuse(`its role is "${message.role}"`);
  if (!Array.isArray(message.content)) refuse('its content is not a list of parts');
  if (typeof message.id !== 'string' || typeof message.evaluationId !== 'string') refuse('its ids are missing');
  if (!Number.isSafeInteger(message.sequence) || message.sequence < 0) refuse('its sequence is not a count');
  if (!Number.isSafeInteger(message.turn) || message.turn < 0) refuse('its turn is not a count');
  checkSequence(message, state);
}

function refuse(why: string): never {
  throw new HoldfastError('EVENT_INVALID', `this message cannot be recorded: ${why}`);
}

/** A second message in one place is a no-op when it says the same, a conflict when it does not (D12). */
function checkSequence(message: ConversationMessage, state: SessionState): void {
  const evaluation = state.record.evaluations.get(message.evaluationId);
  if (!evaluation || message.sequence >= evaluation.nextSequence) return;
  const there = evaluation.messages.find((other) => other.sequence === message.sequence);
  if (there && canonicalJson(there) === canonicalJson(message)) return;
  throw new HoldfastError(
    'SESSION_CONFLICT',
    `evaluation ${message.evaluationId} has another message at ${message.sequence}; resume it instead of writing beside it`,
    { detail: 'sequence' },
  );
}
