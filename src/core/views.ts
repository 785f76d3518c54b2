import { evaluationMessages } from './evaluation-messages.ts';
import {
  type CallState,
  type Evaluation,
  endedEvaluation,
  latestEvaluation,
  openCalls,
  openChildren,
} from './evaluations.ts';
import type { InputContent, InputMode, SuspendReason } from './events.ts';
import { frozen, frozenEach } from './frozen.ts';
import { queuedAfter } from './inbox.ts';
import type { List } from './list.ts';
import type { AssistantMessage, ConversationMessage, SystemMessage, ToolMessage, UserMessage } from './messages.ts';
import { inputObstacle } from './run-plan.ts';
import type { SessionView } from './session-view.ts';

/** Questions people ask of a session, answered from its record (D1): nothing here is stored, and everything is frozen (D69). */

/** Which messages of an evaluation are returned. */
export interface GetMessagesOptions {
  /**
   * Also the messages of the evaluations that it continues (D50): its own instructions, what was said in those, oldest first, then its
   * own messages. That is the conversation which its requests are made from.
   */
  readonly continued?: boolean;
}

/** The messages of one evaluation, or of the main conversation, in log order. */
export function getMessages(
  session: SessionView,
  evaluationId?: string,
  options: GetMessagesOptions = {},
): readonly ConversationMessage[] {
  const { record } = session.state;
  if (evaluationId === undefined) return frozen(record.messages.filter((message) => message.conversationId === 'main'));
  const evaluation = record.evaluations.get(evaluationId);
  if (!evaluation) return [];
  return frozenEach(options.continued ? evaluationMessages(record, evaluation) : evaluation.messages.toArray());
}

/** The newest evaluation by log position, of one prompt if asked (D13). */
export function getLatestEvaluation(
  session: SessionView,
  prompt?: { readonly ns?: string; readonly key?: string; readonly conversationId?: string },
): Evaluation | undefined {
  return frozen(latestEvaluation(session.state.record.evaluations.items, prompt));
}

/**
 * Calls that have no result yet, with what the log says about each; of the newest evaluation unless one is named. In the place of a
 * call whose child conversation has such calls are those: the call itself only waits for them (D52). An evaluation that has ended, an
 * abandoned one too, waits for nothing.
 */
export function getPendingToolCalls(session: SessionView, evaluationId?: string): readonly CallState[] {
  const evaluation =
    evaluationId === undefined ? getLatestEvaluation(session) : session.state.record.evaluations.get(evaluationId);
  const { evaluations } = session.state.record;
  const isOver = evaluation && endedEvaluation(evaluations, evaluation.id) !== undefined;
  return frozen(evaluation && !isOver ? pendingCalls(evaluations.items, evaluation) : []);
}

function pendingCalls(evaluations: List<Evaluation>, evaluation: Evaluation): readonly CallState[] {
  return openCalls(evaluation).flatMap((call) => {
    const children = openChildren(evaluations, call, evaluation.startedSeq);
    const theirs = children.flatMap((child) => pendingCalls(evaluations, child));
    return theirs.length > 0 ? theirs : [call];
  });
}

/** An input that was sent and is not placed yet (D61). */
export interface QueuedInput {
  readonly id: string;
  readonly mode: InputMode;
  /** What it says. A large part is a reference to a content that is stored apart (D58). */
  readonly content: InputContent;
  readonly at: string;
  /** The position of its event in the log. */
  readonly seq: number;
  readonly by?: string;
  /** Why the evaluation that is before it does not end; absent when a runner would place it. */
  readonly waitsFor?: SuspendReason | 'EVALUATION_FAILED';
}

/** The inputs that wait to be placed, in the order of sending. */
export function getQueuedInputs(session: SessionView): readonly QueuedInput[] {
  const { state } = session;
  return frozen(
    queuedAfter(state.record.inbox, 0).map((item): QueuedInput => {
      const { id, mode, content, at, seq, by } = item;
      const waitsFor = inputObstacle(state, item);
      return { id, mode, content, at, seq, ...(by !== undefined && { by }), ...(waitsFor && { waitsFor }) };
    }),
  );
}

/** A provider's response with the results of its calls. */
export interface ConversationTurn {
  readonly turnNumber: number;
  readonly assistantMessage: AssistantMessage;
  /** In call order, whatever order they finished in (D10). */
  readonly toolMessages: readonly ToolMessage[];
  /** The provider's metadata of the response, when `recordProviderMetadata` is on (D16). */
  readonly providerPayload?: Readonly<Record<string, unknown>>;
}

export interface ConversationState {
  readonly evaluationId: string;
  readonly promptNs: string;
  readonly promptKey: string;
  readonly status: Evaluation['status'];
  readonly systemMessage?: SystemMessage;
  readonly userMessages: readonly UserMessage[];
  readonly turns: readonly ConversationTurn[];
  readonly createdAt: string;
}

/** An evaluation as turns; of the newest one unless one is named. */
export function getConversationState(session: SessionView, evaluationId?: string): ConversationState | undefined {
  const evaluation =
    evaluationId === undefined ? getLatestEvaluation(session) : session.state.record.evaluations.get(evaluationId);
  if (!evaluation) return undefined;
  const turns: { assistantMessage: AssistantMessage; toolMessages: ToolMessage[] }[] = [];
  const userMessages: UserMessage[] = [];
  let systemMessage: SystemMessage | undefined;
  for (const message of evaluation.messages) {
    if (message.role === 'system') systemMessage ??= message;
    else if (message.role === 'user') userMessages.push(message);
    else if (message.role === 'assistant') turns.push({ assistantMessage: message, toolMessages: [] });
    else turns.at(-1)?.toolMessages.push(message);
  }
  return frozen({
    evaluationId: evaluation.id,
    promptNs: evaluation.promptNs,
    promptKey: evaluation.promptKey,
    status: evaluation.status,
    ...(systemMessage && { systemMessage }),
    userMessages,
    turns: turns.map(({ assistantMessage, toolMessages }) => ({
      turnNumber: assistantMessage.turn,
      assistantMessage,
      toolMessages: inCallOrder(assistantMessage, toolMessages),
      ...(assistantMessage.providerMetadata && { providerPayload: assistantMessage.providerMetadata }),
    })),
    createdAt: evaluation.startedAt,
  });
}

/** Results in the order of their calls; a result without a call keeps its place at the end. */
export function inCallOrder(assistant: AssistantMessage, results: readonly ToolMessage[]): readonly ToolMessage[] {
  if (results.every(({ toolCallId }, i) => toolCallId === assistant.toolCalls?.[i]?.callId)) return results;
  const order = new Map(assistant.toolCalls?.map((call, i) => [call.callId, i]));
  const place = (result: ToolMessage): number => order.get(result.toolCallId) ?? order.size;
  return results.toSorted((a, b) => place(a) - place(b));
}
