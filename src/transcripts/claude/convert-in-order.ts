import type { ConversationEvent } from '../../conversation/events.ts';
import type { ClaudeEntry } from './entry.ts';
import type { ClaudeTranscript } from './transcript.ts';

/**
 * Moves along the lines of one file, from entry to entry.
 *
 * Contract: `head` is the current entry, `undefined` before the first `advance` and after the last. `advance` returns a promise only
 * when it has to read more of its file.
 */
export interface ClaudeCursor {
  readonly head: ClaudeEntry | undefined;
  advance(): boolean | Promise<boolean>;
}

/**
 * Merges the files of a session by time and converts their entries to events. The last events close what is still open. The caller awaits each promise that is yielded before it
 * takes the next step; cursors over texts in memory yield none.
 */
export function* convertInOrder(
  transcript: ClaudeTranscript,
  cursors: readonly ClaudeCursor[],
): Generator<readonly ConversationEvent[] | Promise<boolean>> {
  const reading: ClaudeCursor[] = [];
  for (const cursor of cursors) {
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head !== undefined) reading.push(cursor);
  }
  while (reading.length > 0) {
    const next = reading.length === 1 ? 0 : earliest(reading);
    const cursor = reading[next];
    if (cursor?.head === undefined) break;
    const events = transcript.add(cursor.head);
    if (events.length > 0) yield events;
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head === undefined) reading.splice(next, 1);
  }
  yield transcript.finish();
}

/** The position of the cursor with the oldest entry; of equally old ones, the first. */
function earliest(cursors: readonly ClaudeCursor[]): number {
  let best = 0;
  for (let i = 1; i < cursors.length; i++) {
    if ((cursors[i]?.head?.timestamp ?? '') < (cursors[best]?.head?.timestamp ?? '')) best = i;
  }
  return best;
}
