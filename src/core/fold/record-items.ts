import { KeyedList } from '../keyed-list.ts';
import { List } from '../list.ts';
import type { AdapterStateSnapshot } from '../log/adapter-state.ts';
import type { ToolStarted } from '../log/events.ts';
import type { ConversationMessage } from '../log/messages.ts';
import { argumentKeysOf, hasArgumentsOutside } from './call-arguments.ts';
import type { Evaluation } from './evaluations.ts';
import type { SessionRecord, Summary, UsageRecord } from './record.ts';
import { type SessionInput, sessionInputs } from './session-inputs.ts';

/**
 * A record as lists of plain items, by name: the format in snapshots and in `session/restored`. An evaluation's messages are not in
 * its item; they have their own list.
 */

/** The fields of a record that are not derived from its other fields. */
export type RecordSlice = Exclude<keyof SessionRecord, 'redactedEvaluations'>;

/** The names under which a record's items are stored. Slices cannot have these names. */
export const RECORD_SLICES: readonly RecordSlice[] = [
  'messages',
  'evaluations',
  'toolStarts',
  'adapterStates',
  'usage',
  'summaries',
  'inbox',
];

export function encodeRecord(record: SessionRecord): Readonly<Record<RecordSlice, readonly unknown[]>> {
  return {
    messages: record.messages.toArray(),
    evaluations: record.evaluations.items.map(({ messages: _, ...evaluation }) => evaluation),
    toolStarts: record.toolStarts.toArray(),
    adapterStates: record.adapterStates.toArray(),
    usage: record.usage.toArray(),
    summaries: record.summaries.items.toArray(),
    inbox: record.inbox.items.items.toArray(),
  };
}

/** The inverse of `encodeRecord`. The items were checked by `parseSnapshot`, or come from our own log. */
export function decodeRecord(slices: Readonly<Record<string, readonly unknown[]>>): SessionRecord {
  const items = <T>(name: RecordSlice): readonly T[] =>
    (Object.hasOwn(slices, name) ? slices[name] : []) as readonly T[];
  const messages = items<ConversationMessage>('messages');
  const own = new Map<string, List<ConversationMessage>>();
  for (const message of messages) {
    own.set(message.evaluationId, (own.get(message.evaluationId) ?? List.empty<ConversationMessage>()).push(message));
  }
  const evaluations = items<Evaluation>('evaluations').map((evaluation) => ({
    ...evaluation,
    messages: own.get(evaluation.id) ?? List.empty<ConversationMessage>(),
  }));
  const keyed = KeyedList.from(evaluations, (evaluation) => evaluation.id);
  const redacted = evaluations.filter(({ calls }) => calls.some(hasArgumentsOutside)).map(({ id }) => id);
  return {
    messages: List.from(messages),
    evaluations: keyed,
    toolStarts: List.from(items<ToolStarted>('toolStarts')),
    adapterStates: List.from(items<AdapterStateSnapshot>('adapterStates')),
    usage: List.from(items<UsageRecord>('usage')),
    summaries: KeyedList.from(items<Summary>('summaries'), (summary) => `${summary.evaluationId}:${summary.key}`),
    inbox: sessionInputs(items<SessionInput>('inbox')),
    redactedEvaluations: redacted.filter((id) => argumentKeysOf(keyed, id).length > 0),
  };
}

export function emptyRecord(): SessionRecord {
  return decodeRecord({});
}
