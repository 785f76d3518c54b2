import type { Usage } from '../../core/log/usage.ts';
import { type Run, record } from '../../loop/evaluate/run.ts';
import type { Block } from '../../loop/request/stream-response.ts';
import { ConversationRecorder } from '../conversation-recorder.ts';
import { beginSubagent } from '../subagent-run.ts';
import { recordedName } from './built-in-tools.ts';
import { blocksOf, OUTPUT_TOOL, readResponse, readResult, readUsage } from './claude-blocks.ts';
import type { ClaudeBlock, ClaudeMessage } from './sdk-types.ts';

/**
 * Records the SDK's stream as it arrives: the agent's own conversation, and each subagent's as a child conversation of
 * the call that started it.
 *
 * The SDK sends a response block by block. A response is recorded once it is whole, which the main conversation's stream shows. No
 * event shows it for a subagent's response, nor for one that was repeated without a stream: those are recorded in pieces, when a call
 * of them wants to run (D57).
 */
export class ClaudeConversations {
  readonly #run: Run;
  readonly #main: Conversation;
  readonly #subagents = new Map<string, Conversation>();
  /** Calls that wait for their response to be recorded. */
  readonly #waiting = new Map<string, { readonly promise: Promise<void>; readonly resolve: () => void }>();
  /** Calls of the output tool: recorded as responses, not as calls. */
  readonly #outputCalls = new Set<string>();

  constructor(run: Run) {
    this.#run = run;
    this.#main = new Conversation(run);
  }

  /** Records one message of the stream. Resolves when it is durable, with whether it held a new tool result. */
  async take(message: ClaudeMessage): Promise<boolean> {
    if (message.type === 'user') return this.#user(message);
    if (message.type === 'assistant') await this.#assistant(message);
    else if (message.type === 'result') await this.flush();
    else if (message.type === 'stream_event' && !message.parent_tool_use_id)
      await this.#event(message.event as StreamEvent);
    return false;
  }

  /** Resolves when the response that makes this call is in the log. */
  async recorded(callId: string): Promise<void> {
    if (this.#outputCalls.has(callId) || this.conversationOf(callId)) return;
    const conversation = this.#conversations().find((one) => !one.isStreamed && one.buffered(callId));
    if (conversation) return this.#flush(conversation);
    let waiting = this.#waiting.get(callId);
    if (!waiting) {
      waiting = Promise.withResolvers<void>();
      this.#waiting.set(callId, waiting);
    }
    return waiting.promise;
  }

  /** The conversation that a recorded call belongs to. */
  conversationOf(callId: string): ConversationRecorder | undefined {
    return this.#conversations().find(({ recorder }) => recorder.hasCall(callId))?.recorder;
  }

  /** The agent's own conversation. */
  get main(): ConversationRecorder {
    return this.#main.recorder;
  }

  /** The recorders of all conversations that are running. */
  get recorders(): readonly ConversationRecorder[] {
    return this.#conversations().map(({ recorder }) => recorder);
  }

  /** Records what is still held back. */
  async flush(): Promise<void> {
    for (const conversation of this.#conversations()) await this.#flush(conversation);
  }

  /** The agent has ended: interrupts responses that are being streamed. */
  async interrupt(reason?: unknown): Promise<void> {
    for (const { recorder } of this.#conversations()) await recorder.interrupt(reason);
  }

  #conversations(): readonly Conversation[] {
    return [this.#main, ...this.#subagents.values()];
  }

  async #event(event: StreamEvent): Promise<void> {
    const conversation = this.#main;
    if (event.type === 'message_start') {
      await this.#flush(conversation);
      await conversation.recorder.interrupt(); // a response that was cut off is repeated
      conversation.begin(event.message);
    } else if (event.type === 'content_block_start') conversation.startBlock(event);
    else if (event.type === 'content_block_delta') conversation.addDelta(event);
    else if (event.type === 'message_delta') conversation.addUsage(event.usage);
    else if (event.type === 'message_stop') {
      await this.#flush(conversation);
      conversation.end();
    }
  }

  async #assistant(message: ClaudeMessage): Promise<void> {
    const response = message.message as ResponseMessage;
    if (response.model === '<synthetic>') return; // written by the program, not by the model
    const conversation = await this.#conversation(message);
    if (conversation.responseId !== response.id) await this.#flush(conversation);
    const blocks = blocksOf(response);
    for (const block of blocks) if (block.name === OUTPUT_TOOL) this.#outputCalls.add(String(block.id));
    conversation.add({ ...response, at: timeOf(message) }, blocks);
    const wanted = blocks.some((block) => block.type === 'tool_use' && this.#waiting.has(String(block.id)));
    if (wanted && !conversation.isStreamed) await this.#flush(conversation);
  }

  async #user(message: ClaudeMessage): Promise<boolean> {
    if (message.isReplay === true) return false;
    let fresh = false;
    const conversation = await this.#conversation(message);
    await this.#flush(conversation);
    const { recorder } = conversation;
    for (const block of blocksOf(message.message)) {
      if (block.type === 'tool_result') fresh = (await this.#result(recorder, block, timeOf(message))) || fresh;
      else if (block.type === 'text' && conversation !== this.#main)
        await recorder.recordUser([{ type: 'text', text: String(block.text) }], timeOf(message));
    }
    return fresh;
  }

  async #result(recorder: ConversationRecorder, block: ClaudeBlock, at: string | undefined): Promise<boolean> {
    const callId = String(block.tool_use_id);
    const outcome = readResult(block);
    if (this.#outputCalls.has(callId)) {
      if (outcome.isError) await recorder.recordUser(outcome.content); // the output was rejected: the model receives the reason and repeats it
      return false;
    }
    const fresh = await recorder.recordResult(callId, outcome, { at });
    const subagent = this.#subagents.get(callId);
    if (!subagent) return fresh;
    await this.#flush(subagent);
    this.#subagents.delete(callId);
    await record(this.#run, [{ type: 'evaluation/completed', evaluationId: subagent.recorder.run.evaluationId }]);
    subagent.recorder.ended();
    return fresh;
  }

  /** Resolves when everything of this conversation is in the log, also what another caller is writing just now. */
  async #flush(conversation: Conversation): Promise<void> {
    const response = conversation.takeResponse();
    if (!response) return conversation.writing;
    conversation.writing = conversation.recorder.recordResponse(response);
    await conversation.writing;
    for (const [callId, { resolve }] of this.#waiting) {
      if (!conversation.recorder.hasCall(callId) && !this.#outputCalls.has(callId)) continue;
      this.#waiting.delete(callId);
      resolve();
    }
  }

  /** The conversation that a message belongs to; a subagent's first message begins its own. */
  async #conversation(message: ClaudeMessage): Promise<Conversation> {
    const { parent_tool_use_id: parent } = message;
    if (typeof parent !== 'string') return this.#main;
    const known = this.#subagents.get(parent);
    if (known) return known;
    await this.flush();
    const run = await beginSubagent(this.conversationOf(parent)?.run ?? this.#run, parent, {
      ns: 'claude-agent',
      type: String(message.subagent_type ?? 'agent'),
    });
    const conversation = new Conversation(run);
    this.#subagents.set(parent, conversation);
    return conversation;
  }
}

function timeOf(message: ClaudeMessage): string | undefined {
  return typeof message.timestamp === 'string' ? message.timestamp : undefined;
}

interface StreamEvent {
  readonly type: string;
  readonly index?: number;
  readonly message?: { readonly id?: string; readonly usage?: unknown };
  readonly usage?: unknown;
  readonly content_block?: ClaudeBlock;
  readonly delta?: { readonly text?: string; readonly thinking?: string; readonly partial_json?: string };
}

/** A response of the SDK's, as far as it is the same for all its pieces. */
interface ResponseMessage {
  readonly id: string;
  readonly model?: string;
  readonly usage?: unknown;
  readonly at?: string | undefined;
}

/** One conversation while it is streamed: the response so far, not yet recorded. */
class Conversation {
  readonly recorder: ConversationRecorder;
  /** The write that was begun last. */
  writing: Promise<void> = Promise.resolve();
  #message: ResponseMessage | undefined;
  /** The id of the response that is being streamed, and its usage so far. */
  #streaming: string | undefined;
  #streamed: Usage | undefined;
  #blocks: ClaudeBlock[] = [];
  readonly #open = new Map<number, Block>();

  constructor(run: Run) {
    this.recorder = new ConversationRecorder(run);
  }

  get responseId(): string | undefined {
    return this.#message?.id;
  }

  buffered(callId: string): boolean {
    return this.#blocks.some((block) => block.type === 'tool_use' && block.id === callId);
  }

  /** Whether a stream will show when the response is whole. */
  get isStreamed(): boolean {
    return this.#message !== undefined && this.#message.id === this.#streaming;
  }

  begin(message: StreamEvent['message']): void {
    this.#streaming = message?.id;
    this.#streamed = readUsage(message?.usage);
    this.#open.clear();
  }

  end(): void {
    this.#streaming = undefined;
  }

  addUsage(usage: unknown): void {
    const { outputTokens } = readUsage(usage) ?? {};
    if (outputTokens !== undefined && this.#streamed) this.#streamed = { ...this.#streamed, outputTokens };
  }

  add(message: ResponseMessage, blocks: readonly ClaudeBlock[]): void {
    this.#message = message;
    if (!this.isStreamed) this.#streamed = undefined; // that stream broke off
    this.#blocks.push(...blocks);
  }

  /** The response so far. Its usage goes with the first piece. */
  takeResponse(): Parameters<ConversationRecorder['recordResponse']>[0] | undefined {
    if (!this.#message || this.#blocks.length === 0) return undefined;
    const { id, model, at, usage } = this.#message;
    const isFirst = !this.recorder.hasResponse(id);
    const response = {
      ...{ providerMessageId: id, model, at, ...readResponse(this.#blocks) },
      usage: isFirst ? (this.#streamed ?? readUsage(usage)) : undefined,
    };
    this.#blocks = [];
    this.#streamed = undefined;
    return response;
  }

  startBlock({ index = 0, content_block: block }: StreamEvent): void {
    const opened = block && blockOf(block, index);
    if (opened) this.#open.set(index, opened);
  }

  addDelta({ index = 0, delta }: StreamEvent): void {
    const block = this.#open.get(index);
    const text = delta?.text ?? delta?.thinking ?? delta?.partial_json;
    if (block && text) this.recorder.recordDelta({ ...block, delta: text });
  }
}

/** What the pieces of a block have in common. A call's block is named by the call's id (D46). */
function blockOf({ type, id, name }: ClaudeBlock, index: number): Block | undefined {
  if (type === 'text') return { type: 'text-delta', blockId: `${index}` };
  if (type === 'thinking') return { type: 'reasoning-delta', blockId: `${index}` };
  if (type !== 'tool_use') return undefined;
  return { type: 'tool-input-delta', blockId: String(id), toolName: recordedName(String(name)) };
}
