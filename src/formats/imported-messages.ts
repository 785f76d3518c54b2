import { HoldfastError } from '../core/errors.ts';
import type { Without } from '../core/log/events.ts';
import type {
  AssistantMessage,
  ConversationMessage,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '../core/log/messages.ts';

/** The fields of imported messages that only our log has. */
export interface MessageImportOptions {
  readonly evaluationId?: string;
  readonly conversationId?: string;
  readonly promptNs?: string;
  readonly promptKey?: string;
  readonly createdAt?: string;
}

type ReadMessage = Without<
  SystemMessage | UserMessage | AssistantMessage | ToolMessage,
  'id' | 'evaluationId' | 'conversationId' | 'sequence' | 'turn' | 'promptNs' | 'promptKey' | 'createdAt'
> & { readonly id?: string; readonly createdAt?: string };

/** Gives messages their place: ids, sequence and turns as the loop would have counted them. */
export class ImportedMessages {
  readonly messages: ConversationMessage[] = [];
  readonly #options: Required<MessageImportOptions>;
  /** The calls of the newest assistant message: results of other formats leave the name out. */
  #calls: readonly ToolCall[] = [];
  #turn = 0;

  constructor(options: MessageImportOptions = {}) {
    this.#options = {
      evaluationId: 'imported',
      conversationId: 'main',
      promptNs: 'imported',
      promptKey: 'imported',
      createdAt: '1970-01-01T00:00:00.000Z',
      ...options,
    };
  }

  push(message: ReadMessage): void {
    if (message.role === 'assistant') {
      this.#turn++;
      this.#calls = message.toolCalls ?? [];
    }
    const sequence = this.messages.length;
    const turn = message.role === 'assistant' || message.role === 'tool' ? this.#turn : 0;
    this.messages.push({
      id: `${this.#options.evaluationId}:${sequence}`,
      ...this.#options,
      sequence,
      turn,
      ...message,
    } as ConversationMessage);
  }

  /** The tool that a result's call named. */
  nameOf(callId: string): string {
    return this.#calls.findLast((call) => call.callId === callId)?.name ?? 'unknown';
  }
}

/** Throws for a message that is not of the format that the caller named. */
export function refuseMessage(format: string, index: number, why: string): never {
  throw new HoldfastError('INVALID_ARGUMENT', `messages[${index}] is no ${format} message: ${why}`);
}
