/**
 * The searchable text of one record of an imported session (D75), whichever agent wrote it. Search needs words, not a conversation: the
 * strings under the names that all agents use for text are enough, and a record of an unknown type is found, too.
 */
import { parseDamaged } from './glued-records.ts';
import { asName, asObject, type Json, parseJson } from './json-access.ts';

/** The text of a record, and who wrote it. */
export interface RecordText {
  readonly role: string;
  readonly text: string;
}

const MAX_DEPTH = 24;

/** Types of records that only repeat others, or that only a program reads. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set(
  `progress file-history-snapshot file-history-delta api-request api-request-shape api-request-blob event_msg
  session_meta turn_context world_state token_usage_record compacted`.split(/\s+/),
);

/** Fields whose strings are text. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(
  'text content thinking output error prompt title customTitle aiTitle name tool arguments'.split(' '),
);
/** Fields that repeat a text, or that hold media, signatures or ids. */
const SKIPPED_FIELDS: ReadonlySet<string> = new Set(
  'toolUseResult data signature encrypted_content metadata snapshot usage'.split(' '),
);

/** The texts of the records on a line: usually one. A line that is not JSON, or has no text, has none. */
export function recordTexts(line: string): readonly RecordText[] {
  const record = asObject(parseJson(line));
  return (record === undefined ? (parseDamaged(line)?.records ?? []) : [record]).flatMap((one) => textOf(one) ?? []);
}

function textOf(record: Json): RecordText | undefined {
  if (BOOKKEEPING.has(record.type)) return undefined;
  const texts: string[] = [];
  collect(record, texts, false, MAX_DEPTH);
  return texts.length === 0 ? undefined : { role: roleOf(record), text: texts.join('\n') };
}

function collect(value: unknown, texts: string[], isText: boolean, depth: number): void {
  if (typeof value === 'string') {
    if (isText && value !== '') texts.push(value);
  } else if (Array.isArray(value)) {
    if (depth > 0) for (const item of value) collect(item, texts, isText, depth - 1);
  } else if (depth > 0) {
    const object = asObject(value);
    for (const name in object) {
      if (SKIPPED_FIELDS.has(name)) continue;
      // Below the arguments of a call every string is text, however deep, whatever its field is called.
      const below = name === 'input' || (isText && !TEXT_FIELDS.has(name) && isPlain(object));
      collect(object[name], texts, below || TEXT_FIELDS.has(name), depth - 1);
    }
  }
}

/** Whether an object is a value of the agent's, and not one of the format's own parts, which have a type. */
function isPlain(object: Json): boolean {
  return typeof object.type !== 'string';
}

/** Claude Code has the role in `message`, Codex in `payload`, OpenCode in `info`. */
function roleOf(record: Json): string {
  const inner = asObject(record.message) ?? asObject(record.payload) ?? asObject(record.info) ?? record;
  const { content, type } = inner;
  const isResult = Array.isArray(content) && content.some((part) => asObject(part)?.type === 'tool_result');
  if (isResult || asName(type)?.endsWith('_output')) return 'tool';
  if (asName(type)?.endsWith('_call')) return 'assistant';
  return asName(inner.role) ?? asName(record.type) ?? 'source';
}
