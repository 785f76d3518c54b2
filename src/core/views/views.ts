import { inCallOrder } from '../fold/asked-calls.ts';
import { evaluationMessages } from '../fold/evaluation-messages.ts';
import {
  type CallState,
  type CallStatus,
  type Evaluation,
  endedEvaluation,
  latestEvaluation,
  openCalls,
  openChildren,
} from '../fold/evaluations.ts';
import type { SessionState } from '../fold/fold.ts';
import { queuedAfter } from '../fold/inbox.ts';
import { frozen, frozenEach } from '../frozen.ts';
import { type KnownOptions, refuseUnknownOptions } from '../known-options.ts';
import type { List } from '../list.ts';
import type { InputContent, InputMode, SuspendReason } from '../log/events.ts';
import {
  type AssistantMessage,
  type ConversationMessage,
  callKey,
  callsOf,
  type ToolMessage,
  textOf,
  type UserMessage,
} from '../log/messages.ts';
import { inputObstacle } from '../plan/run-plan.ts';

/** The views of a session, computed from its state (D1). Nothing here is stored, and every returned value is frozen (D69). */

/** Which evaluation a view is of. */
export interface EvaluationOptions {
  readonly evaluationId?: string | undefined;
}

/** Which messages `session.messages` returns. */
export interface MessagesOptions extends EvaluationOptions {
  /**
   * Also the messages of the evaluations that it continues: its own instructions, the messages of those, oldest first, then its own
   * messages. Its requests are built from this conversation.
   */
  readonly continued?: boolean | undefined;
}

/** Which evaluations `session.latestEvaluation` looks at. */
export interface LatestOptions {
  readonly ns?: string;
  readonly key?: string;
  readonly conversationId?: string;
}

const MESSAGES: KnownOptions<MessagesOptions> = { evaluationId: true, continued: true };
const EVALUATION: KnownOptions<EvaluationOptions> = { evaluationId: true };
const LATEST: KnownOptions<LatestOptions> = { ns: true, key: true, conversationId: true };

export function messagesIn({ record }: SessionState, options: MessagesOptions = {}): readonly ConversationMessage[] {
  refuseUnknownOptions('session.messages', options, MESSAGES);
  const { evaluationId, continued } = options;
  if (evaluationId === undefined) return frozen(record.messages.filter((message) => message.conversationId === 'main'));
  const evaluation = record.evaluations.get(evaluationId);
  if (!evaluation) return [];
  return frozenEach(continued ? evaluationMessages(record, evaluation) : evaluation.messages.toArray());
}

export function latestEvaluationIn({ record }: SessionState, options?: LatestOptions): Evaluation | undefined {
  refuseUnknownOptions('session.latestEvaluation', options, LATEST);
  return frozen(latestEvaluation(record.evaluations.items, options));
}

export function pendingCallsIn(state: SessionState, options: EvaluationOptions = {}): readonly CallState[] {
  refuseUnknownOptions('session.pending', options, EVALUATION);
  const { evaluations } = state.record;
  const { evaluationId } = options;
  const evaluation = evaluationId === undefined ? latestEvaluationIn(state) : evaluations.get(evaluationId);
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

/** An input that was sent and not placed yet. */
export interface QueuedInput {
  readonly id: string;
  readonly mode: InputMode;
  /** Its content. A large part is a reference to external content (D58). */
  readonly content: InputContent;
  readonly at: string;
  /** The position of its event in the log. */
  readonly seq: number;
  readonly by?: string;
  /** The name of the agent that it is for. */
  readonly agent?: string;
  /** Why the evaluation before it does not end; absent when a runner would place the input. */
  readonly waitsFor?: SuspendReason | 'EVALUATION_FAILED';
}

export function queuedInputsIn(state: SessionState): readonly QueuedInput[] {
  return frozen(
    queuedAfter(state.record.inbox, 0).map((item): QueuedInput => {
      const { id, mode, content, at, seq, by, agent } = item;
      const waitsFor = inputObstacle(state, item);
      const named = { ...(by !== undefined && { by }), ...(agent !== undefined && { agent }) };
      return { id, mode, content, at, seq, ...named, ...(waitsFor && { waitsFor }) };
    }),
  );
}

/** A response with the results of its calls. */
export interface ConversationTurn {
  readonly evaluationId: string;
  readonly turnNumber: number;
  /** When the response was recorded. */
  readonly createdAt: string;
  /** What the user wrote since the response before it in this evaluation. */
  readonly userMessages: readonly UserMessage[];
  readonly assistantMessage: AssistantMessage;
  /** In call order, regardless of the order in which they finished. */
  readonly toolMessages: readonly ToolMessage[];
  /** Its calls, in call order. */
  readonly calls: readonly TurnCall[];
  /** The provider's metadata of the response, when `recordProviderMetadata` is on. */
  readonly providerPayload?: Readonly<Record<string, unknown>>;
}

/** A call of a turn: how it ended, and how long it took. */
export interface TurnCall {
  readonly callId: string;
  readonly name: string;
  readonly status: CallStatus;
  /** The text of its result, if it failed. */
  readonly error?: string;
  /** When it was started last; the time of the response for a call whose start is not recorded, such as one that only reads. */
  readonly startedAt?: string;
  /** From `startedAt` to its result. */
  readonly durationMs?: number;
}

export function turnsIn({ record }: SessionState, options: EvaluationOptions = {}): readonly ConversationTurn[] {
  refuseUnknownOptions('session.turns', options, EVALUATION);
  const { evaluationId } = options;
  const named = evaluationId === undefined ? undefined : record.evaluations.get(evaluationId);
  if (evaluationId !== undefined && !named) return [];
  const starts = new Map(record.toolStarts.map((start) => [callKey(start), start.at]));
  const evaluations = named
    ? [named]
    : record.evaluations.items.filter(({ conversationId }) => conversationId === 'main');
  return frozen(evaluations.flatMap((evaluation) => turnsOf(evaluation, starts)));
}

function turnsOf(evaluation: Evaluation, starts: ReadonlyMap<string, string>): readonly ConversationTurn[] {
  const turns: { userMessages: readonly UserMessage[]; assistantMessage: AssistantMessage; results: ToolMessage[] }[] =
    [];
  let userMessages: UserMessage[] = [];
  for (const message of evaluation.messages) {
    if (message.role === 'user') userMessages.push(message);
    else if (message.role === 'tool') turns.at(-1)?.results.push(message);
    else if (message.role === 'assistant') {
      turns.push({ userMessages, assistantMessage: message, results: [] });
      userMessages = [];
    }
  }
  return turns.map(({ userMessages, assistantMessage, results }) => ({
    evaluationId: evaluation.id,
    turnNumber: assistantMessage.turn,
    createdAt: assistantMessage.createdAt,
    userMessages,
    assistantMessage,
    toolMessages: inCallOrder(assistantMessage.toolCalls, results),
    calls: callsOf(assistantMessage).map(({ callId, name }): TurnCall => {
      const { turn, createdAt } = assistantMessage;
      const result = results.find(({ toolCallId }) => toolCallId === callId);
      const started = starts.get(callKey({ evaluationId: evaluation.id, turn, callId }));
      if (!result) {
        const open = evaluation.calls.find((call) => call.turn === turn && call.callId === callId);
        return {
          callId,
          name,
          status: open?.status ?? 'pending',
          ...(started !== undefined && { startedAt: started }),
        };
      }
      const startedAt = started ?? createdAt;
      return {
        ...{ callId, name, status: result.isError ? 'failed' : 'completed' },
        ...(result.isError && { error: textOf(result) }),
        startedAt,
        // Clocks of two processes may differ.
        durationMs: Math.max(0, Date.parse(result.createdAt) - Date.parse(startedAt)),
      };
    }),
    ...(assistantMessage.providerMetadata && { providerPayload: assistantMessage.providerMetadata }),
  }));
}
