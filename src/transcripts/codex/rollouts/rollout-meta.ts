/** The first line of a rollout, `session_meta`: which thread the file belongs to, and where its past is. */
import { isCount } from '../../../core/log/message-problem.ts';
import { asName, asObject, type Json } from '../../json-access.ts';

/** Where the past of a fork ends in another rollout. */
export interface HistoryBase {
  /** The rollout's id. A thread's first rollout has the thread's id; a revert creates another rollout of the same thread. */
  readonly rolloutId: string;
  readonly endOrdinal: number;
}

export interface RolloutMeta {
  readonly threadId: string;
  /** The thread that started this one as a subagent. */
  readonly parentThreadId: string | undefined;
  /** The subagent's path below the root (`/root/review`), where Codex names agents by paths. */
  readonly agentPath: string | undefined;
  readonly nickname: string | undefined;
  readonly role: string | undefined;
  readonly base: HistoryBase | undefined;
  /** The ordinal of a subagent's first own line; the lines before are copies of its parent's. */
  readonly ownStart: number | undefined;
  readonly historyMode: string | undefined;
  readonly createdAt: string | undefined;
  readonly cwd: string | undefined;
}

/** Reads the payload of `session_meta`; `undefined` when it names no thread. */
export function rolloutMeta(payload: Json): RolloutMeta | undefined {
  const threadId = asName(payload.id);
  if (threadId === undefined) return undefined;
  const spawn = asObject(asObject(asObject(payload.source)?.subagent)?.thread_spawn);
  const parent = asName(payload.parent_thread_id) ?? asName(spawn?.parent_thread_id);
  return {
    threadId,
    parentThreadId: parent === threadId ? undefined : parent,
    agentPath: asName(payload.agent_path) ?? asName(spawn?.agent_path),
    nickname: asName(payload.agent_nickname) ?? asName(spawn?.agent_nickname),
    role: asName(payload.agent_role) ?? asName(spawn?.agent_role),
    base: historyBase(asObject(payload.history_base)),
    ownStart: isCount(payload.subagent_history_start_ordinal) ? payload.subagent_history_start_ordinal : undefined,
    historyMode: asName(payload.history_mode),
    createdAt: asName(payload.timestamp),
    cwd: asName(payload.cwd),
  };
}

function historyBase(base: Json | undefined): HistoryBase | undefined {
  const rolloutId = asName(base?.thread_id);
  if (rolloutId === undefined || !isCount(base?.end_ordinal_exclusive)) return undefined;
  return { rolloutId, endOrdinal: base.end_ordinal_exclusive };
}

/**
 * Whether an id was made after another one, by the time in both. Codex's ids are UUIDs of version 7, which start with their time; for
 * other ids the order is not known.
 */
export function isMadeAfter(id: string, other: string): boolean {
  return VERSION_7.test(id) && VERSION_7.test(other) && id.toLowerCase() > other.toLowerCase();
}

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/i;
