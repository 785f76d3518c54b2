import { type BuiltInEvent, isBuiltInEvent, type SessionEvent } from './events.ts';

/**
 * Whether replacing an event changes the summary of its session, so that the summary has to be folded again from the log. Decided
 * by the fields that `summarizeSession` may read: erasing what a message said changes none of them, and must not cost a fold of a
 * million events. A field that a summary reads and that is missing here leaves erased text in listings.
 */
export function changesSummary(before: SessionEvent, after: SessionEvent): boolean {
  if (after.seq === 1 && before.at !== after.at) return true; // the time when the session began
  return fieldsRead(before) !== fieldsRead(after);
}

function fieldsRead(event: SessionEvent): string | undefined {
  return isBuiltInEvent(event) ? JSON.stringify(builtInFields(event)) : undefined;
}

function builtInFields(event: BuiltInEvent): unknown {
  switch (event.type) {
    case 'session/described':
    case 'session/forked': {
      const { at: _, ...fields } = event;
      return fields;
    }
    case 'session/restored':
      return [event.type, event.slices?.evaluations];
    case 'message/recorded': {
      // An event may only claim to be a message: a store keeps it all the same.
      const { role, evaluationId, turn, toolCallId } = (event.message ?? {}) as unknown as Record<string, unknown>;
      return [event.type, role, evaluationId, turn, toolCallId, event.inputId !== undefined];
    }
    case 'message/interrupted':
    case 'message/erased':
    case 'adapter/captured':
    case 'history/curated':
    case 'history/summarized':
      return undefined;
    case 'input/queued':
    case 'input/withdrawn':
      return [event.type, event.type === 'input/withdrawn' && event.queuedSeq];
    case 'evaluation/superseded':
      return [event.type, event.evaluationId, event.by === undefined];
    default: {
      // Of evaluations and calls: all but what a person or a tool said.
      const { type, evaluationId, conversationId, reason, turn, callId, expiresAt, after } = event as unknown as Record<
        string,
        unknown
      >;
      return [type, evaluationId, conversationId, reason, turn, callId, expiresAt, after];
    }
  }
}
