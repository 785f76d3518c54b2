import { type BuiltInEvent, isBuiltInEvent, type SessionEvent } from './events.ts';

/**
 * Whether replacing an event changes the summary of its session, so that the store must fold the summary again from the log. Compares
 * the fields that `summarizeSession` may read: erasing a message's content changes none of them, and must not cost a fold of a million
 * events. A field that a summary reads and that is missing here would leave erased text in listings.
 */
export function changesSummary(before: SessionEvent, after: SessionEvent): boolean {
  if (after.seq === 1 && before.at !== after.at) return true; // the session's start time
  return fieldsRead(before) !== fieldsRead(after);
}

function fieldsRead(event: SessionEvent): string | undefined {
  return isBuiltInEvent(event) ? JSON.stringify(builtInFields(event)) : undefined;
}

function builtInFields(event: BuiltInEvent): unknown {
  switch (event.type) {
    case 'session/described':
    case 'session/forked':
    case 'source/described':
    case 'source/replaced': {
      const { at: _, ...fields } = event;
      return fields;
    }
    case 'session/restored':
      return [event.type, event.slices?.evaluations];
    case 'message/recorded': {
      // Stores accept malformed messages.
      const { role, evaluationId, turn, toolCallId } = (event.message ?? {}) as unknown as Record<string, unknown>;
      return [event.type, role, evaluationId, turn, toolCallId, event.inputId !== undefined, event.usage];
    }
    case 'message/interrupted':
    case 'message/erased':
    case 'adapter/captured':
    case 'history/curated':
      return undefined;
    case 'history/summarized':
      return [event.type, event.usage];
    case 'source/recorded': {
      const { type, file, generation, offset, bytes, stamp, redacted, erased } = event;
      return [type, file, generation, offset, bytes, stamp, redacted, erased !== undefined];
    }
    case 'input/queued':
    case 'input/withdrawn':
      return [event.type, event.type === 'input/withdrawn' && event.queuedSeq];
    case 'evaluation/superseded':
      return [event.type, event.evaluationId, event.by === undefined];
    default: {
      // Of events about evaluations and calls: everything except content of a person or a tool.
      const { type, evaluationId, conversationId, reason, turn, callId, expiresAt, after } = event as unknown as Record<
        string,
        unknown
      >;
      return [type, evaluationId, conversationId, reason, turn, callId, expiresAt, after];
    }
  }
}
