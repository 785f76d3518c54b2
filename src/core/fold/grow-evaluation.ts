import type { List } from '../list.ts';
import type { MessageRecorded, ToolStarted } from '../log/events.ts';
import { type AssistantMessage, type ConversationMessage, callsOf } from '../log/messages.ts';
import { type CallState, type Evaluation, hasResult } from './evaluations.ts';

/**
 * Adds messages at the end of an evaluation or, for a further piece of the newest response, to that response; and updates the newest
 * turn's calls by messages and starts.
 */
export function growEvaluation(
  all: List<ConversationMessage>,
  before: Evaluation,
  events: readonly (MessageRecorded | ToolStarted)[],
): { readonly messages: List<ConversationMessage>; readonly own: Pick<Evaluation, 'messages' | 'calls' | 'turn'> } {
  let messages = all;
  let { messages: own, calls, turn, id } = before;
  let added: ConversationMessage[] = [];
  const flush = (): void => {
    messages = messages.pushAll(added);
    own = own.pushAll(added);
    added = [];
  };
  for (const event of events) {
    if (event.type === 'tool/started') {
      calls = startedCalls(calls, event);
      continue;
    }
    const { message } = event;
    if (message.role === 'assistant' && message.providerMessageId !== undefined && message.turn === turn) {
      flush();
      const at = responseToContinue(own, message.providerMessageId);
      const response = at < 0 ? undefined : own.at(at);
      if (response?.role === 'assistant') {
        const whole = joined(response, message);
        messages = messages.set(lastIndexOf(messages, response.id), whole);
        own = own.set(at, whole);
        calls = [...calls, ...newCalls(id, message)];
        continue;
      }
    }
    added.push(message);
    turn = Math.max(turn, message.turn);
    calls = callsAfter(id, calls, message);
  }
  flush();
  return { messages, own: { messages: own, calls, turn } };
}

function lastIndexOf(messages: List<ConversationMessage>, id: string): number {
  let i = messages.length - 1;
  while (i >= 0 && messages.at(i)?.id !== id) i--;
  return i;
}

const NO_CALLS: readonly CallState[] = [];

/** The newest turn's calls after a message: a response starts a turn, a result ends a call. */
function callsAfter(
  evaluationId: string,
  calls: readonly CallState[],
  message: ConversationMessage,
): readonly CallState[] {
  if (message.role === 'assistant') return message.toolCalls ? newCalls(evaluationId, message) : NO_CALLS;
  if (message.role !== 'tool') return calls;
  const status = message.isError ? 'failed' : 'completed';
  return calls.map((call) =>
    call.callId === message.toolCallId && call.turn === message.turn ? { ...undeferred(call), status } : call,
  );
}

/** The calls after one of them was started. A call that has its result never runs again (I2). */
function startedCalls(
  calls: readonly CallState[],
  { turn, callId, effect, attempt, fence }: ToolStarted,
): readonly CallState[] {
  const call = calls.find((other) => other.callId === callId && other.turn === turn);
  if (!call || hasResult(call)) return calls;
  const begun: CallState = {
    ...withoutDecision(call),
    status: 'started',
    effect,
    attempt,
    ...(fence !== undefined && { fence }),
  };
  return calls.map((other) => (other === call ? begun : other));
}

function undeferred(call: CallState): CallState {
  if (!call.deferred) return call;
  const { deferred: _, ...rest } = call;
  return rest;
}

/** A call without what its start overrides: the timer and the settlement of the run before, and a denial that was too late (D67). */
function withoutDecision(call: CallState): CallState {
  if (!call.settlement && !call.deferred && call.approval !== 'denied') return call;
  const { settlement: _, deferred: _____, ...unsettled } = call;
  if (unsettled.approval !== 'denied') return unsettled;
  const { approval: __, decision: ___, deniedBecause: ____, ...rest } = unsettled;
  return rest;
}

/** The position of the response that a message continues, or -1: an agent may act on one call while it writes the next (D57). */
function responseToContinue(messages: List<ConversationMessage>, providerMessageId: string): number {
  for (let i = messages.length - 1; i >= 0; i--) {
    const earlier = messages.at(i);
    if (earlier?.role === 'assistant') return earlier.providerMessageId === providerMessageId ? i : -1;
  }
  return -1;
}

/** Joins two pieces of a response. */
function joined(response: AssistantMessage, piece: AssistantMessage): AssistantMessage {
  const before = response.content.length;
  const known = response.toolCalls?.map((call) => (call.after === undefined ? { ...call, after: before } : call)) ?? [];
  const added =
    piece.toolCalls?.map((call) => ({ ...call, after: before + (call.after ?? piece.content.length) })) ?? [];
  return {
    ...response,
    content: [...response.content, ...piece.content],
    ...(known.length + added.length > 0 && { toolCalls: [...known, ...added] }),
  };
}

function newCalls(evaluationId: string, message: ConversationMessage): readonly CallState[] {
  return callsOf(message).map((call) => {
    const state: CallState = {
      evaluationId,
      turn: message.turn,
      callId: call.callId,
      name: call.name,
      arguments: call.arguments,
      status: 'pending',
      attempt: 0,
    };
    return call.argumentsRedacted ? { ...state, argumentsRedacted: true } : state;
  });
}
