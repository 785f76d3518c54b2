import type { ConversationEvent } from '../../conversation/events.ts';
import { OldestFirst } from '../oldest-first.ts';
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
  const reading = new OldestFirst<ClaudeCursor>(({ head }) => head?.timestamp);
  for (const [index, cursor] of cursors.entries()) {
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head !== undefined) reading.add(cursor, index);
  }
  for (let cursor = reading.oldest; cursor?.head !== undefined; cursor = reading.oldest) {
    const events = transcript.add(cursor.head);
    if (events.length > 0) yield events;
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    reading.advanced();
  }
  yield transcript.finish();
}
