import type { ConversationEvent } from '../../conversation/events.ts';
import type { RolloutLine } from './rollouts/rollout-line.ts';
import type { ThreadInfo } from './rollouts/session-plan.ts';
import type { CodexTranscript } from './transcript.ts';

/**
 * Moves along the lines of one thread, through all rollouts that hold parts of it.
 *
 * Contract: `head` is the current line, `undefined` before the first `advance` and after the last. `advance` returns a promise only when
 * it has to read more of a file.
 */
export interface ThreadCursor {
  readonly info: ThreadInfo;
  readonly head: RolloutLine | undefined;
  advance(): boolean | Promise<boolean>;
}

/**
 * Merges the threads of a session by time and converts their lines. A subagent's thread waits until a line of its parent names the call
 * that started it, or until its parent has ended. The caller awaits each promise that is yielded before it takes the next step.
 */
export function* convertThreads(
  transcript: CodexTranscript,
  cursors: readonly ThreadCursor[],
): Generator<readonly ConversationEvent[] | Promise<boolean>> {
  const byThread = new Map(cursors.map((cursor) => [cursor.info.meta?.threadId ?? cursor.info.name, cursor]));
  const [main] = cursors;
  const parentOf = ({ info }: ThreadCursor): ThreadCursor | undefined =>
    info.isSubagent ? (byThread.get(info.meta?.parentThreadId ?? '') ?? main) : undefined;
  const reading = new Set<ThreadCursor>();
  for (const cursor of cursors) {
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head !== undefined) reading.add(cursor);
  }
  while (reading.size > 0) {
    const cursor = nextOf(transcript, reading, parentOf);
    if (cursor?.head === undefined) break;
    yield transcript.add(cursor.info, parentOf(cursor)?.info, cursor.head);
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head === undefined) reading.delete(cursor);
  }
  yield transcript.finish();
}

/** The cursor with the oldest line among those that need not wait; of all, when each waits for another one. */
function nextOf(
  transcript: CodexTranscript,
  reading: ReadonlySet<ThreadCursor>,
  parentOf: (cursor: ThreadCursor) => ThreadCursor | undefined,
): ThreadCursor | undefined {
  if (reading.size === 1) return reading.values().next().value;
  let best: ThreadCursor | undefined;
  let isBestReady = false;
  for (const cursor of reading) {
    const parent = parentOf(cursor);
    const isReady = parent === undefined || !reading.has(parent) || transcript.isReady(cursor.info);
    const isOlder = best === undefined || (cursor.head?.timestamp ?? '') < (best.head?.timestamp ?? '');
    if (isReady === isBestReady ? isOlder : isReady) {
      best = cursor;
      isBestReady = isReady;
    }
  }
  return best;
}
