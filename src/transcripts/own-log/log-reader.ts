import type { ConversationBlock } from '../../conversation/blocks.ts';
import { type ConversationEvent, MAIN_CONVERSATION } from '../../conversation/events.ts';
import type { DraftPosition } from '../../core/log/draft-position.ts';
import {
  type BuiltInEvent,
  type EvaluationCompleted,
  type EvaluationFailed,
  type EvaluationStarted,
  type EvaluationSuperseded,
  isBuiltInEvent,
  type MessageErased,
  type MessageInterrupted,
  type SessionRestored,
} from '../../core/log/events.ts';
import { type CallRef, type ConversationMessage, callKey, textOf } from '../../core/log/messages.ts';
import { decodeProgress, type ProgressPiece, type StoredPosition, type ToolProgress } from '../../core/log/progress.ts';
import { type DraftReset, type DraftsReplaced, isTailItem } from '../../core/log/tail.ts';
import type { Usage } from '../../core/log/usage.ts';
import { NumberedNames } from '../block-base.ts';
import { DraftBlocks, type DraftPiece, interruptedBlocks, isAfter } from './draft-blocks.ts';
import { isMessage, isPiece, isReset, isToolProgress, type LogItem, type UnwrappedItem } from './log-item.ts';
import { type MessageDetails, ShownMessages } from './message-blocks.ts';
import { noticeOf } from './notices.ts';
import { ProgressViews } from './progress-views.ts';
import { childCompleted, childSpawned, type ShownEvaluation, ShownEvaluations } from './shown-evaluations.ts';

/** How a log is shown. */
export interface LogReaderOptions {
  /** Also shows the blocks that are marked as machinery, which are for operators. Default: false. */
  readonly machinery?: boolean;
}

type Events = Iterable<ConversationEvent>;

/** Reads a log, item by item, and yields the events that show it. */
export class LogReader {
  #seq = 0;
  #at = '';
  readonly #evaluations = new ShownEvaluations();
  readonly #shown = new ShownMessages();
  /** Calls by their identity; a provider may repeat an id (D11). */
  readonly #names = new NumberedNames();
  readonly #drafts = new DraftBlocks();
  readonly #progress = new ProgressViews();
  /** The newest chunk of a tail that was read. */
  #newest: DraftPosition | undefined;
  readonly #machinery: boolean;

  constructor(options: LogReaderOptions = {}) {
    this.#machinery = options.machinery ?? false;
  }

  *read(given: LogItem): Events {
    const item = isTailItem(given) ? given.event : given;
    const isOpen = this.#drafts.size > 0;
    let overtaken: Set<string> | undefined;
    for (const event of this.#read(item)) {
      const isMachinery = event.type === 'block:upsert' && event.block.type === 'system' && event.block.machinery;
      if (!this.#machinery && isMachinery) continue;
      yield event;
      if (isOpen && 'seq' in item && isAdded(event)) {
        overtaken = (overtaken ?? new Set<string>()).add(event.conversationId ?? MAIN_CONVERSATION);
      }
    }
    for (const conversationId of overtaken ?? []) yield* this.#drafts.moveToEnd(conversationId, this.#at);
  }

  *#read(item: UnwrappedItem): Events {
    if (isReset(item)) yield* this.#reset(item);
    else if (isToolProgress(item)) {
      this.#saw(item.position);
      yield* this.#showProgress(item, item);
    } else if (isPiece(item) && item.kind === 'progress') yield* this.#readProgress(item);
    else if (isPiece(item)) {
      this.#saw(item.position);
      yield* this.#showPiece(item);
    } else if (isMessage(item)) {
      this.#at = item.createdAt;
      yield* this.#showMessage(item, {});
    } else if ('seq' in item && item.seq > this.#seq) {
      this.#seq = item.seq;
      this.#at = item.at;
      if (isBuiltInEvent(item)) yield* this.#readEvent(item);
    }
  }

  *#showPiece(piece: DraftPiece): Events {
    const conversationId = piece.conversationId ?? this.#evaluations.conversationOf(piece.evaluationId);
    yield* this.#drafts.add(piece, conversationId, this.#at);
  }

  /** Removes the drafts that a tail discards. A reset that was read before changes nothing. */
  *#reset(reset: DraftReset | DraftsReplaced): Events {
    if (reset.type === 'drafts/replaced') yield* this.#replaceDrafts(reset);
    else if (reset.before !== undefined && reset.before <= this.#seq) return;
    else if (reset.callId === undefined) yield* this.#drafts.reset(reset, this.#at);
    else {
      const { evaluationId, turn, callId, position } = reset;
      const id = this.#names.newest(callKey({ evaluationId, turn, callId }));
      if (this.#progress.reset(id, position)) yield* this.#showCall(id, evaluationId);
    }
  }

  *#replaceDrafts({ pieces, position }: DraftsReplaced): Events {
    if (!isAfter(position, this.#newest)) return;
    this.#saw(position);
    yield* this.#drafts.clear(this.#at);
    const silent = new Set(this.#progress.clear());
    for (const piece of pieces) {
      if (piece.type === 'tool/progress') {
        silent.delete(this.#names.newest(callKey(piece)));
        yield* this.#showProgress(piece, piece);
      } else {
        // Here the pieces are ordered by block, not by chunk.
        const { position: end, ...rest } = piece;
        yield* this.#showPiece(rest);
        if (end) this.#drafts.saw(piece.evaluationId, end);
      }
    }
    for (const { calls } of silent.size > 0 ? this.#evaluations.values() : []) {
      for (const [id, block] of calls) if (silent.has(id)) yield this.#upsert(block);
    }
  }

  #saw(position: DraftPosition | undefined): void {
    if (position && isAfter(position, this.#newest)) this.#newest = position;
  }

  /** At the end of a list of messages, a child that is known only from it has ended if no call lacks a result. */
  *endOfMessages(): Events {
    for (const evaluation of this.#evaluations.values()) {
      const ended = evaluation.inferred && evaluation.calls.size === 0 && evaluation.response !== '';
      if (ended) yield* childCompleted(evaluation, this.#at, 'completed', evaluation.response);
    }
  }

  *#readEvent(event: BuiltInEvent): Events {
    switch (event.type) {
      case 'evaluation/started':
        yield* this.#start(event);
        break;
      case 'message/recorded':
        yield* this.#showMessage(event.message, event);
        break;
      case 'message/interrupted':
        yield* this.#showInterrupted(event);
        break;
      case 'message/erased':
        yield* this.#blank(event);
        break;
      case 'evaluation/resumed':
      case 'tool/started':
        yield* this.#endWaiting(this.#evaluations.get(event.evaluationId));
        break;
      case 'tool/approved':
      case 'tool/denied':
      case 'tool/settled':
        yield this.#notice(event, event.evaluationId, this.#toolName(event));
        break;
      case 'evaluation/suspended': {
        const evaluation = this.#evaluations.get(event.evaluationId);
        yield* this.#drafts.drop(event.evaluationId, this.#at);
        yield* this.#endWaiting(evaluation);
        const notice = noticeOf(event, this.#evaluations.conversationOf(event.evaluationId), '');
        if (evaluation) evaluation.waiting = notice;
        yield this.#upsert(notice);
        break;
      }
      case 'evaluation/cancel-requested':
      case 'history/summarized':
        yield this.#notice(event, event.evaluationId);
        break;
      case 'evaluation/completed':
      case 'evaluation/failed':
      case 'evaluation/superseded':
        yield* this.#end(event);
        break;
      case 'adapter/captured':
        yield this.#notice(event, event.snapshot.evaluationId);
        break;
      case 'history/curated':
        if (event.refused || event.curatedCount !== event.originalCount || event.repairs?.length) {
          yield this.#notice(event, event.evaluationId);
        }
        break;
      case 'session/forked':
        yield this.#upsert(noticeOf(event, MAIN_CONVERSATION, ''));
        break;
      case 'session/restored':
        yield* this.#restore(event);
        break;
      case 'session/described':
      case 'tool/approval-requested': // shown by the suspension
      case 'tool/deferred': // shown by the suspension, too
      case 'session/suspended': // about workers, not about the conversation
      case 'session/resumed':
      case 'evaluation/resume-requested': // shown by the resume
      case 'input/queued': // shown as a message when it is placed
      case 'input/withdrawn':
      case 'source/described': // `conversationOf` shows imported sessions
      case 'source/recorded':
      case 'source/replaced':
        break;
      default:
        event satisfies never;
    }
  }

  *#start(event: EvaluationStarted): Events {
    const { evaluationId, conversationId, parent } = event;
    if (this.#evaluations.get(evaluationId)) return;
    const parentConversationId = parent && this.#evaluations.conversationOf(parent.evaluationId);
    yield* this.#begin(event, evaluationId, conversationId, parentConversationId, false);
  }

  /** Adds an evaluation, and shows it as a subagent when it is a child's. */
  *#begin(
    prompt: { readonly promptNs: string; readonly promptKey: string },
    id: string,
    conversationId: string,
    parent: string | undefined,
    inferred: boolean,
  ): Events {
    const isChild = conversationId !== MAIN_CONVERSATION;
    const parentConversationId = parent ?? MAIN_CONVERSATION;
    this.#evaluations.add({
      id,
      conversationId,
      ...(isChild && { parentConversationId }),
      startedAt: this.#at,
      inferred,
      open: true,
      response: '',
      calls: new Map(),
    });
    if (!isChild) return;
    yield childSpawned(conversationId, parentConversationId, this.#at, {
      subagentType: prompt.promptKey,
      description: `${prompt.promptNs}/${prompt.promptKey}`,
    });
  }

  *#showMessage(message: ConversationMessage, cost: { readonly usage?: Usage; readonly model?: string }): Events {
    if (this.#shown.has(message.id)) return;
    const { evaluationId, turn, conversationId, role } = message;
    if (!this.#evaluations.get(evaluationId)) {
      yield* this.#begin(message, evaluationId, conversationId, this.#evaluations.parentOf(conversationId), true);
    }
    const evaluation = this.#evaluations.get(evaluationId);
    yield* this.#endWaiting(evaluation);
    const key = (callId: string): string => callKey({ evaluationId, turn, callId });
    const details: MessageDetails = {
      timestamp: message.createdAt,
      ...(cost.usage && { usage: cost.usage }),
      ...(cost.model !== undefined && { model: cost.model }),
      callNames: role === 'assistant' ? (message.toolCalls ?? []).map((c) => this.#names.add(key(c.callId))) : [],
      resultOf: role === 'tool' ? this.#names.newest(key(message.toolCallId)) : '',
    };
    const blocks = this.#shown.add(message, details);
    if (role === 'assistant') {
      yield* this.#drafts.record(evaluationId, turn, blocks, this.#at);
      if (evaluation) evaluation.response = textOf(message);
    }
    if (role === 'user' && evaluation?.parentConversationId !== undefined) {
      const prompt = textOf(message);
      yield childSpawned(conversationId, evaluation.parentConversationId, this.#at, { prompt });
    }
    for (const block of blocks) if (block.type === 'tool_result') yield* this.#endProgress(block.toolUseId, evaluation);
    for (const block of blocks) yield this.#upsert(block);
    for (const block of blocks) {
      if (block.type === 'tool_use') evaluation?.calls.set(block.id, block);
      if (block.type === 'tool_result') evaluation?.calls.delete(block.toolUseId);
    }
  }

  *#readProgress({ evaluationId, turn, blockId, delta, n }: DraftPiece): Events {
    const call = { evaluationId, turn, callId: blockId.slice(`${evaluationId}/${turn}/`.length) };
    const piece = decodeProgress(delta);
    if (piece) yield* this.#showProgress(call, piece, { n, length: delta.length });
  }

  /** Shows the progress of a running call on its block. Progress of a call that has its result is ignored. */
  *#showProgress(
    call: CallRef,
    piece: ProgressPiece & Pick<ToolProgress, 'position'>,
    stored?: StoredPosition,
  ): Events {
    const id = this.#names.newest(callKey(call));
    const block = this.#evaluations.get(call.evaluationId)?.calls.get(id);
    if (!block) return;
    const progress = this.#progress.add(id, piece, stored);
    if (progress) yield this.#upsert({ ...block, progress });
  }

  *#showCall(id: string, evaluationId: string): Events {
    const block = this.#evaluations.get(evaluationId)?.calls.get(id);
    if (block) yield this.#upsert(block);
  }

  /** Removes the progress of a call that has its result: the append has deleted its draft. */
  *#endProgress(id: string, evaluation: ShownEvaluation | undefined): Events {
    const block = evaluation?.calls.get(id);
    if (this.#progress.delete(id) && block) yield this.#upsert(block);
  }

  *#showInterrupted(event: MessageInterrupted): Events {
    yield* this.#drafts.drop(event.evaluationId, this.#at);
    for (const block of interruptedBlocks(event)) yield this.#upsert(block);
  }

  /** Shows an erased message without its content (D58). */
  *#blank(event: MessageErased): Events {
    const shown = this.#shown.erase(event.messageId);
    if (!shown) return;
    const { conversationId, evaluationId, role } = shown.message;
    const evaluation = this.#evaluations.get(evaluationId);
    for (const blockId of shown.removed) yield { type: 'block:removed', conversationId, timestamp: this.#at, blockId };
    for (const block of shown.blocks) {
      const isOver = block.type === 'tool_use' && !evaluation?.calls.has(block.id);
      if (block.type === 'tool_use' && !isOver) evaluation?.calls.set(block.id, block);
      yield this.#upsert(isOver ? { ...block, status: 'complete' } : block);
    }
    if (role === 'assistant' && evaluation && !evaluation.open) {
      evaluation.response = textOf(shown.message);
      yield* childCompleted(evaluation, this.#at, 'completed', evaluation.response);
    }
  }

  *#end(event: EvaluationCompleted | EvaluationFailed | EvaluationSuperseded): Events {
    const evaluation = this.#evaluations.get(event.evaluationId);
    if (!evaluation) return;
    const { conversationId } = evaluation;
    const last = this.#evaluations.close(evaluation);
    yield* this.#drafts.drop(evaluation.id, this.#at);
    yield* this.#endWaiting(evaluation);
    if (event.type !== 'evaluation/completed') {
      for (const call of evaluation.calls.values()) yield this.#upsert({ ...call, status: 'error' });
      yield this.#upsert(noticeOf(event, conversationId, ''));
    }
    for (const id of evaluation.calls.keys()) this.#progress.delete(id);
    evaluation.calls.clear();
    const reason = REASONS[event.type];
    if (last) yield { type: 'session:idle', conversationId, timestamp: this.#at, reason };
    if (event.type === 'evaluation/completed')
      yield* childCompleted(evaluation, this.#at, 'completed', evaluation.response);
    else if (event.type === 'evaluation/failed')
      yield* childCompleted(evaluation, this.#at, 'failed', event.error.message);
    else yield* childCompleted(evaluation, this.#at, 'failed');
  }

  /** Shows the messages of a snapshot that was restored into an empty session; otherwise a restore changes only slices (D21). */
  *#restore(event: SessionRestored): Events {
    const messages = this.#shown.size === 0 ? (event.slices.messages ?? []).filter(isMessage) : [];
    for (const message of messages) yield* this.#showMessage(message, {});
    yield this.#upsert(noticeOf(event, MAIN_CONVERSATION, ''));
  }

  /** Completes the notice of an evaluation that was suspended: it was resumed. */
  *#endWaiting(evaluation: ShownEvaluation | undefined): Events {
    if (!evaluation?.waiting) return;
    yield this.#upsert({ ...evaluation.waiting, status: 'complete' });
    delete evaluation.waiting;
  }

  #notice(event: Parameters<typeof noticeOf>[0], evaluationId: string, toolName = ''): ConversationEvent {
    return this.#upsert(noticeOf(event, this.#evaluations.conversationOf(evaluationId), toolName));
  }

  #upsert(block: ConversationBlock): ConversationEvent {
    return { type: 'block:upsert', conversationId: block.conversationId, timestamp: this.#at, block };
  }

  #toolName(call: CallRef): string {
    const { calls } = this.#evaluations.get(call.evaluationId) ?? {};
    return calls?.get(this.#names.newest(callKey(call)))?.toolName ?? call.callId;
  }
}

const REASONS = {
  'evaluation/completed': 'completed',
  'evaluation/failed': 'failed',
  'evaluation/superseded': 'interrupted',
} as const;

/** Whether an event may have added a block at the end of its conversation. */
function isAdded(event: ConversationEvent): boolean {
  return event.type === 'subagent:spawned' || (event.type === 'block:upsert' && event.block.type !== 'tool_use');
}
