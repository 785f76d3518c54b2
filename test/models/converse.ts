import type { ConversationMessage, MediaPart, TextPart } from '../../src/core/log/messages.ts';
import { callsOf } from '../../src/core/log/messages.ts';
import type { Model, ModelRequest, ModelResponse } from '../../src/ports/model.ts';
import { ask, request } from './ask.ts';

/** A minimal loop that shows what a model is sent turn after turn. */

type Said = string | readonly (TextPart | MediaPart)[];

const parts = (said: Said): readonly (TextPart | MediaPart)[] =>
  typeof said === 'string' ? [{ type: 'text', text: said }] : said;

/** Messages with the fields that a log adds. */
export class Conversation {
  readonly messages: ConversationMessage[] = [];
  #turn = 0;

  system(text: string): this {
    return this.push({ role: 'system', content: [{ type: 'text', text }] }, 0);
  }

  user(said: Said): this {
    return this.push({ role: 'user', content: parts(said) }, 0);
  }

  assistant(response: Pick<ModelResponse, 'content' | 'toolCalls'>): this {
    const { content, toolCalls } = response;
    return this.push({ role: 'assistant', content, ...(toolCalls.length > 0 ? { toolCalls } : {}) }, ++this.#turn);
  }

  result(toolCallId: string, toolName: string, said: Said, isError = false): this {
    return this.push({ role: 'tool', toolCallId, toolName, content: parts(said), isError }, this.#turn);
  }

  get turn(): number {
    return this.#turn;
  }

  /** Sends a request, records the response, runs the calls, and repeats until there are none; returns the last response. */
  async run(model: Model, options: RunOptions = {}): Promise<ModelResponse> {
    const { tool = () => 'done', ...more } = options;
    while (true) {
      const { response } = await ask(model, request(this.#turn + 1, this.messages, more));
      this.assistant(response);
      const calls = callsOf(this.messages.at(-1) as ConversationMessage);
      if (calls.length === 0) return response;
      for (const call of calls) {
        const said = tool(call.name, call.arguments);
        if (said instanceof Error) this.result(call.callId, call.name, said.message, true);
        else this.result(call.callId, call.name, said);
      }
    }
  }

  push(message: object, turn: number): this {
    const sequence = this.messages.length;
    this.messages.push({
      id: `m${sequence}`,
      evaluationId: 'e1',
      conversationId: 'main',
      sequence,
      turn,
      promptNs: 'test',
      promptKey: 'test',
      createdAt: '2026-01-01T00:00:00.000Z',
      ...message,
    } as ConversationMessage);
    return this;
  }
}

export interface RunOptions extends Pick<Partial<ModelRequest>, 'tools' | 'output' | 'signal'> {
  /** Runs a call: returns its result, or an error. */
  readonly tool?: (name: string, args: string) => Said | Error;
}

/** Tools that scripts in tests call. */
export const TOOLS: NonNullable<ModelRequest['tools']> = ['read', 'write'].map((name) => ({
  name,
  description: `${name} a file`,
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path'],
    additionalProperties: false,
  },
}));
