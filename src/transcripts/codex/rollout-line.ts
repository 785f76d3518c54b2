/** One line of a Codex rollout: `{timestamp, ordinal?, type, payload, metadata?}`, parsed or repaired. */
import { isCount } from '../../core/message-problem.ts';
import { type LineRepair, parseDamaged } from '../glued-records.ts';
import { asName, asObject, asText, type Json, parseJson } from '../json-access.ts';

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
const LINE_TYPES: ReadonlySet<string> = new Set([
  'session_meta',
  'turn_context',
  'world_state',
  'response_item',
  'event_msg',
  'token_usage_record',
  'compacted',
  'inter_agent_communication',
  'inter_agent_communication_metadata',
]);

/** Whether a line is of a type that Codex is known to write. */
export function isKnownType(type: string): boolean {
  return LINE_TYPES.has(type);
}

/** Parses a line, with a repair if needed; `undefined` when it holds no object. */
export function parseRolloutLine(text: string): ParsedLine | undefined {
  const object = asObject(parseJson(text));
  if (object !== undefined) return { lines: [lineOf(object)] };
  const damaged = parseDamaged(text);
  return damaged && { lines: damaged.records.map(lineOf), repaired: damaged.repaired };
}

/** Whether a text starts with lines of a rollout. Its first line may be damaged. */
export function looksLikeRollout(text: string): boolean {
  let start = text.startsWith('\uFEFF') ? 1 : 0;
  for (let lines = 0; lines < 5 && start < text.length; lines++) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const { lines: records = [] } = parseRolloutLine(text.slice(start, end)) ?? {};
    if (records.some(({ type, raw }) => isKnownType(type) && asObject(raw.payload) !== undefined)) return true;
    start = end + 1;
  }
  return false;
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
