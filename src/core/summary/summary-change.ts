import type { SessionEvent } from '../log/events.ts';
import { summaryFields } from './summary-fields.ts';

/**
 * Whether replacing an event changes the summary of its session, so that the store must fold the summary again from the log. Compares
 * the fields that `summarizeSession` may read: erasing a message's content changes none of them, and must not cost a fold of a million
 * events.
 */
export function changesSummary(before: SessionEvent, after: SessionEvent): boolean {
  if (after.seq === 1 && before.at !== after.at) return true; // the session's start time
  return fieldsRead(before) !== fieldsRead(after);
}

/** Undefined for an event that is not built in. The type of every other one matters: most of them end a suspension of the session (D79). */
function fieldsRead(event: SessionEvent): string | undefined {
  const fields = summaryFields(event.type, event);
  if (!fields) return undefined;
  // Whether records were erased is part of a summary, which ones is not.
  return JSON.stringify([event.type, { ...fields, ...('erased' in fields && { erased: true }) }]);
}
