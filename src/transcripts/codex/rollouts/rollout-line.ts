/** One line of a Codex rollout: `{timestamp, ordinal?, type, payload, metadata?}`, parsed or repaired. */
import { isCount } from '../../../core/log/message-problem.ts';
import { type LineRepair, parseDamaged } from '../../glued-records.ts';
import { asName, asObject, asText, type Json, parseJson } from '../../json-access.ts';
import { firstLines } from '../../text-lines.ts';

export interface RolloutLine {
  readonly type: string;
  /** Identifies the line, for content that has no id of its own: its place in its file. */
  readonly name: string;
  /** The type with that of its payload: `event_msg/task_started`, `item/WebSearch`. */
  readonly kind: string;
  /** Empty when the line has none. */
  readonly timestamp: string;
  /** The position in the thread's history; absent in the legacy layout. */
  readonly ordinal: number | undefined;
  readonly payload: Json;
  readonly metadata: Json | undefined;
  /** The line itself. */
  readonly raw: Json;
}

/** The records of a line, and the repair that was needed to parse them. */
interface ParsedLine {
  /** One, or several that were written without a newline between them. */
  readonly lines: readonly RolloutLine[];
  readonly repaired?: LineRepair;
}

/** The types of lines that Codex writes. */
const LINE_TYPES: ReadonlySet<string> = new Set(
  `session_meta turn_context world_state response_item event_msg token_usage_record compacted
  inter_agent_communication inter_agent_communication_metadata`.split(/\s+/),
);

/** How many lines show what a file is: a damaged one may have lost its first lines. */
export const HEAD_LINES = 5;

/** Parses a line, with a repair if needed; `undefined` when it holds no object. */
export function parseRolloutLine(text: string): ParsedLine | undefined {
  const object = asObject(parseJson(text));
  if (object !== undefined) return { lines: [lineOf(object)] };
  const damaged = parseDamaged(text);
  return damaged && { lines: damaged.records.map(lineOf), repaired: damaged.repaired };
}

/** Whether a text starts with lines of a rollout. Its first line may be damaged. */
export function looksLikeRollout(text: string): boolean {
  return [...firstLines(text, HEAD_LINES)].some((line) =>
    parseRolloutLine(line)?.lines.some(({ type, raw }) => LINE_TYPES.has(type) && asObject(raw.payload) !== undefined),
  );
}

/** The payload of the `session_meta` in the first lines of a rollout. */
export function metaIn(lines: Iterable<string>): Json | undefined {
  for (const text of lines) {
    const meta = parseRolloutLine(text)?.lines.find(({ type }) => type === 'session_meta');
    if (meta) return meta.payload;
  }
  return undefined;
}

function lineOf(raw: Json): RolloutLine {
  const type = asText(raw.type) ?? '';
  const payload = asObject(raw.payload) ?? {};
  return {
    type,
    name: '',
    kind: kindOf(type, payload),
    timestamp: asText(raw.timestamp) ?? '',
    ordinal: isCount(raw.ordinal) ? raw.ordinal : undefined,
    payload,
    metadata: asObject(raw.metadata),
    raw,
  };
}

function kindOf(type: string, payload: Json): string {
  if (type !== 'response_item' && type !== 'event_msg') return type === '' ? 'untyped' : type;
  if (payload.type !== 'item_completed') return `${type}/${asName(payload.type) ?? ''}`;
  return `item/${asName(asObject(payload.item)?.type) ?? ''}`;
}

/** Where the past of a fork ends in another rollout. */
interface HistoryBase {
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
