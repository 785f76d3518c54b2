/** Logs for tests: each builder returns an event without its envelope; `logOf` adds seq and time. */

import { createFold, type SessionState } from '../../src/core/fold/fold.ts';
import { encodeRecord } from '../../src/core/fold/record-items.ts';
import { type AnySlice, itemsAsArray } from '../../src/core/fold/slices.ts';
import type { BuiltInEvent, SessionEvent, ToolEffect, Without } from '../../src/core/log/events.ts';
import type { AssistantMessage, CallRef, ConversationMessage, ToolCall } from '../../src/core/log/messages.ts';
import type { SessionView } from '../../src/core/views/session-view.ts';
import { StateView } from '../../src/core/views/state-view.ts';

export type Draft = Without<BuiltInEvent, 'seq' | 'at'> | { readonly type: string; readonly [field: string]: unknown };

/** The time of event `seq`. */
export const timeOf = (seq: number): string => new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();

/** The events as a store would return them. */
export function logOf(...drafts: readonly Draft[]): SessionEvent[] {
  return drafts.map((draft, i) => ({ ...draft, seq: i + 1, at: timeOf(i + 1) }) as SessionEvent);
}

export const started = (evaluationId = 'e1', more: Partial<BuiltInEvent> = {}): Draft =>
  ({
    type: 'evaluation/started',
    evaluationId,
    conversationId: 'main',
    promptNs: 'ns',
    promptKey: 'key',
    promptHash: 'hash',
    inputHash: 'input',
    ...more,
  }) as Draft;

type MessageFields = Partial<Omit<ConversationMessage, 'role' | 'content'>> & {
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly isError?: boolean;
};

export function messageOf(
  role: ConversationMessage['role'],
  text: string,
  sequence: number,
  more: MessageFields = {},
): ConversationMessage {
  const evaluationId = more.evaluationId ?? 'e1';
  return {
    id: `${evaluationId}:${sequence}`,
    evaluationId,
    conversationId: 'main',
    sequence,
    turn: 0,
    promptNs: 'ns',
    promptKey: 'key',
    createdAt: timeOf(sequence),
    role,
    content: [{ type: 'text', text }],
    ...(role === 'tool' && { toolCallId: 'a', toolName: 'write', isError: false }),
    ...more,
  } as ConversationMessage;
}

export const recorded = (message: ConversationMessage, more: object = {}): Draft => ({
  type: 'message/recorded',
  message,
  ...more,
});

export const user = (text: string, sequence: number, more?: MessageFields): Draft =>
  recorded(messageOf('user', text, sequence, more));

/** A response with calls of these ids, in turn 1 by default. */
export const answer = (sequence: number, callIds: readonly string[], more: MessageFields = {}): Draft =>
  recorded(
    messageOf('assistant', 'answer', sequence, {
      turn: 1,
      ...(callIds.length > 0 && { toolCalls: callIds.map((callId) => callOf(callId)) }),
      ...more,
    }) as AssistantMessage,
  );

export const callOf = (callId: string, more: Partial<ToolCall> = {}): ToolCall => ({
  callId,
  name: 'write',
  arguments: '{}',
  ...more,
});

export const result = (sequence: number, toolCallId: string, more: MessageFields = {}): Draft =>
  recorded(messageOf('tool', 'done', sequence, { turn: 1, toolCallId, ...more }));

export const refOf = (callId: string, more: Partial<CallRef> = {}): CallRef => ({
  evaluationId: 'e1',
  turn: 1,
  callId,
  ...more,
});

export const toolStarted = (callId: string, effect: ToolEffect, attempt = 1, more: Partial<CallRef> = {}): Draft => ({
  type: 'tool/started',
  ...refOf(callId, more),
  toolName: 'write',
  effect,
  attempt,
});

/** The state of a log. */
export function foldLog(log: Iterable<SessionEvent>, slices: readonly AnySlice[] = []): SessionState {
  const fold = createFold(slices);
  let state = fold.initial;
  for (const event of log) state = fold.apply(state, event);
  return state;
}

/** A read-only session over a log. */
export function viewOf(log: Iterable<SessionEvent>, slices: readonly AnySlice[] = []): SessionView {
  return new FoldedView(foldLog(log, slices));
}

class FoldedView extends StateView {
  readonly id = 's1';
  readonly state: SessionState;

  constructor(state: SessionState) {
    super();
    this.state = state;
  }
}

/** A state as plain data, for comparing two states of different classes. */
export function plain(state: SessionState): unknown {
  return JSON.parse(
    JSON.stringify({
      seq: state.seq,
      summary: state.summary,
      record: encodeRecord(state.record),
      messagesOf: state.record.evaluations.items.map((evaluation) => [evaluation.id, evaluation.messages.toArray()]),
      slices: Object.fromEntries([...state.slices].map(([name, items]) => [name, itemsAsArray(items)])),
    }),
  );
}
