/**
 * Converts the lines of one thread: the main conversation, or a subagent's. A rollout says most things twice, as an item of the model's
 * history (`response_item`) and as an item for the screen (`item_completed`). The history decides what is shown; items add what it
 * lacks: whether a call failed, calls inside a script, the result of a call whose output a crash lost.
 */
import { MAIN_CONVERSATION } from '../../../conversation/events.ts';
import type { Usage } from '../../../core/log/usage.ts';
import type { BlockWriter, EndReason } from '../../block-writer.ts';
import { asMilliseconds, asName, asObject, asText, type Json } from '../../json-access.ts';
import { partsOf, reasoningTexts, thoughtTexts } from '../items/content.ts';
import { isOfCall, itemOfEvent, itemType } from '../items/items.ts';
import { contentKinds, Prompts } from '../items/prompts.ts';
import { modelCall } from '../items/tool-calls.ts';
import { sameTokens, usageOf } from '../items/usage.ts';
import type { RolloutLine, RolloutMeta } from '../rollouts/rollout-line.ts';
import type { Shared } from './agents.ts';
import { AsideWriter } from './asides.ts';
import { CallWriter } from './call-writer.ts';

export class CodexThread {
  readonly conversationId: string;
  readonly #shared: Shared;
  readonly #meta: RolloutMeta | undefined;
  readonly #asides: AsideWriter;
  readonly #calls: CallWriter;
  readonly #prompts: Prompts;
  #model: string | undefined;
  /** The id of the current response, and whether it is over: the next item of the model then starts another one. */
  #response = '';
  #isOver = true;
  /** The usage of the current response is not known yet. It follows the response, in some versions its results. */
  #lacksUsage = false;
  /** The newest total of tokens, where a file has no record of each response. */
  #total: Json | undefined;
  #hasRecords = false;

  constructor(shared: Shared, conversationId: string, meta: RolloutMeta | undefined) {
    this.#shared = shared;
    this.conversationId = conversationId;
    this.#meta = meta;
    this.#asides = new AsideWriter(shared, conversationId, meta);
    this.#calls = new CallWriter(shared, conversationId, meta?.historyMode === 'paginated');
    this.#prompts = new Prompts((message, kind) => {
      this.#isOver = true;
      this.#lacksUsage = false;
      this.#asides.addUserMessage(message, kind);
    });
  }

  add(line: RolloutLine): void {
    const { payload, name, timestamp: at } = line;
    switch (line.type) {
      case 'turn_context':
        this.#model = asName(payload.model) ?? this.#model;
        break;
      case 'response_item':
        this.#addResponseItem(line);
        break;
      case 'event_msg':
        this.#addEvent(line);
        break;
      case 'token_usage_record':
        this.#hasRecords = true;
        this.#addUsage(usageOf(payload.usage), asName(payload.response_id), at);
        break;
      case 'compacted':
        this.#prompts.flush();
        this.#asides.addCompaction(name, asText(payload.message) ?? '', at);
        this.#isOver = true;
        break;
      case 'session_meta':
      case 'world_state':
      case 'inter_agent_communication':
      case 'inter_agent_communication_metadata':
        break;
      default:
        this.#asides.addUnknown(name, line.kind, line.raw, at);
    }
  }

  /** Ends what is open at the end of the thread's lines. */
  finish(at: string): void {
    this.#prompts.flush();
    this.#asides.flush();
    this.#calls.takeLostResults(at);
  }

  #addResponseItem({ payload: item, name, kind, metadata, timestamp: at }: RolloutLine): void {
    const id = asName(item.id) ?? name;
    const call = modelCall(item);
    if (item.type === 'message' && item.role === 'user') {
      this.#prompts.addMessage({ id, timestamp: at, parts: partsOf(item.content) }, contentKinds(item));
      return;
    }
    if (call) {
      this.#calls.addCall(call, asName(item.id) ?? call.callId ?? id, this.#message(id, at), at);
    } else if (this.#calls.addOutput(item, at)) this.#isOver = true;
    else {
      switch (item.type) {
        case 'message':
          if (item.role === 'assistant') this.#addText(item, id, metadata, at);
          else this.#asides.addInstructions(id, partsOf(item.content), at);
          break;
        case 'reasoning':
          this.#asides.addThought(id, reasoningTexts(item), () => this.#message(id, at), at);
          break;
        case 'web_search_call':
          this.#calls.addSearch(id, item, this.#message(id, at), at);
          break;
        case 'image_generation_call':
          this.#calls.addImage(id, item, this.#message(id, at), at);
          break;
        case 'agent_message':
          this.#prompts.flush();
          this.#asides.addAgentMessage(id, item, at);
          break;
        default:
          this.#asides.addOther(id, kind, item, at);
      }
    }
  }

  #addText(item: Json, id: string, metadata: Json | undefined, at: string): void {
    const parts = partsOf(item.content);
    if (metadata?.compaction_output === true) this.#asides.addSummary(id, parts, this.#message(id, at), at);
    else this.#asides.addText(id, parts, () => this.#message(id, at), at);
  }

  #addEvent(line: RolloutLine): void {
    const { payload: event, name: id, timestamp: at } = line;
    const item = itemOfEvent(event);
    if (item) {
      this.#addItem(item, id, at);
      return;
    }
    switch (event.type) {
      case 'user_message': {
        const images = Array.isArray(event.images) ? event.images.map((url) => ({ image_url: url })) : [];
        const parts = [...partsOf(event.message), ...partsOf(images)];
        this.#prompts.addEvent({ id, timestamp: at, parts });
        break;
      }
      case 'agent_message':
        this.#announce('assistant_text', asText(event.message), id, at);
        break;
      case 'agent_reasoning':
        this.#announce('thinking', asText(event.text), id, at);
        break;
      case 'token_count':
        if (!this.#hasRecords) this.#addTotal(asObject(event.info), at);
        break;
      case 'task_started':
      case 'turn_started':
        // A turn that starts while calls are open: the previous process died.
        this.#prompts.flush();
        this.#asides.flush();
        if (this.#shared.writer.hasOpenBlocks(this.conversationId)) this.#settle('interrupted', at);
        this.#isOver = true;
        this.#lacksUsage = false;
        break;
      case 'task_complete':
      case 'turn_complete':
        this.#endTurn(event, id, at);
        break;
      case 'turn_aborted':
        this.#prompts.flush();
        this.#asides.flush();
        this.#settle('interrupted', at);
        this.#isOver = true;
        break;
      case 'error':
        this.#asides.addError(id, asText(event.message) ?? '', at);
        break;
      case 'context_compacted':
        this.#asides.addCompaction(id, undefined, at);
        break;
      default:
        this.#asides.addEvent(id, line.kind, event, at);
    }
  }

  #announce(type: 'assistant_text' | 'thinking', content = '', id: string, at: string): void {
    this.#prompts.flush();
    this.#asides.announce({ id, type, content, messageOf: () => this.#message(id, at), at });
  }

  #addItem(item: Json, lineId: string, at: string): void {
    const id = asName(item.id) ?? lineId;
    switch (itemType(item)) {
      case 'user_message':
        this.#prompts.addEvent({ id, timestamp: at, parts: partsOf(item.content) });
        break;
      case 'agent_message':
        this.#prompts.flush();
        this.#asides.addText(id, partsOf(item.content), () => this.#message(id, at), at);
        break;
      case 'reasoning':
        this.#asides.addThought(id, thoughtTexts(item), () => this.#message(id, at), at);
        break;
      case 'web_search':
        this.#calls.addSearch(id, item, this.#message(id, at), at);
        break;
      case 'sub_agent_activity':
        this.#calls.addActivity(id, item, at);
        break;
      case 'context_compaction':
        this.#asides.addCompaction(id, undefined, at);
        break;
      default:
        if (isOfCall(item)) this.#calls.addItem(id, item, at);
        else this.#asides.addItem(id, item, at);
    }
  }

  #endTurn(event: Json, id: string, at: string): void {
    this.#prompts.flush();
    this.#asides.flush();
    const { error } = event;
    const failure = asText(error) ?? asText(asObject(error)?.message) ?? (error ? JSON.stringify(error) : undefined);
    if (failure !== undefined) this.#asides.addError(`error:${asName(event.turn_id) ?? id}`, failure, at);
    this.#settle(failure === undefined ? 'completed' : 'failed', at);
    this.#isOver = true;
    if (this.conversationId === MAIN_CONVERSATION) return;
    const output = asText(event.last_agent_message) ?? failure;
    const status = failure === undefined ? 'completed' : 'failed';
    const durationMs = asMilliseconds(event.duration_ms);
    this.#shared.agents.end(this.#meta?.threadId ?? this.conversationId, { status, output, durationMs }, at);
  }

  #settle(reason: EndReason, at: string): void {
    this.#calls.takeLostResults(at);
    this.#shared.writer.settle(this.conversationId, reason, at);
  }

  /** The response that an item belongs to. */
  #message(itemId: string, at: string): ReturnType<BlockWriter['message']> {
    this.#prompts.flush();
    if (this.#isOver) {
      this.#response = itemId;
      this.#lacksUsage = true;
    }
    this.#isOver = false;
    return this.#shared.writer.message(this.conversationId, { id: this.#response, model: this.#model }, at);
  }

  /** Adds the usage of the response that just ended, once for each response. */
  #addUsage(usage: Usage | undefined, responseId: string | undefined, at: string): void {
    const { writer, responses } = this.#shared;
    const isKnown = responseId !== undefined && responses.has(responseId);
    if (responseId !== undefined) responses.add(responseId);
    if (!isKnown && usage && this.#lacksUsage && writer.isCurrentMessage(this.conversationId, this.#response)) {
      writer.message(this.conversationId, { id: this.#response, model: this.#model, usage }, at);
    }
    this.#isOver = true;
    this.#lacksUsage = false;
  }

  /** Older files repeat the thread's total; it is about a new response only when it grew. */
  #addTotal(info: Json | undefined, at: string): void {
    const total = asObject(info?.total_token_usage);
    if (total === undefined || sameTokens(total, this.#total)) return;
    this.#total = total;
    this.#addUsage(usageOf(info?.last_token_usage), undefined, at);
  }
}
