import type { NoticeBlock, ToolUseBlock } from '../../conversation/blocks.ts';
import { MAIN_CONVERSATION } from '../../conversation/events.ts';

/** What is known of an evaluation while its log is read. */
export interface EvaluationThread {
  readonly id: string;
  readonly conversationId: string;
  /** The conversation of the call that asked for this one, when it is a child (D52). */
  readonly parentConversationId?: string;
  readonly startedAt: string;
  /** Known only from its messages: nothing will say that it ended. */
  readonly inferred: boolean;
  open: boolean;
  /** What was said last. */
  answer: string;
  /** Calls without a result, by the id of their block. */
  readonly calls: Map<string, ToolUseBlock>;
  /** Says that it waits, while it does. */
  waiting?: NoticeBlock;
}

/** The evaluations of a log: which conversation each belongs to, and whether anyone still works on one. */
export class EvaluationThreads {
  readonly #threads = new Map<string, EvaluationThread>();
  readonly #openIn = new Map<string, number>();

  get(evaluationId: string): EvaluationThread | undefined {
    return this.#threads.get(evaluationId);
  }

  values(): Iterable<EvaluationThread> {
    return this.#threads.values();
  }

  add(thread: EvaluationThread): void {
    this.#threads.set(thread.id, thread);
    this.#openIn.set(thread.conversationId, (this.#openIn.get(thread.conversationId) ?? 0) + 1);
  }

  /** Closes an evaluation; true when its conversation has no other that is open. */
  close(thread: EvaluationThread): boolean {
    if (thread.open) this.#openIn.set(thread.conversationId, (this.#openIn.get(thread.conversationId) ?? 1) - 1);
    thread.open = false;
    return this.#openIn.get(thread.conversationId) === 0;
  }

  conversationOf(evaluationId: string): string {
    return this.#threads.get(evaluationId)?.conversationId ?? MAIN_CONVERSATION;
  }

  /** The conversation of the call that a child is named after: `<evaluationId>/<turn>/<callId>/<key>` (D52). */
  parentOf(conversationId: string): string {
    // An evaluation's id may itself hold a slash.
    for (let end = conversationId.lastIndexOf('/'); end > 0; end = conversationId.lastIndexOf('/', end - 1)) {
      const thread = this.#threads.get(conversationId.slice(0, end));
      if (thread) return thread.conversationId;
    }
    return MAIN_CONVERSATION;
  }
}
