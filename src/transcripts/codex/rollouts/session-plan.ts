/**
 * Which rollouts make up a session, and in which order. A rollout may hold only a part of its thread: the past of a fork, and of a thread
 * that was reverted, is in another rollout, up to an ordinal. Each subagent is a thread of its own.
 *
 *     main rollout ─ history_base ─▶ rollout of the parent, lines before end_ordinal_exclusive ─ history_base ─▶ …
 *          └─ subagents (parent_thread_id), flat at any depth
 */
import type { RolloutMeta } from './rollout-line.ts';

/** A rollout, as far as it is known before it is read. */
export interface RolloutInfo {
  /** The id of the rollout: the thread's, or that of a newer rollout of the thread. */
  readonly rolloutId: string;
  /** Absent when its first line cannot be read. */
  readonly meta: RolloutMeta | undefined;
}

/** A part of a thread: the lines of a rollout before an ordinal. */
export interface Segment<R> {
  readonly rollout: R;
  readonly endOrdinal: number | undefined;
}

export interface SessionPlan<R> {
  /** The main thread, oldest part first. */
  readonly main: readonly Segment<R>[];
  readonly subagents: readonly SubagentPlan<R>[];
  /** Why a part of the past is not there, and the rollout that is missing. */
  readonly problem: { readonly code: 'missing-history' | 'history-cycle'; readonly rolloutId: string } | undefined;
}

interface SubagentPlan<R> {
  readonly rollout: R;
  /** It belongs to a fork's past only if a line of that past started it: its parent may have started it after the fork. */
  readonly isOptional: boolean;
}

/** A thread of the session, with what is needed to start it. */
export interface ThreadInfo {
  readonly name: string;
  readonly meta: RolloutMeta | undefined;
  readonly isSubagent: boolean;
  readonly isOptional: boolean;
}

/** A thread, and the parts of it. */
interface PlannedThread<R> {
  readonly info: ThreadInfo;
  readonly segments: readonly Segment<R>[];
}

/** Longer chains of forks are cut. */
const MAX_CHAIN = 1000;

/** Plans a session from its main rollout and others, some of which may not belong to it. */
export function planSession<R extends RolloutInfo>(main: R, others: readonly R[]): SessionPlan<R> {
  const byId = new Map(others.map((rollout) => [rollout.rolloutId, rollout]));
  for (const rollout of others) {
    const thread = rollout.meta?.threadId; // the caller may have named it otherwise
    if (thread !== undefined && !byId.has(thread)) byId.set(thread, rollout);
  }
  const chain: Segment<R>[] = [{ rollout: main, endOrdinal: undefined }];
  const used = new Set<R>([main]);
  let problem: SessionPlan<R>['problem'];
  for (let base = main.meta?.base; base !== undefined; ) {
    const { rolloutId, endOrdinal } = base;
    const rollout = byId.get(rolloutId) ?? (rolloutId === main.rolloutId ? main : undefined);
    if (rollout === undefined || used.has(rollout) || chain.length >= MAX_CHAIN) {
      problem = { code: rollout === undefined ? 'missing-history' : 'history-cycle', rolloutId };
      break;
    }
    used.add(rollout);
    chain.push({ rollout, endOrdinal });
    base = rollout.meta?.base;
  }
  return { main: chain.reverse(), subagents: subagentsOf(main, others, used), problem };
}

/** The threads of a planned session, the main one first. */
export function threadsOf<R extends RolloutInfo>({ main, subagents }: SessionPlan<R>): readonly PlannedThread<R>[] {
  const { meta } = main.at(-1)?.rollout ?? {};
  return [
    { info: { name: 'main', meta, isSubagent: false, isOptional: false }, segments: main },
    ...subagents.map(({ rollout, isOptional }) => ({
      info: { name: rollout.rolloutId, meta: rollout.meta, isSubagent: true, isOptional },
      segments: [{ rollout, endOrdinal: undefined }],
    })),
  ];
}

/** The descendants of the chain's threads: of each thread its newest rollout. */
function subagentsOf<R extends RolloutInfo>(
  main: R,
  others: readonly R[],
  chain: ReadonlySet<R>,
): readonly SubagentPlan<R>[] {
  const mainThread = main.meta?.threadId ?? main.rolloutId;
  const past = new Set([...chain].map(({ meta, rolloutId }) => meta?.threadId ?? rolloutId));
  const threads = new Map<string, R>();
  for (const rollout of others) {
    const thread = rollout.meta?.threadId ?? rollout.rolloutId;
    const known = threads.get(thread);
    if (chain.has(rollout) || past.has(thread) || (known && known.rolloutId >= rollout.rolloutId)) continue;
    threads.set(thread, rollout);
  }
  const isOptional = (rollout: R): boolean => {
    const seen = new Set<string>();
    let parent = rollout.meta?.parentThreadId;
    while (parent !== undefined && !past.has(parent) && !seen.has(parent)) {
      seen.add(parent);
      parent = threads.get(parent)?.meta?.parentThreadId;
    }
    return parent !== undefined && parent !== mainThread && past.has(parent);
  };
  return [...threads.values()].map((rollout) => ({ rollout, isOptional: isOptional(rollout) }));
}

/** The rollouts among `all` that a session needs: its past, and the descendants of its threads. */
export function relatedTo<R extends RolloutInfo>(main: R, all: readonly R[]): readonly R[] {
  const others = all.filter((rollout) => rollout !== main && rollout.rolloutId !== main.rolloutId);
  const { main: chain } = planSession(main, others);
  const bases = new Set(chain.map(({ rollout }) => rollout));
  const family = new Set([...bases].map(({ meta, rolloutId }) => meta?.threadId ?? rolloutId));
  const byParent = new Map<string | undefined, R[]>();
  for (const rollout of others) {
    const parent = rollout.meta?.parentThreadId;
    const siblings = byParent.get(parent);
    if (siblings) siblings.push(rollout);
    else byParent.set(parent, [rollout]);
  }
  const children = new Set<R>();
  for (const thread of family) {
    for (const child of byParent.get(thread) ?? []) {
      children.add(child);
      family.add(child.meta?.threadId ?? child.rolloutId);
    }
  }
  return others.filter((rollout) => bases.has(rollout) || children.has(rollout));
}
