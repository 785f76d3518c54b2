import { HoldfastError } from '../../core/errors.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import { isBuiltInEvent } from '../../core/log/events.ts';
import type { SessionSummary } from '../../core/summary/session-summary.ts';

/** An imported session is its source (D75): its log takes records, descriptions and events of the user's own, nothing else. */

/** Throws `SESSION_IMPORTED` when the session is imported. */
export function refuseImported(session: { readonly id: string; readonly summary: SessionSummary | undefined }): void {
  const source = session.summary?.source;
  if (!source) return;
  throw new HoldfastError(
    'SESSION_IMPORTED',
    `session ${session.id} was imported from ${source.architecture} and holds its records only; continue it with continueTranscript(store, id) of holdfast/transcripts, which makes a session of your own`,
  );
}

/** Throws when an append would mix the records of a source with a conversation of our own. */
export function refuseMixed(
  sessionId: string,
  state: SessionState,
  events: readonly { readonly type: string }[],
): void {
  const { summary, seq } = state;
  if (summary?.source) {
    const isForeign = (event: { readonly type: string }): boolean =>
      isBuiltInEvent(event) && !isRecord(event) && event.type !== 'session/described';
    if (events.some(isForeign)) refuseImported({ id: sessionId, summary });
  } else if (seq > 0 && events.some(isRecord)) {
    throw new HoldfastError(
      'EVENT_INVALID',
      `session ${sessionId} has events of its own; import a source into a session without events`,
    );
  }
}

function isRecord({ type }: { readonly type: string }): boolean {
  return type.startsWith('source/');
}
