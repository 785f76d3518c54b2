import { isCount } from '../../core/message-problem.ts';
import type { RolloutLine } from './rollout-line.ts';

/**
 * The lines without those of turns that a person took back. The legacy layout keeps such lines and adds `thread_rolled_back` with the
 * number of turns; a turn starts with the message that `user_message` repeats.
 */
export function liveLines(lines: readonly RolloutLine[]): readonly RolloutLine[] {
  if (!lines.some(isRollBack)) return lines;
  const live: RolloutLine[] = [];
  const starts: number[] = [];
  for (const line of lines) {
    if (isRollBack(line)) {
      const count = isCount(line.payload.num_turns) ? line.payload.num_turns : 0;
      const [start] = count === 0 ? [] : starts.splice(Math.max(0, starts.length - count));
      if (start !== undefined) live.length = start;
      continue;
    }
    if (line.kind === 'event_msg/user_message') {
      const isAfterMessage = live.at(-1)?.payload.role === 'user';
      starts.push(live.length - (isAfterMessage ? 1 : 0));
    }
    live.push(line);
  }
  return live;
}

function isRollBack({ kind }: RolloutLine): boolean {
  return kind === 'event_msg/thread_rolled_back';
}
