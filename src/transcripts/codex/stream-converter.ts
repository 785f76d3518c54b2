/**
 * Converts what `codex exec --json` prints, which is also what the Codex SDK yields. The stream names neither calls, responses nor times:
 * ids count the items of one process and restart with the next one, so a block's id starts with the number of its process.
 */
import type { BlockMessage } from '../../conversation/blocks.ts';
import { MAIN_CONVERSATION } from '../../conversation/events.ts';
import { BlockWriter, type EndReason } from '../block-writer.ts';
import { asList, asName, asObject, asText, type Json } from '../json-access.ts';
import { type StreamConverter, type StreamConverterOptions, streamConverter } from '../stream-converter.ts';
import { CodexAgents, type Shared } from './blocks/agents.ts';
import { AsideWriter } from './blocks/asides.ts';
import { CallWriter } from './blocks/call-writer.ts';
import { isOfCall, itemType } from './items/items.ts';
import { grownTokens, usageOf } from './items/usage.ts';

/** Creates a converter for the events of `codex exec --json`. Several processes of one thread may be pushed one after the other. */
export function codexStreamConverter(options: StreamConverterOptions = {}): StreamConverter {
  const stream = new CodexStream(options.now ?? (() => ''));
  const handle = (message: unknown): void => stream.handle(message);
  return streamConverter({ writer: stream.writer, handle, end: (reason) => stream.end(reason) });
}

class CodexStream {
  readonly writer = new BlockWriter();
  readonly #now: () => string;
  readonly #agents = new CodexAgents(this.writer);
  readonly #shared: Shared = {
    writer: this.writer,
    agents: this.#agents,
    responses: new Set(),
  };
  readonly #calls = new CallWriter(this.#shared, MAIN_CONVERSATION, false);
  readonly #asides = new AsideWriter(this.#shared, MAIN_CONVERSATION, undefined);
  /** The plan that each `todo_list` showed last, and how many plans it has shown. */
  readonly #plans = new Map<string, { readonly text: string; readonly count: number }>();
  #thread: unknown;
  #run = 0;
  #turn = 0;
  #events = 0;
  /** The thread's tokens after its newest turn. */
  #total: Json | undefined;
  /** How the newest turn ended; undefined while one is running. */
  #ended: EndReason | undefined;

  constructor(now: () => string) {
    this.#now = now;
  }

  handle(value: unknown): void {
    const event = asObject(value);
    if (event === undefined) {
      this.writer.diagnostics.problem('malformed-line');
      return;
    }
    this.#events++;
    const type = asText(event.type) ?? '';
    const item = asObject(event.item);
    this.writer.diagnostics.count(item === undefined ? type : `${type}/${asText(item.type) ?? ''}`);
    switch (type) {
      case 'thread.started':
        this.#run++;
        this.#settleLost();
        if (event.thread_id !== this.#thread) this.#total = undefined;
        this.#thread = event.thread_id;
        break;
      case 'turn.started':
        this.#settleLost();
        this.#turn++;
        this.#ended = undefined;
        break;
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        this.#ended = undefined;
        if (item) this.#addItem(item, type === 'item.completed');
        break;
      case 'turn.completed':
        this.#addUsage(asObject(event.usage));
        this.#endTurn('completed');
        break;
      case 'turn.failed': {
        const message = asText(asObject(event.error)?.message) ?? asText(event.error) ?? '';
        this.#asides.addError(`error:${this.#run}:${this.#turn}`, message, this.#now());
        this.#endTurn('failed');
        break;
      }
      case 'error': // Codex retries: the turn continues, or `turn.failed` follows
        this.#asides.addRetry(`event:${this.#events}`, asText(event.message) ?? '', this.#now());
        break;
      default:
        this.#asides.addUnknown(`event:${this.#events}`, type === '' ? 'untyped' : type, event, this.#now());
    }
  }

  /** Ends what is open. Codex stops the subagents that are running when its process ends. */
  end(reason: EndReason = this.#ended ?? 'interrupted'): void {
    this.#agents.endAll(this.#now());
    this.writer.settleAll(reason, this.#now());
  }

  #addItem(item: Json, isCompleted: boolean): void {
    const id = this.#idOf(item);
    const at = this.#now();
    switch (itemType(item)) {
      case 'agent_message':
        if (isCompleted) this.#asides.addText(id, textPart(item), () => this.#message(), at);
        break;
      case 'reasoning':
        if (isCompleted) this.#asides.addThought(id, [asText(item.text) ?? ''], () => this.#message(), at);
        break;
      case 'web_search':
        if (isCompleted) this.#calls.addSearch(id, item, this.#message(), at);
        break;
      case 'todo_list':
        this.#addPlan(id, item, at);
        break;
      case 'error':
        this.#asides.addError(id, asText(item.message) ?? '', at);
        break;
      default:
        if (isOfCall(item)) this.#calls.addStreamed(id, item, isCompleted, this.#message(), at);
        else if (isCompleted) this.#asides.addItem(id, item, at);
    }
  }

  /** Shows each new state of a plan as the call that made it: the stream has one item for all of them. */
  #addPlan(id: string, item: Json, at: string): void {
    const plan = asList(item.items).map((step) => ({
      step: asText(asObject(step)?.text) ?? '',
      status: asObject(step)?.completed === true ? 'completed' : 'pending',
    }));
    const text = JSON.stringify(plan);
    const known = this.#plans.get(id);
    if (known?.text === text) return;
    const count = (known?.count ?? 0) + 1;
    this.#plans.set(id, { text, count });
    this.#calls.addPlan(`${id}#${count}`, plan, this.#message(), at);
  }

  /** An item's id is unique in its process only. The id of a search is the provider's. */
  #idOf(item: Json): string {
    const id = asName(item.id) ?? `event:${this.#events}`;
    return /^item_\d+$/.test(id) ? `${this.#run}:${id}` : id;
  }

  /** All blocks of a turn share a message: the stream reports usage once per turn. */
  #message(): BlockMessage {
    return this.writer.message(MAIN_CONVERSATION, { id: this.#messageId() }, this.#now());
  }

  #messageId(): string {
    return `turn:${this.#run}:${this.#turn}`;
  }

  #addUsage(total: Json | undefined): void {
    if (total === undefined) return;
    const usage = usageOf(grownTokens(total, this.#total));
    this.#total = total;
    const id = this.#messageId();
    if (usage && this.writer.isCurrentMessage(MAIN_CONVERSATION, id)) {
      this.writer.message(MAIN_CONVERSATION, { id, usage }, this.#now());
    }
  }

  #endTurn(reason: EndReason): void {
    this.#calls.takeLostResults(this.#now());
    this.writer.settle(MAIN_CONVERSATION, reason, this.#now());
    this.#ended = reason;
  }

  /** A process that starts while calls are open: the previous one died, and with it its subagents. */
  #settleLost(): void {
    if (this.#ended === undefined && this.writer.hasOpenBlocks(MAIN_CONVERSATION)) {
      this.writer.settle(MAIN_CONVERSATION, 'interrupted', this.#now());
    }
  }
}

function textPart(item: Json): readonly { readonly type: 'text'; readonly text: string }[] {
  return [{ type: 'text', text: asText(item.text) ?? '' }];
}
