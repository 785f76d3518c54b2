import type { ConversationBlock } from '../../conversation/blocks.ts';
import { type ConversationEvent, MAIN_CONVERSATION } from '../../conversation/events.ts';
import { compareDraftPositions, type DraftPosition } from '../../core/draft-position.ts';
import { erased } from '../../core/erased.ts';
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
} from '../../core/events.ts';
import { type CallRef, type ConversationMessage, textOf } from '../../core/messages.ts';
import { decodeProgress, type ProgressPiece, type StoredPlace, type ToolProgress } from '../../core/progress.ts';
import { type DraftReset, type DraftsReplaced, isTailItem } from '../../core/tail.ts';
import type { Usage } from '../../core/usage.ts';
import { CallNames } from './call-names.ts';
import { DraftBlocks, type DraftPiece, kindOf, UNNAMED_TOOL } from './draft-blocks.ts';
import { type EvaluationThread, EvaluationThreads } from './evaluation-threads.ts';
import { isMessage, isPiece, isReset, isToolProgress, type LogItem, type UnwrappedItem } from './log-item.ts';
import { blocksOfMessage, type MessageDetails } from './message-blocks.ts';
import { noticeOf } from './notices.ts';
import { ProgressViews } from './progress-views.ts';

/** What a screen is for. */
export interface LogReaderOptions {
  /** Also show how the conversation is run: blocks marked as machinery, for an operator. Left out unless asked for. */
  readonly machinery?: boolean;
}

type Events = Iterable<ConversationEvent>;

/** A recorded message without what it said, for when that is erased (D58). */
interface Shown {
  readonly blank: ConversationMessage;
  readonly details: MessageDetails;
  readonly blocks: readonly Pick<ConversationBlock, 'id' | 'type'>[];
}

/** Reads a log, item by item, and says what a screen should show. */
export class LogReader {
  #seq = 0;
  #at = '';
  readonly #evaluations = new EvaluationThreads();
  readonly #shown = new Map<string, Shown>();
  readonly #names = new CallNames();
  readonly #drafts = new DraftBlocks();
  readonly #progress = new ProgressViews();
  /** The newest chunk of a tail that was read. */
  #newest: DraftPosition | undefined;
  /** The message that each block of instructions was last taken from. */
  readonly #instructions = new Map<string, string>();
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

  /** Takes away what a tail says is no longer so. A reset that was read before says nothing. */
  *#reset(reset: DraftReset | DraftsReplaced): Events {
    if (reset.type === 'drafts/replaced') yield* this.#replaceDrafts(reset);
    else if (reset.before !== undefined && reset.before <= this.#seq) return;
    else if (reset.callId === undefined) yield* this.#drafts.reset(reset, this.#at);
    else {
      const { evaluationId, turn, callId, position } = reset;
      const id = this.#names.find({ evaluationId, turn, callId });
      if (this.#progress.reset(id, position)) yield* this.#showCall(id, evaluationId);
    }
  }

  *#replaceDrafts({ pieces, position }: DraftsReplaced): Events {
    if (this.#newest && compareDraftPositions(position, this.#newest) <= 0) return;
    this.#saw(position);
    yield* this.#drafts.clear(this.#at);
    const silent = new Set(this.#progress.clear());
    for (const piece of pieces) {
      if (piece.type === 'tool/progress') {
        silent.delete(this.#names.find(piece));
        yield* this.#showProgress(piece, piece);
      } else {
        // The pieces of a response's blocks are not in the order of their chunks.
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
    if (position && (!this.#newest || compareDraftPositions(position, this.#newest) > 0)) this.#newest = position;
  }

  /** A list of messages is over: children known only from it have ended if they owe no result. */
  *endOfMessages(): Events {
    for (const evaluation of this.#evaluations.values()) {
      const ended = evaluation.inferred && evaluation.calls.size === 0 && evaluation.answer !== '';
      if (ended) yield* this.#endChild(evaluation, 'completed', evaluation.answer);
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
        yield* this.#goOn(this.#evaluations.get(event.evaluationId));
        break;
      case 'tool/approved':
      case 'tool/denied':
      case 'tool/settled':
        yield this.#upsert(
          noticeOf(event, this.#evaluations.conversationOf(event.evaluationId), this.#toolName(event)),
        );
        break;
      case 'evaluation/suspended': {
        const evaluation = this.#evaluations.get(event.evaluationId);
        yield* this.#drafts.drop(event.evaluationId, this.#at);
        yield* this.#goOn(evaluation);
        const notice = noticeOf(event, this.#evaluations.conversationOf(event.evaluationId), '');
        if (evaluation) evaluation.waiting = notice;
        yield this.#upsert(notice);
        break;
      }
      case 'evaluation/cancel-requested':
        yield this.#upsert(noticeOf(event, this.#evaluations.conversationOf(event.evaluationId), ''));
        break;
      case 'evaluation/completed':
      case 'evaluation/failed':
      case 'evaluation/superseded':
        yield* this.#end(event);
        break;
      case 'adapter/captured':
        yield this.#upsert(noticeOf(event, this.#evaluations.conversationOf(event.snapshot.evaluationId), ''));
        break;
      case 'history/curated':
        if (event.refused || event.curatedCount !== event.originalCount || event.repairs?.length) {
          yield this.#upsert(noticeOf(event, this.#evaluations.conversationOf(event.evaluationId), ''));
        }
        break;
      case 'history/summarized':
        yield this.#upsert(noticeOf(event, this.#evaluations.conversationOf(event.evaluationId), ''));
        break;
      case 'session/forked':
        yield this.#upsert(noticeOf(event, MAIN_CONVERSATION, ''));
        break;
      case 'session/restored':
        yield* this.#restore(event);
        break;
      case 'session/described':
      case 'tool/approval-requested': // the suspension says it to the reader
      case 'evaluation/resume-requested': // so does the resume
      case 'input/queued': // shown as a message when it is placed
      case 'input/withdrawn':
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

  /** Notes an evaluation, and shows it as a subagent when it is a child's. */
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
      answer: '',
      calls: new Map(),
    });
    if (!isChild) return;
    yield {
      type: 'subagent:spawned',
      conversationId: parentConversationId,
      timestamp: this.#at,
      toolUseId: conversationId,
      subagentType: prompt.promptKey,
      description: `${prompt.promptNs}/${prompt.promptKey}`,
    };
  }

  *#showMessage(message: ConversationMessage, cost: { readonly usage?: Usage; readonly model?: string }): Events {
    if (this.#shown.has(message.id)) return;
    const { evaluationId, turn, conversationId, role } = message;
    if (!this.#evaluations.get(evaluationId)) {
      yield* this.#begin(message, evaluationId, conversationId, this.#evaluations.parentOf(conversationId), true);
    }
    const evaluation = this.#evaluations.get(evaluationId);
    yield* this.#goOn(evaluation);
    const call = (callId: string): CallRef => ({ evaluationId, turn, callId });
    const details: MessageDetails = {
      timestamp: message.createdAt,
      ...(cost.usage && { usage: cost.usage }),
      ...(cost.model !== undefined && { model: cost.model }),
      callNames: role === 'assistant' ? (message.toolCalls ?? []).map((c) => this.#names.add(call(c.callId))) : [],
      answers: role === 'tool' ? this.#names.find(call(message.toolCallId)) : '',
    };
    const blocks = blocksOfMessage(message, details);
    for (const { id, type } of blocks) if (type === 'system') this.#instructions.set(id, message.id);
    this.#shown.set(message.id, {
      blank: erased(message),
      details,
      blocks: blocks.map(({ id, type }) => ({ id, type })),
    });
    if (role === 'assistant') {
      yield* this.#drafts.record(evaluationId, turn, blocks, this.#at);
      if (evaluation) evaluation.answer = textOf(message);
    }
    if (role === 'user' && evaluation?.parentConversationId !== undefined) {
      const { parentConversationId } = evaluation;
      yield {
        type: 'subagent:spawned',
        conversationId: parentConversationId,
        timestamp: this.#at,
        toolUseId: conversationId,
        prompt: textOf(message),
      };
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

  /** Shows what a running call reports on its block. A call that has its result takes no more. */
  *#showProgress(call: CallRef, piece: ProgressPiece & Pick<ToolProgress, 'position'>, stored?: StoredPlace): Events {
    const id = this.#names.find(call);
    const block = this.#evaluations.get(call.evaluationId)?.calls.get(id);
    if (!block) return;
    const progress = this.#progress.add(id, piece, stored);
    if (progress) yield this.#upsert({ ...block, progress });
  }

  *#showCall(id: string, evaluationId: string): Events {
    const block = this.#evaluations.get(evaluationId)?.calls.get(id);
    if (block) yield this.#upsert(block);
  }

  /** The call has its result: its progress is shown no more, as the append has ended its draft. */
  *#endProgress(id: string, evaluation: EvaluationThread | undefined): Events {
    const block = evaluation?.calls.get(id);
    if (this.#progress.delete(id) && block) yield this.#upsert(block);
  }

  /** What an attempt had said when it broke (D53), beside what the next attempt says under the same ids. */
  *#showInterrupted(event: MessageInterrupted): Events {
    const { evaluationId, conversationId, turn, seq } = event;
    yield* this.#drafts.drop(evaluationId, this.#at);
    for (const { blockId, text, ...what } of event.blocks) {
      const id = `interrupted:${seq}:${blockId}`;
      const base = { id, conversationId, timestamp: event.at, status: 'error' } as const;
      const { kind = kindOf({ evaluationId, turn, blockId }), toolName = UNNAMED_TOOL } = what;
      if (kind === 'tool-input') {
        yield this.#upsert({ ...base, type: 'tool_use', toolUseId: id, toolName, inputText: text });
      } else yield this.#upsert({ ...base, type: kind === 'reasoning' ? 'thinking' : 'assistant_text', content: text });
    }
  }

  /** Shows a message as it is now in the log: without what it said (D58). */
  *#blank(event: MessageErased): Events {
    const shown = this.#shown.get(event.messageId);
    if (!shown || shown.blocks.length === 0) return;
    // Newer instructions stand in the block of the erased ones.
    if (shown.blocks.some(({ id }) => (this.#instructions.get(id) ?? event.messageId) !== event.messageId)) return;
    const { conversationId, evaluationId, role } = shown.blank;
    const evaluation = this.#evaluations.get(evaluationId);
    const blocks = blocksOfMessage(shown.blank, shown.details);
    for (const { id, type } of shown.blocks) {
      if (!blocks.some((block) => block.id === id && block.type === type)) {
        yield { type: 'block:removed', conversationId, timestamp: this.#at, blockId: id };
      }
    }
    for (const block of blocks) {
      const isOver = block.type === 'tool_use' && !evaluation?.calls.has(block.id);
      if (block.type === 'tool_use' && !isOver) evaluation?.calls.set(block.id, block);
      yield this.#upsert(isOver ? { ...block, status: 'complete' } : block);
    }
    this.#shown.set(event.messageId, { ...shown, blocks });
    if (role === 'assistant' && evaluation && !evaluation.open) {
      evaluation.answer = textOf(shown.blank);
      yield* this.#endChild(evaluation, 'completed', evaluation.answer);
    }
  }

  *#end(event: EvaluationCompleted | EvaluationFailed | EvaluationSuperseded): Events {
    const evaluation = this.#evaluations.get(event.evaluationId);
    if (!evaluation) return;
    const { conversationId } = evaluation;
    const last = this.#evaluations.close(evaluation);
    yield* this.#drafts.drop(evaluation.id, this.#at);
    yield* this.#goOn(evaluation);
    if (event.type !== 'evaluation/completed') {
      for (const call of evaluation.calls.values()) yield this.#upsert({ ...call, status: 'error' });
      yield this.#upsert(noticeOf(event, conversationId, ''));
    }
    for (const id of evaluation.calls.keys()) this.#progress.delete(id);
    evaluation.calls.clear();
    const reason = REASONS[event.type];
    if (last) yield { type: 'session:idle', conversationId, timestamp: this.#at, reason };
    if (event.type === 'evaluation/completed') yield* this.#endChild(evaluation, 'completed', evaluation.answer);
    else if (event.type === 'evaluation/failed') yield* this.#endChild(evaluation, 'failed', event.error.message);
    else yield* this.#endChild(evaluation, 'failed');
  }

  *#endChild(evaluation: EvaluationThread, status: 'completed' | 'failed', output?: string): Events {
    if (evaluation.parentConversationId === undefined) return;
    const durationMs = Date.parse(this.#at) - Date.parse(evaluation.startedAt);
    yield {
      type: 'subagent:completed',
      conversationId: evaluation.parentConversationId,
      timestamp: this.#at,
      toolUseId: evaluation.conversationId,
      status,
      ...(output !== undefined && { output }),
      ...(durationMs >= 0 && !evaluation.inferred && { durationMs }),
    };
  }

  /** A snapshot brought its conversation into an empty session; into another one it brings only its slices (D21). */
  *#restore(event: SessionRestored): Events {
    const messages = this.#shown.size === 0 ? (event.slices.messages ?? []).filter(isMessage) : [];
    for (const message of messages) yield* this.#showMessage(message, {});
    yield this.#upsert(noticeOf(event, MAIN_CONVERSATION, ''));
  }

  /** An evaluation that waited goes on. */
  *#goOn(evaluation: EvaluationThread | undefined): Events {
    if (!evaluation?.waiting) return;
    yield this.#upsert({ ...evaluation.waiting, status: 'complete' });
    delete evaluation.waiting;
  }

  #upsert(block: ConversationBlock): ConversationEvent {
    return { type: 'block:upsert', conversationId: block.conversationId, timestamp: this.#at, block };
  }

  #toolName(call: CallRef): string {
    const { calls } = this.#evaluations.get(call.evaluationId) ?? {};
    return calls?.get(this.#names.find(call))?.toolName ?? call.callId;
  }
}

const REASONS = {
  'evaluation/completed': 'completed',
  'evaluation/failed': 'failed',
  'evaluation/superseded': 'interrupted',
} as const;

/** Whether an event may have put a block at the end of its conversation. */
function isAdded(event: ConversationEvent): boolean {
  return event.type === 'subagent:spawned' || (event.type === 'block:upsert' && event.block.type !== 'tool_use');
}
