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

/** An entry with the events that it was converted to. The last step has no entry: its events close what is still open. */
export interface ConvertedEntry {
  readonly entry: ClaudeEntry | undefined;
  readonly events: readonly ConversationEvent[];
}

/**
 * Merges the files of a session by time and converts their entries. The caller awaits each promise that is yielded before it
 * takes the next step; cursors over texts in memory yield none.
 */
export function* convertInOrder(
  transcript: ClaudeTranscript,
  cursors: readonly ClaudeCursor[],
): Generator<ConvertedEntry | Promise<boolean>> {
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
    if (events) yield { entry: cursor.head, events };
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head === undefined) reading.splice(next, 1);
  }
  yield { entry: undefined, events: transcript.finish() };
}

/** The position of the cursor with the oldest entry; of equally old ones, the first. */
function earliest(cursors: readonly ClaudeCursor[]): number {
  let best = 0;
  for (let i = 1; i < cursors.length; i++) {
    if ((cursors[i]?.head?.timestamp ?? '') < (cursors[best]?.head?.timestamp ?? '')) best = i;
  }
  return best;
}
