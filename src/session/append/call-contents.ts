import { argumentKeysOf } from '../../core/fold/call-arguments.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { foldRecord, type SessionRecord } from '../../core/fold/record.ts';
import { isBuiltInEvent, type NewEvent } from '../../core/log/events.ts';
import type { CallContents } from '../../ports/store.ts';
import type { ExactArguments } from './redact-event.ts';

/**
 * What an append does to exact arguments that are stored outside the log (D77), derived from the record before and after its events:
 * those of calls that end are dropped, whichever event ends them; those of a call that is known already, or has ended within the
 * append, are not stored.
 */
export function callContentsOf(
  { record, seq }: SessionState,
  events: readonly NewEvent[],
  exact: readonly ExactArguments[],
): CallContents | undefined {
  if (exact.length === 0 && record.redactedEvaluations.length === 0) return undefined; // as in a session without redaction
  const before = keysIn(record);
  const after = keysIn(
    events.reduce<SessionRecord>((folded, event, i) => {
      const committed = { ...event, seq: seq + i + 1 };
      return isBuiltInEvent(committed) ? foldRecord(folded, committed) : folded;
    }, record),
  );
  const put = exact.filter(({ call }) => after.has(call) && !before.has(call));
  const drop = [...before].filter((key) => !after.has(key));
  return put.length + drop.length > 0 ? { put, drop } : undefined;
}

function keysIn({ redactedEvaluations, evaluations }: SessionRecord): ReadonlySet<string> {
  return new Set(redactedEvaluations.flatMap((id) => argumentKeysOf(evaluations, id)));
}
