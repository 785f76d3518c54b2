import type { ErrorCode } from './errors.ts';
import type { Settlement, SuspendReason, ToolEffect } from './events.ts';
import type { List } from './list.ts';
import type { CallRef, ConversationMessage } from './messages.ts';
import type { Usage } from './usage.ts';

/**
 * An evaluation: one prompt being answered, from its first message to its end. Folded from the log, never stored (D8, D13).
 *
 *     running ──▶ completed
 *        │  ▲ ──▶ failed
 *        ▼  │
 *     suspended ──▶ superseded
 */
export type EvaluationStatus = 'running' | 'suspended' | 'completed' | 'failed' | 'superseded';

/** What the log says of a call (D8): nothing, that it began, or how it ended. */
export type CallStatus = 'pending' | 'started' | 'completed' | 'failed';

/** A tool call of the newest turn and everything the log says about it. */
export interface CallState extends CallRef {
  readonly name: string;
  readonly arguments: string;
  readonly status: CallStatus;
  /** How often it was started. */
  readonly attempt: number;
  /** As recorded when it was started. */
  readonly effect?: ToolEffect;
  readonly approval?: 'approved' | 'denied';
  readonly deniedBecause?: string;
  readonly settlement?: Settlement;
}

export interface Evaluation {
  readonly id: string;
  readonly conversationId: string;
  readonly promptNs: string;
  readonly promptKey: string;
  readonly promptHash: string;
  readonly inputHash: string;
  readonly paramsHash?: string;
  readonly key?: string;
  readonly continues?: string;
  readonly parent?: CallRef;
  readonly adapterType?: string;
  readonly startedAt: string;
  readonly startedSeq: number;
  readonly status: EvaluationStatus;
  /** Why it waits, while suspended. */
  readonly reason?: SuspendReason;
  readonly error?: { readonly code: ErrorCode; readonly message: string };
  /** The newest turn, 0 before the first answer. */
  readonly turn: number;
  readonly nextSequence: number;
  /** Its own messages in log order; what it `continues` is not among them. */
  readonly messages: List<ConversationMessage>;
  /** The calls of the newest assistant message, in call order. */
  readonly calls: readonly CallState[];
  /** What its own answers cost. */
  readonly usage: Usage;
  /** The same with its child conversations: what a budget is held against (D52). */
  readonly totalUsage: Usage;
}

/** Whether an evaluation can still go on. */
export function isOpen(evaluation: Evaluation): boolean {
  return evaluation.status === 'running' || evaluation.status === 'suspended';
}

/** Calls without a result, in call order. */
export function openCalls(evaluation: Evaluation): readonly CallState[] {
  return evaluation.calls.filter((call) => call.status === 'pending' || call.status === 'started');
}

/** The newest evaluation of a conversation by log position, of one prompt if asked (D12, D13). */
export function latestEvaluation(
  evaluations: List<Evaluation>,
  wanted: { readonly ns?: string; readonly key?: string; readonly conversationId?: string } = {},
): Evaluation | undefined {
  const { ns, key, conversationId = 'main' } = wanted;
  for (let i = evaluations.length - 1; i >= 0; i--) {
    const evaluation = evaluations.at(i);
    if (evaluation?.conversationId !== conversationId) continue;
    if (ns !== undefined && evaluation.promptNs !== ns) continue;
    if (key !== undefined && evaluation.promptKey !== key) continue;
    return evaluation;
  }
  return undefined;
}
