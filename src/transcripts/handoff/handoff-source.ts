/** The main conversation of whatever is handed over, as messages. */

import type { SessionConversationState } from '../../conversation/blocks.ts';
import { reviveConversationState } from '../../conversation/revive.ts';
import { HoldfastError } from '../../core/errors.ts';
import { createFold } from '../../core/fold/fold.ts';
import type { SessionRecord } from '../../core/fold/record.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { isCount, isRecord, messageProblem } from '../../core/log/message-problem.ts';
import type { ConversationMessage, UserMessage } from '../../core/log/messages.ts';
import { type LossReport, onLossOf } from '../../formats/losses.ts';
import type { ExportSource } from '../export/export-with.ts';
import { stateMessages } from '../export/state-messages.ts';
import { asList, asName, asObject, parseJson } from '../json-access.ts';
import { transcriptToMessages } from '../parse-transcript.ts';
import type { RawTranscript } from '../raw-transcript.ts';

/** Recorded messages, a log, what a screen shows, or another agent's transcript as `loadTranscript` returns it. */
export type HandoffSource = ExportSource;

/** What is handed over of a conversation that its agent compacted: all of it, or its newest summary and what followed. */
export type HandedPast = 'full' | 'summary';

const SUBAGENT = "subagent's own transcript";
const CALL_ONLY = 'a subagent is handed over as its call and its result';
const SUMMARIZED = 'the newest summary stands for them';

/** The messages of the main conversation. Throws `INVALID_ARGUMENT` for a value that is no conversation. */
export function messagesOf(
  source: HandoffSource,
  past: HandedPast,
  losses: LossReport,
): readonly ConversationMessage[] {
  if (Array.isArray(source)) return listMessages(source, losses);
  if (isRecord(source) && 'architecture' in source) return transcriptMessages(source, past, losses);
  if (isRecord(source) && 'blocks' in source) return shownMessages(source as SessionConversationState, past, losses);
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    'a conversation is a list of messages, a list of events, a conversation state, or what loadTranscript returns',
  );
}

function transcriptMessages(
  { architecture, raw }: Extract<HandoffSource, { readonly raw: RawTranscript }>,
  past: HandedPast,
  losses: LossReport,
): readonly ConversationMessage[] {
  const combined = asObject(typeof raw === 'string' && raw.startsWith('{"main"') ? parseJson(raw) : raw);
  for (const subagent of asList(combined?.subagents)) {
    losses.add(SUBAGENT, CALL_ONLY, asName(asObject(subagent)?.id) ?? '');
  }
  const counted = onLossOf(losses);
  if (past === 'full') return transcriptToMessages(architecture, raw, counted);
  const all = transcriptToMessages(architecture, raw);
  const newest = transcriptToMessages(architecture, raw, { ...counted, from: 'compaction' });
  if (newest.length < all.length) losses.add('messages before the compaction', SUMMARIZED, all[0]?.id ?? '');
  return newest;
}

function shownMessages(
  state: SessionConversationState,
  past: HandedPast,
  losses: LossReport,
): readonly ConversationMessage[] {
  const { subagents } = state;
  const blocks = [...reviveConversationState(state).blocks];
  const summary = blocks.findLastIndex((block) => block.type === 'compaction' && block.content !== '');
  const block = blocks[summary];
  if (past === 'full' || block?.type !== 'compaction') {
    // The full past says what the summary says.
    const shown = blocks.filter(({ type }) => type !== 'compaction');
    return stateMessages(reviveConversationState({ subagents, blocks: shown }), losses);
  }
  losses.add('messages before the compaction', SUMMARIZED, block.id);
  const rest = reviveConversationState({ subagents, blocks: blocks.slice(summary + 1) });
  const opening: UserMessage = {
    ...{ id: block.id, role: 'user', content: [{ type: 'text', text: block.content }], createdAt: block.timestamp },
    ...{ evaluationId: '', conversationId: 'main', sequence: 0, turn: 0, promptNs: '', promptKey: '' },
  };
  return [opening, ...stateMessages(rest, losses)];
}

function listMessages(list: readonly unknown[], losses: LossReport): readonly ConversationMessage[] {
  const isLog = list.some((item) => isRecord(item) && 'seq' in item);
  const messages = isLog ? logMessages(list.filter(isEvent), losses) : list.map(checked);
  return messages.filter(({ conversationId }) => {
    if (conversationId === 'main') return true;
    losses.add(SUBAGENT, CALL_ONLY, conversationId);
    return false;
  });
}

function isEvent(value: unknown): value is SessionEvent {
  return isRecord(value) && isCount(value.seq) && typeof value.type === 'string';
}

function checked(value: unknown, index: number): ConversationMessage {
  const problem = messageProblem(value);
  if (problem === undefined) return value as ConversationMessage;
  throw new HoldfastError('INVALID_ARGUMENT', `item ${index} of the conversation is not a message: ${problem}`);
}

/** The messages of a log as it is now: erased ones without their content, and none of an evaluation that was superseded. */
function logMessages(events: readonly SessionEvent[], losses: LossReport): readonly ConversationMessage[] {
  const fold = createFold();
  const { record } = fold.applyAll(fold.initial, events);
  const superseded = supersededEvaluations(record);
  return record.messages.toArray().filter((message) => {
    const isSuperseded = superseded.has(message.evaluationId);
    if (isSuperseded) losses.add('superseded message', 'a newer evaluation stands in its place', message.id);
    return !isSuperseded && messageProblem(message) === undefined;
  });
}

/** Superseded evaluations, without those that a newer one continues: their messages are part of its conversation (D50). */
function supersededEvaluations({ evaluations }: SessionRecord): ReadonlySet<string> {
  const superseded = new Set<string>();
  const continued = new Set<string>();
  for (const { id, status, continues } of evaluations.items.toArray().toReversed()) {
    if (status === 'superseded' && !continued.has(id)) superseded.add(id);
    else if (continues !== undefined) continued.add(continues);
  }
  return superseded;
}
