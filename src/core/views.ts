import { inCallOrder } from './asked-calls.ts';
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

/** Views of a session, computed from its record (D1). Nothing here is stored, and every returned value is frozen (D69). */

/** Which messages of an evaluation are returned. */
export interface GetMessagesOptions {
  /**
   * Also the messages of the evaluations that it continues (D50): its own instructions, the messages of those, oldest first, then its own
   * messages. Its requests are built from this conversation.
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

/** The newest evaluation by log position, of one prompt if given (D13). */
export function getLatestEvaluation(
  session: SessionView,
  prompt?: { readonly ns?: string; readonly key?: string; readonly conversationId?: string },
): Evaluation | undefined {
  return frozen(latestEvaluation(session.state.record.evaluations.items, prompt));
}

/**
 * Calls without a result, with their state; of the newest evaluation unless one is named. If a call waits for its child conversation,
 * the child's calls are returned in its place (D52). An ended or abandoned evaluation has none.
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

/** An input that was sent and not placed yet (D61). */
export interface QueuedInput {
  readonly id: string;
  readonly mode: InputMode;
  /** Its content. A large part is a reference to external content (D58). */
  readonly content: InputContent;
  readonly at: string;
  /** The position of its event in the log. */
  readonly seq: number;
  readonly by?: string;
  /** Why the evaluation before it does not end; absent when a runner would place the input. */
  readonly waitsFor?: SuspendReason | 'EVALUATION_FAILED';
}

/** The queued inputs, in sending order. */
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

/** A response with the results of its calls. */
export interface ConversationTurn {
  readonly turnNumber: number;
  readonly assistantMessage: AssistantMessage;
  /** In call order, regardless of the order in which they finished (D10). */
  readonly toolMessages: readonly ToolMessage[];
  /** The provider's metadata of the response, when `recordProviderMetadata` is on (D16). */
  readonly providerPayload?: Readonly<Record<string, unknown>>;
}

/** A conversation as turns, computed from its messages (D1). */
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

/** An evaluation as turns; the newest one unless one is named. */
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
      toolMessages: inCallOrder(assistantMessage.toolCalls, toolMessages),
      ...(assistantMessage.providerMetadata && { providerPayload: assistantMessage.providerMetadata }),
    })),
    createdAt: evaluation.startedAt,
  });
}
