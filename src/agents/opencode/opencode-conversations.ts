import type { Usage } from '../../core/log/usage.ts';
import { failure, resultOf } from '../../loop/define/tool-result.ts';
import { type Run, record } from '../../loop/evaluate/run.ts';
import { ConversationRecorder } from '../conversation-recorder.ts';
import { beginSubagent } from '../subagent-run.ts';
import { SUBAGENT_TOOL } from './built-in-tools.ts';
import { OpenCodeResponse } from './opencode-response.ts';
import { failed } from './opencode-session.ts';
import type { OpenCodeEvent, OpenCodeMessage, OpenCodePart } from './opencode-types.ts';

interface Conversation {
  readonly recorder: ConversationRecorder;
  readonly responses: Map<string, OpenCodeResponse>;
  /** The call that started a subagent. */
  readonly callId?: string;
}

interface OpenCodeConversationsOptions {
  readonly sessionId: string;
  /** Messages that were there before this run: a fork copies them. */
  readonly old: ReadonlySet<string>;
  /** Called after a result is recorded. */
  readonly used: () => Promise<void>;
}

/**
 * Records OpenCode's events as they arrive: the session's conversation, and each child session's as a child
 * conversation. OpenCode starts tools while a response is still being streamed, so a response is recorded in pieces (D57).
 */
export class OpenCodeConversations {
  readonly #conversations = new Map<string, Conversation>();
  /** The call that a child session works for now, and whose it is. */
  readonly #children = new Map<string, { readonly parent: Conversation; readonly callId: string }>();
  /** What the call of a part is recorded as, and the newest call of each id: a provider may give an id again (D11). */
  readonly #callIds = new Map<string, string>();
  readonly #newest = new Map<string, string>();
  readonly #waiting = new Map<string, () => void>();
  readonly #options: OpenCodeConversationsOptions;
  /** Events are handled in the order of their arrival. */
  #last: Promise<unknown> = Promise.resolve();
  #busy = false;
  /** OpenCode has responded, or will not. */
  #over = false;
  /** The newest error, unless a response followed it. */
  #problem: unknown;

  constructor(run: Run, options: OpenCodeConversationsOptions) {
    this.#options = options;
    this.#conversations.set(options.sessionId, { recorder: new ConversationRecorder(run), responses: new Map() });
  }

  /**
   * Records OpenCode's events until it is idle. Calls `ask` once the stream is connected: events of an earlier prompt would be lost.
   * `respondTo` gets every event, to respond to requests that wait for a person.
   */
  async follow(
    events: AsyncIterable<OpenCodeEvent>,
    {
      ask,
      respondTo,
    }: { readonly ask: () => Promise<void>; readonly respondTo: (event: OpenCodeEvent) => Promise<void> },
  ): Promise<void> {
    for await (const event of events) {
      await this.take(event);
      if (event.type === 'server.connected') await ask();
      await respondTo(event);
      if (!this.#over) continue;
      if (this.#problem !== undefined) throw failed(JSON.stringify(this.#problem));
      return;
    }
    throw failed('its event stream ended');
  }

  /** Takes in one event. */
  take(event: OpenCodeEvent): Promise<void> {
    return this.#inOrder(() => this.#take(event));
  }

  /** Resolves when the call that is about to run is in the log: with what it is recorded as, and the conversation it belongs to. */
  async recorded(
    sessionId: string,
    callID: string,
  ): Promise<{ readonly callId: string; readonly conversation: ConversationRecorder }> {
    const key = `${sessionId}/${callID}`;
    for (;;) {
      const callId = this.#newest.get(key);
      const conversation = this.#conversations.get(sessionId)?.recorder;
      if (callId !== undefined && conversation?.hasCall(callId) && !conversation.hasResult(callId))
        return { callId, conversation };
      await new Promise<void>((resolve) => this.#waiting.set(key, resolve));
    }
  }

  /** Whether a session's conversation is recorded: the one that was asked, or a subagent's while its call runs. */
  isOurs(sessionId: string): boolean {
    return this.#conversations.has(sessionId) || this.#children.has(sessionId);
  }

  /** Resolves when OpenCode has reported the call of a subagent's session. */
  async known(sessionId: string): Promise<void> {
    while (!this.isOurs(sessionId)) await new Promise<void>((resolve) => this.#waiting.set(sessionId, resolve));
  }

  /** Resolves when the event of a response has arrived: the events before it are in the log. */
  async messageArrived(sessionId: string, messageId: string): Promise<void> {
    const hasArrived = (): boolean =>
      this.#options.old.has(messageId) ||
      this.#conversations.get(sessionId)?.responses.get(messageId)?.info !== undefined;
    while (!hasArrived()) await new Promise<void>((resolve) => this.#waiting.set(messageId, resolve));
  }

  /** The recorders of all conversations that are running. */
  get recorders(): readonly ConversationRecorder[] {
    return [...this.#conversations.values()].map(({ recorder }) => recorder);
  }

  /** The agent has ended: interrupts responses that are being streamed. */
  interrupt(reason?: unknown): Promise<void> {
    return this.#inOrder(async () => {
      for (const { recorder } of this.#conversations.values()) await recorder.interrupt(reason);
    });
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {}); // its own caller gets the error
    return mine;
  }

  async #take({ type, properties }: OpenCodeEvent): Promise<void> {
    const { info, part, sessionID } = properties;
    if (sessionID === this.#options.sessionId) this.#progress(type, properties);
    if (type === 'session.status' && properties.status?.type === 'idle') await this.#finishAll(sessionID);
    else if (type === 'message.part.updated' && part) await this.#part(part);
    else if (type === 'message.part.delta') await this.#delta(properties);
    else if (type === 'message.updated' && info?.role === 'assistant') await this.#message(info);
  }

  async #part(part: OpenCodePart): Promise<void> {
    const conversation = await this.#conversation(part.sessionID);
    if (!conversation || this.#options.old.has(part.messageID)) return;
    const response = responseOf(conversation, part.messageID);
    response.take(part);
    if (response.over) await this.#flush(conversation, response, part.messageID); // it was not all
    if (part.type !== 'tool' || part.callID === undefined || part.state === undefined) return;
    const { status, output, error, metadata } = part.state;
    if (status === 'pending') return;
    const callId = this.#callIdOf(conversation, part);
    await this.#flush(conversation, response, part.messageID);
    const childId = part.tool === SUBAGENT_TOOL ? metadata?.sessionId : undefined;
    if (status !== 'completed' && status !== 'error') {
      if (typeof childId === 'string') {
        this.#children.set(childId, { parent: conversation, callId });
        this.#waiting.get(childId)?.();
      }
      return;
    }
    const outcome = status === 'completed' ? resultOf(output ?? '', part.tool ?? '') : failure(error ?? 'failed');
    if (await conversation.recorder.recordResult(callId, outcome)) await this.#options.used();
    await this.#endChild(callId);
  }

  /** A subagent has ended with its call. Its session may be asked again, by another call. */
  async #endChild(callId: string): Promise<void> {
    const [sessionId, child] =
      [...this.#conversations].find(([, conversation]) => conversation.callId === callId) ?? [];
    if (sessionId === undefined || !child) return;
    await this.#finishAll(sessionId);
    this.#conversations.delete(sessionId);
    this.#children.delete(sessionId);
    const { run } = child.recorder;
    await record(run, [{ type: 'evaluation/completed', evaluationId: run.evaluationId }]);
    child.recorder.ended();
  }

  #callIdOf(conversation: Conversation, { id, sessionID, callID = '' }: OpenCodePart): string {
    const known = this.#callIds.get(id);
    if (known !== undefined) return known;
    let callId = callID;
    for (let n = 2; conversation.recorder.knowsCall(callId); n++) callId = `${callID}#${n}`;
    this.#callIds.set(id, callId);
    this.#newest.set(`${sessionID}/${callID}`, callId);
    return callId;
  }

  /** How far OpenCode is with what it was asked. */
  #progress(type: string, { status, error }: OpenCodeEvent['properties']): void {
    if (type === 'session.error') {
      this.#problem = error ?? 'it failed';
      this.#over = !this.#busy; // it did not even begin
    } else if (type === 'session.status') {
      if (status?.type === 'busy') this.#busy = true;
      if (status?.type === 'idle' && this.#busy) this.#over = true;
    }
  }

  /** Handles a delta of a text. */
  async #delta(properties: OpenCodeEvent['properties']): Promise<void> {
    const { sessionID = '', messageID = '', partID = '', field, delta } = properties;
    const conversation = await this.#conversation(sessionID);
    if (!conversation || field !== 'text' || delta === undefined) return;
    const part = conversation.responses.get(messageID)?.addDelta(partID, delta);
    // What follows a recorded piece is shown when it is recorded.
    if (!part || conversation.recorder.hasResponse(messageID)) return;
    const type = part.type === 'reasoning' ? 'reasoning-delta' : 'text-delta';
    conversation.recorder.recordDelta({ type, blockId: partID, delta });
  }

  async #message(info: OpenCodeMessage): Promise<void> {
    const conversation = await this.#conversation(info.sessionID);
    if (!conversation || info.role !== 'assistant' || this.#options.old.has(info.id)) return;
    const response = responseOf(conversation, info.id);
    response.info = info;
    this.#waiting.get(info.id)?.();
    if (info.time.completed === undefined) return;
    if (info.sessionID === this.#options.sessionId) this.#problem = info.error;
    if (response.isComplete) await this.#finish(conversation, response, info.id);
  }

  /** A session is idle: its responses are complete. */
  async #finishAll(sessionId = ''): Promise<void> {
    const conversation = this.#conversations.get(sessionId);
    if (!conversation) return;
    for (const [messageId, response] of conversation.responses)
      if (response.info) await this.#finish(conversation, response, messageId);
  }

  /** Records all of a response, and its usage. */
  async #finish(conversation: Conversation, response: OpenCodeResponse, messageId: string): Promise<void> {
    if (response.over) return;
    response.over = true;
    await this.#flush(conversation, response, messageId, response.usage);
  }

  /** Records the new parts of a response. */
  async #flush(
    conversation: Conversation,
    response: OpenCodeResponse,
    messageId: string,
    usage?: Usage,
  ): Promise<void> {
    const made: OpenCodePart[] = [];
    const news = response.takeNews((part) => {
      made.push(part);
      return this.#callIdOf(conversation, part);
    });
    const model = response.info?.modelID;
    await conversation.recorder.recordResponse({ providerMessageId: messageId, ...news, usage, model });
    for (const { sessionID, callID } of made) this.#waiting.get(`${sessionID}/${callID}`)?.();
  }

  /** The conversation of a session; a child session's begins with its first message. */
  async #conversation(sessionId: string): Promise<Conversation | undefined> {
    const known = this.#conversations.get(sessionId);
    if (known) return known;
    const { parent, callId } = this.#children.get(sessionId) ?? {};
    if (!parent || callId === undefined) return undefined;
    const run = await beginSubagent(parent.recorder.run, callId, { ns: 'opencode', type: SUBAGENT_TOOL });
    const conversation: Conversation = { recorder: new ConversationRecorder(run), responses: new Map(), callId };
    this.#conversations.set(sessionId, conversation);
    return conversation;
  }
}

function responseOf(conversation: Conversation, messageId: string): OpenCodeResponse {
  let response = conversation.responses.get(messageId);
  if (!response) {
    response = new OpenCodeResponse();
    conversation.responses.set(messageId, response);
  }
  return response;
}
