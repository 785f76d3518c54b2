import type {
  AssistantMessage,
  ConversationMessage,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '../../src/core/log/messages.ts';

/** Builds conversations for tests: each call appends one message with the right sequence and turn. */
export class Conversation {
  readonly messages: ConversationMessage[] = [];
  readonly #evaluationId: string;
  #turn = 0;

  constructor(evaluationId = 'e1', messages: ConversationMessage[] = []) {
    this.#evaluationId = evaluationId;
    this.messages = messages;
  }

  system(text: string): this {
    return this.#add<SystemMessage>({ role: 'system', content: [{ type: 'text', text }] }, 0);
  }

  user(text: string, content?: UserMessage['content']): this {
    return this.#add<UserMessage>({ role: 'user', content: content ?? [{ type: 'text', text }] }, 0);
  }

  /** A response without calls. */
  says(text: string, content?: AssistantMessage['content']): this {
    return this.#add<AssistantMessage>(
      { role: 'assistant', content: content ?? [{ type: 'text', text }] },
      ++this.#turn,
    );
  }

  /** A response with calls; `ids` name both call and tool unless a call is given in full. */
  asks(...calls: readonly (string | ToolCall)[]): this {
    const toolCalls = calls.map((call) =>
      typeof call === 'string' ? { callId: call, name: `tool_${call}`, arguments: '{}' } : call,
    );
    return this.#add<AssistantMessage>({ role: 'assistant', content: [], toolCalls }, ++this.#turn);
  }

  result(callId: string, text = `result of ${callId}`, isError = false): this {
    const content = text === '' ? [] : [{ type: 'text', text } as const];
    const message = { role: 'tool', toolCallId: callId, toolName: `tool_${callId}`, content, isError } as const;
    return this.#add<ToolMessage>(message, this.#turn);
  }

  /** A response with calls, and their results, in call order. */
  calls(...ids: readonly string[]): this {
    this.asks(...ids);
    for (const id of ids) this.result(id);
    return this;
  }

  #add<M extends ConversationMessage>(
    message: Omit<
      M,
      'id' | 'evaluationId' | 'conversationId' | 'sequence' | 'turn' | 'promptNs' | 'promptKey' | 'createdAt'
    >,
    turn: number,
  ): this {
    const sequence = this.messages.length;
    const at = new Date(Date.UTC(2025, 0, 1) + sequence * 1000).toISOString();
    this.messages.push({
      ...message,
      id: `${this.#evaluationId}-${sequence}`,
      evaluationId: this.#evaluationId,
      conversationId: 'main',
      sequence,
      turn,
      promptNs: 'test',
      promptKey: 'history',
      createdAt: at,
    } as unknown as M);
    return this;
  }
}

/** A short form of a list of messages: `system user ask(a,b) a b says`. */
export function shapeOf(messages: readonly ConversationMessage[]): string {
  return messages
    .map((message) => {
      if (message.role === 'tool') return message.synthetic ? `(${message.toolCallId})` : message.toolCallId;
      if (message.role !== 'assistant') return message.synthetic ? `(${message.role})` : message.role;
      return message.toolCalls?.length ? `ask(${message.toolCalls.map((call) => call.callId).join()})` : 'says';
    })
    .join(' ');
}

/** Splits a list of messages into atomic groups, in the simplest way. */
export function groupsOf(messages: readonly ConversationMessage[]): readonly (readonly ConversationMessage[])[] {
  const groups: ConversationMessage[][] = [];
  for (const message of messages) {
    if (message.role === 'tool' && groups.length > 0) groups.at(-1)?.push(message);
    else groups.push([message]);
  }
  return groups;
}
