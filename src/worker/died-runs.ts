import { HoldfastError } from '../core/errors.ts';
import type { SessionEvent } from '../core/log/events.ts';
import type { Store } from '../ports/store.ts';
import type { AnySession } from '../session/session.ts';
import { isLive } from './work-search.ts';

/**
 * Runs that ended with their process: a tool that crashes it, or more memory than it may use. No worker can count them, because each
 * counter dies with its worker. The log can.
 */

/** Runs in a row that died. */
export interface DiedRuns {
  readonly count: number;
  /** The tools that they had started last. */
  readonly tools: readonly string[];
}

/** Events that a run appends before it has done anything. */
const NO_PROGRESS: ReadonlySet<string> = new Set(['evaluation/resumed', 'tool/started', 'message/interrupted']);

/** How many events a run without progress may append before it is no longer counted. */
const EVENTS_PER_RUN = 50;

/**
 * Counts the runs since the last event that is progress. `tail` is the end of the log of a session whose evaluation is running while
 * no process holds its lease. Pure.
 */
export function countDiedRuns(tail: readonly SessionEvent[]): DiedRuns {
  const resumes = new Map<string, number>();
  const tools = new Set<string>();
  for (const event of tail.toReversed()) {
    if (!NO_PROGRESS.has(event.type)) break;
    const { type, evaluationId, toolName } = event as { type: string; evaluationId: string; toolName?: string };
    if (type === 'evaluation/resumed') resumes.set(evaluationId, (resumes.get(evaluationId) ?? 0) + 1);
    if (toolName !== undefined) tools.add(toolName);
  }
  // One run resumes its evaluation and those of its children.
  return { count: 1 + Math.max(0, ...resumes.values()), tools: [...tools].sort() };
}

/** The session rests, or is given up: its runners died. */
export class RunnersDied extends HoldfastError {
  readonly count: number;
  /** The last seq of the log that they left. */
  readonly seq: number;

  constructor({ count, tools }: DiedRuns, seq: number) {
    const last = tools.length === 0 ? 'while it waited for the model' : `after it had started ${tools.join(', ')}`;
    super(
      'EVALUATION_FAILED',
      `the process that ran this session ended ${count} times in a row without progress, ${last}; look there for a crash or for too little memory, then resume the session`,
    );
    this.count = count;
    this.seq = seq;
  }
}

/** Undefined unless at least two runners in a row died: after the first one, the next runs at once. */
export async function findDiedRuns(
  store: Store,
  { id, seq, summary }: AnySession,
  { now, maxAttempts }: { readonly now: number; readonly maxAttempts: number },
): Promise<RunnersDied | undefined> {
  if (summary?.work !== 'evaluation') return undefined;
  const tail: SessionEvent[] = [];
  const after = Math.max(0, seq - EVENTS_PER_RUN * Math.min(maxAttempts, EVENTS_PER_RUN));
  for await (const event of store.read(id, { after })) tail.push(event);
  const died = countDiedRuns(tail);
  if (died.count < 2 || isLive(await store.readLease(id), now)) return undefined;
  return new RunnersDied(died, seq);
}
