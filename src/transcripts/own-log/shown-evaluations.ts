import type { NoticeBlock, ToolUseBlock } from '../../conversation/blocks.ts';
import { type ConversationEvent, MAIN_CONVERSATION } from '../../conversation/events.ts';

/** What is known of an evaluation while its log is read. */
export interface ShownEvaluation {
  readonly id: string;
  readonly conversationId: string;
  /** The conversation of the call that started this one, when it is a child (D52). */
  readonly parentConversationId?: string;
  readonly startedAt: string;
  /** Known only from its messages: no event will end it. */
  readonly inferred: boolean;
  open: boolean;
  /** The text of its newest response. */
  response: string;
  /** Calls without a result, by the id of their block. */
  readonly calls: Map<string, ToolUseBlock>;
  /** The notice of its suspension, while it is suspended. */
  waiting?: NoticeBlock;
}

/** The evaluations of a log: the conversation of each, and which are open. */
export class ShownEvaluations {
  readonly #evaluations = new Map<string, ShownEvaluation>();
  readonly #openIn = new Map<string, number>();

  get(evaluationId: string): ShownEvaluation | undefined {
    return this.#evaluations.get(evaluationId);
  }

  values(): Iterable<ShownEvaluation> {
    return this.#evaluations.values();
  }

  add(evaluation: ShownEvaluation): void {
    this.#evaluations.set(evaluation.id, evaluation);
    this.#openIn.set(evaluation.conversationId, (this.#openIn.get(evaluation.conversationId) ?? 0) + 1);
  }

  /** Closes an evaluation; true when its conversation has no other open one. */
  close(evaluation: ShownEvaluation): boolean {
    if (evaluation.open)
      this.#openIn.set(evaluation.conversationId, (this.#openIn.get(evaluation.conversationId) ?? 1) - 1);
    evaluation.open = false;
    return this.#openIn.get(evaluation.conversationId) === 0;
  }

  conversationOf(evaluationId: string): string {
    return this.#evaluations.get(evaluationId)?.conversationId ?? MAIN_CONVERSATION;
  }

  /** The conversation of the call that a child is named after: `<evaluationId>/<turn>/<callId>/<key>` (D52). */
  parentOf(conversationId: string): string {
    // An evaluation's id may itself contain a slash.
    for (let end = conversationId.lastIndexOf('/'); end > 0; end = conversationId.lastIndexOf('/', end - 1)) {
      const evaluation = this.#evaluations.get(conversationId.slice(0, end));
      if (evaluation) return evaluation.conversationId;
    }
    return MAIN_CONVERSATION;
  }
}

/** Shows a child, or adds the prompt that it got. */
export function childSpawned(
  conversationId: string,
  parentConversationId: string,
  timestamp: string,
  fields: { readonly subagentType: string; readonly description: string } | { readonly prompt: string },
): ConversationEvent {
  const base = { conversationId: parentConversationId, timestamp, toolUseId: conversationId };
  return { type: 'subagent:spawned', ...base, ...fields };
}

/** Ends the child of an evaluation; no event when the evaluation is not a child's. */
export function childCompleted(
  evaluation: ShownEvaluation,
  timestamp: string,
  status: 'completed' | 'failed',
  output?: string,
): readonly ConversationEvent[] {
  const { parentConversationId, conversationId: toolUseId, startedAt, inferred } = evaluation;
  if (parentConversationId === undefined) return [];
  const durationMs = Date.parse(timestamp) - Date.parse(startedAt);
  return [
    {
      type: 'subagent:completed',
      conversationId: parentConversationId,
      timestamp,
      toolUseId,
      status,
      ...(output !== undefined && { output }),
      ...(durationMs >= 0 && !inferred && { durationMs }),
    },
  ];
}
