/**
 * Converts a tail to the AI SDK's UI message stream: the chunks of one assistant message, which holds everything that one evaluation of
 * the main conversation shows.
 *
 *     TailItems ─▶ logConverter ─▶ blocks ─▶ UiMessageStream.push ─▶ chunks ─▶ useChat
 *
 * Chunks cannot take text back, except for the whole current step (`reset-step`). So a draft that is replaced, after a retry or a
 * crash, resets the step and sends what is left of it again. The text of an evaluation that was stopped stays.
 */
import type { ConversationBlock, SessionConversationState, TextBlock, ToolUseBlock } from '../conversation/blocks.ts';
import { type ConversationEvent, MAIN_CONVERSATION } from '../conversation/events.ts';
import { createConversationState } from '../conversation/indexed-state.ts';
import { reduceConversationEvents } from '../conversation/reduce-conversation.ts';
import { findBlock } from '../conversation/selectors.ts';
import { type EvaluationSuspended, isBuiltInEvent } from '../core/log/events.ts';
import { callKey } from '../core/log/messages.ts';
import type { TailEvent, TailItem } from '../core/log/tail.ts';
import { BLOCK_PART } from '../transcripts/ai-sdk-ui.ts';
import { type LogConverter, logConverter } from '../transcripts/own-log.ts';
import { blockIdOf, fileChunks, isCutOff, kindOf, steeringParts, type UiChunk } from './ui-chunks.ts';

/** Which evaluation is streamed: one by id, or the one that places an input. */
export interface UiMessageStreamOptions {
  readonly evaluationId?: string;
  readonly inputId?: string;
  /** Events up to this seq are known to the client: their chunks are not sent. */
  readonly knownSeq?: number;
  /** Suspensions up to this seq do not end the message: the evaluation was resumed since. */
  readonly resumedSeq?: number;
}

/** What the client has of a block. */
interface SentPart {
  /** The text that was sent. */
  text: string;
  isOpen: boolean;
  /** The block was removed since: it may come back with another text. */
  isUnsure: boolean;
  isInputSent: boolean;
}

/** Makes the chunks of one assistant message from the items of a tail that starts before its evaluation. */
export class UiMessageStream {
  readonly #options: UiMessageStreamOptions;
  readonly #converter: LogConverter = logConverter();
  #state: SessionConversationState = createConversationState();
  #evaluationId: string | undefined;
  #isKnown: boolean;
  #isDone = false;
  #turn = 0;
  readonly #sent = new Map<string, SentPart>();
  /** The blocks of the current step, in order. */
  #step = new Set<string>();
  /** The blocks of the current step that were sent, also those that are gone. */
  #stepSent = new Set<string>();
  /** A block of the current step was taken back: the step is sent again when new content arrives. */
  #isStale = false;
  #chunks: UiChunk[] = [];

  constructor(options: UiMessageStreamOptions) {
    this.#options = options;
    this.#isKnown = options.knownSeq !== undefined;
  }

  /** Nothing follows. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** The chunks that an item adds. */
  push(item: TailItem): readonly UiChunk[] {
    this.#chunks = [];
    const { event } = item;
    if (this.#isKnown && 'seq' in event && event.seq > (this.#options.knownSeq ?? 0)) this.#continue();
    const isBegun = this.#evaluationId !== undefined;
    if (!isBegun) this.#begin(event);
    const events = this.#converter.push(item);
    this.#state = reduceConversationEvents(this.#state, events);
    if (event.type === 'session/reset') this.#fail('the session was deleted');
    else if (isBegun && !this.#isDone) this.#show(event, events);
    return this.#isKnown ? [] : this.#chunks;
  }

  /** The client has everything up to here; chunks follow from now on. */
  #continue(): void {
    this.#chunks = [];
    this.#isKnown = false;
    if (this.#evaluationId !== undefined) this.#chunks.push({ type: 'start', messageId: this.#evaluationId });
  }

  #begin(event: TailEvent): void {
    if (!('seq' in event) || !isBuiltInEvent(event)) return;
    const { evaluationId, inputId } = this.#options;
    if (event.type === 'evaluation/started' && event.evaluationId === evaluationId) this.#start(evaluationId);
    if (inputId === undefined) return;
    if (event.type === 'message/recorded' && event.inputId === inputId) this.#start(event.message.evaluationId);
    if (event.type === 'input/withdrawn' && event.inputId === inputId) this.#end({ type: 'abort' });
  }

  #start(evaluationId: string): void {
    this.#evaluationId = evaluationId;
    this.#chunks.push({ type: 'start', messageId: evaluationId });
  }

  #show(event: TailEvent, events: readonly ConversationEvent[]): void {
    const turn = this.#turnOf(event);
    if (turn > this.#turn) this.#enterStep(turn);
    const changed = new Set<string>();
    for (const each of events) {
      if ((each.conversationId ?? MAIN_CONVERSATION) !== MAIN_CONVERSATION) continue;
      const id = blockIdOf(each);
      if (id === undefined || (each.type === 'block:delta' && this.#extend(each))) continue;
      if (each.type === 'block:removed') this.#doubt(id, event.type === 'message/recorded');
      changed.delete(id); // a block that comes back comes last
      changed.add(id);
    }
    for (const id of changed) {
      const block = findBlock(this.#state, id);
      if (!block && this.#stepSent.has(id)) this.#isStale = true;
      if (block) this.#update(block);
    }
    if (this.#isStale && (turn > 0 || event.type === 'drafts/replaced')) this.#resetStep();
    this.#endWith(event);
  }

  /** The turn that an item adds content to; 0 for any other. */
  #turnOf(event: TailEvent): number {
    if (event.type === 'message/delta' && !('seq' in event)) {
      return event.evaluationId === this.#evaluationId ? event.turn : 0;
    }
    if (!('seq' in event) || !isBuiltInEvent(event) || event.type !== 'message/recorded') return 0;
    const { message } = event;
    return message.role === 'assistant' && message.evaluationId === this.#evaluationId ? message.turn : 0;
  }

  #enterStep(turn: number): void {
    this.#leaveStep();
    this.#turn = turn;
    this.#chunks.push({ type: 'start-step' });
  }

  #leaveStep(): void {
    if (this.#isStale) this.#resetStep();
    this.#endTexts();
    if (this.#turn > 0) this.#chunks.push({ type: 'finish-step' });
    this.#step = new Set();
    this.#stepSent = new Set();
  }

  /** Sends a piece of a text or of an input that continues what was sent. False: the block must be looked at. */
  #extend({ blockId, delta, offset }: Extract<ConversationEvent, { type: 'block:delta' }>): boolean {
    const sent = this.#sent.get(blockId);
    if (!sent?.isOpen || sent.isUnsure || this.#isStale || offset === undefined || offset > sent.text.length)
      return false;
    const block = findBlock(this.#state, blockId);
    if (block) this.#sendText(block, sent, delta.slice(sent.text.length - offset));
    return block !== undefined;
  }

  /** A block was removed: it may come back, at another place. A recorded message has its own order, which is sent. */
  #doubt(id: string, isRecorded: boolean): void {
    this.#step.delete(id);
    const sent = this.#sent.get(id);
    if (sent) sent.isUnsure = true;
    if (sent && isRecorded) this.#isStale = true;
  }

  #update(block: ConversationBlock): void {
    if (block.type === 'user_message' && this.#turn === 0) return; // the message that this one responds to
    this.#step.add(block.id);
    // What was cut off is sent again, as data, only if something else takes its place.
    if (isCutOff(block)) this.#isStale = true;
    if (this.#isStale) return;
    this.#stepSent.add(block.id);
    switch (block.type) {
      case 'assistant_text':
      case 'thinking':
        this.#updateText(block);
        break;
      case 'tool_use':
        this.#updateCall(block);
        break;
      case 'tool_result': {
        const { toolUseId: toolCallId, output, isError } = block;
        if (!this.#sent.has(toolCallId)) this.#sendData(block);
        else if (isError)
          this.#chunks.push({ type: 'tool-output-error', toolCallId, errorText: output, dynamic: true });
        else this.#chunks.push({ type: 'tool-output-available', toolCallId, output, dynamic: true });
        break;
      }
      case 'user_message':
        this.#chunks.push({ type: 'steering-message', id: block.id, parts: steeringParts(block) });
        break;
      default:
        this.#sendData(block);
    }
  }

  #updateText(block: TextBlock): void {
    const { id, content, status, attachments = [] } = block;
    let sent = this.#sent.get(id);
    if (!sent) {
      sent = this.#open(id, content !== '' || attachments.length === 0);
      if (sent.isOpen) this.#chunks.push({ type: `${kindOf(block)}-start`, id });
      this.#chunks.push(...fileChunks(attachments));
    }
    if (!sent.isOpen || !this.#catchUp(block, sent, content)) return;
    if (status === 'complete') this.#endText(block, sent);
  }

  #updateCall(block: ToolUseBlock): void {
    const { id: toolCallId, toolName, input, inputText = '', message } = block;
    let sent = this.#sent.get(toolCallId);
    if (!sent) {
      sent = this.#open(toolCallId, true);
      this.#chunks.push({ type: 'tool-input-start', toolCallId, toolName, dynamic: true });
    }
    if (sent.isInputSent) return;
    const isWhole = input !== undefined || message !== undefined;
    if (!isWhole) {
      this.#catchUp(block, sent, inputText);
      return;
    }
    sent.isInputSent = true;
    sent.isOpen = false;
    this.#chunks.push({ type: 'tool-input-available', toolCallId, toolName, input: input ?? inputText, dynamic: true });
  }

  #open(id: string, isOpen: boolean): SentPart {
    const sent = { text: '', isOpen, isUnsure: false, isInputSent: false };
    this.#sent.set(id, sent);
    return sent;
  }

  /** Sends what a block has beyond what was sent; false when it has something else, or less. */
  #catchUp(block: ConversationBlock, sent: SentPart, content: string): boolean {
    if (content.startsWith(sent.text)) {
      sent.isUnsure = false;
      this.#sendText(block, sent, content.slice(sent.text.length));
      return true;
    }
    // A block that came back grows again to what it was.
    const isGrowing = block.status === 'pending' && sent.text.startsWith(content);
    if (!isGrowing) this.#isStale = true;
    return false;
  }

  #sendText(block: ConversationBlock, sent: SentPart, delta: string): void {
    if (delta === '') return;
    sent.text += delta;
    const { id, type } = block;
    if (type === 'tool_use') this.#chunks.push({ type: 'tool-input-delta', toolCallId: id, inputTextDelta: delta });
    else this.#chunks.push({ type: `${kindOf(block)}-delta`, id, delta });
  }

  #endText(block: ConversationBlock, sent: SentPart): void {
    sent.isOpen = false;
    this.#chunks.push({ type: `${kindOf(block)}-end`, id: block.id });
  }

  #sendData(block: ConversationBlock): void {
    this.#chunks.push({ type: BLOCK_PART, id: block.id, data: block });
  }

  /** Ends the texts of the step that are still open. */
  #endTexts(): void {
    for (const id of this.#step) {
      const sent = this.#sent.get(id);
      const block = findBlock(this.#state, id);
      if (sent?.isOpen && block?.type !== 'tool_use') {
        sent.isOpen = false;
        this.#chunks.push({ type: block?.type === 'thinking' ? 'reasoning-end' : 'text-end', id });
      }
    }
  }

  /** Takes the current step back and sends its blocks as they are now. */
  #resetStep(): void {
    this.#chunks.push({ type: 'reset-step' });
    this.#isStale = false;
    const blocks = [...this.#step].flatMap((id) => findBlock(this.#state, id) ?? []);
    for (const id of this.#stepSent) this.#sent.delete(id);
    this.#step = new Set();
    this.#stepSent = new Set();
    for (const block of blocks) {
      if (isCutOff(block)) {
        this.#step.add(block.id);
        this.#sendData(block);
      } else this.#update(block);
    }
  }

  #endWith(event: TailEvent): void {
    if (!('seq' in event) || !isBuiltInEvent(event)) return;
    if (!('evaluationId' in event) || event.evaluationId !== this.#evaluationId) return;
    switch (event.type) {
      case 'evaluation/completed':
        this.#leaveStep();
        this.#end({ type: 'finish', finishReason: 'stop' });
        break;
      case 'evaluation/failed':
        this.#fail(event.error.message);
        break;
      case 'evaluation/superseded':
        this.#stop();
        break;
      case 'evaluation/suspended':
        if (event.seq > (this.#options.resumedSeq ?? 0)) this.#suspend(event);
        break;
      default:
    }
  }

  #suspend({ reason, message, pending }: EvaluationSuspended): void {
    if (reason === 'CANCELLED') this.#stop();
    else if (reason !== 'APPROVAL_REQUIRED') this.#fail(message);
    else {
      for (const toolCallId of pending.map(callKey)) {
        if (!this.#sent.has(toolCallId)) continue; // a call of a child conversation is no part of this message
        this.#chunks.push({ type: 'tool-approval-request', approvalId: toolCallId, toolCallId });
      }
      this.#leaveStep();
      this.#end({ type: 'finish', finishReason: 'tool-calls' });
    }
  }

  /** The text that was sent stays. */
  #stop(): void {
    this.#isStale = false;
    this.#endTexts();
    this.#end({ type: 'abort' });
  }

  #fail(errorText: string): void {
    this.#endTexts();
    this.#end({ type: 'error', errorText });
  }

  #end(last: UiChunk): void {
    this.#chunks.push(last);
    this.#isDone = true;
  }
}
