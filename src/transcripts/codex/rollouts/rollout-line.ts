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
