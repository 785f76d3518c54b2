import type { ConversationMessage } from '../../src/core/log/messages.ts';
import type { Model, ModelPart, ModelRequest, ModelResponse } from '../../src/ports/model.ts';

/** Requests to a model in tests: a request, its response and its deltas. */

/** A request for one turn. */
export function request(
  turn: number,
  messages: readonly ConversationMessage[] = [],
  more: Partial<ModelRequest> = {},
): ModelRequest {
  return { messages, turn, evaluationId: 'e1', prompt: { ns: 'test', key: 'test' }, ...more };
}

export type Delta = Exclude<ModelPart, { type: 'finish' }>;

/** The deltas and the response; fails when the stream breaks the contract of the port. */
export async function ask(model: Model, asked: ModelRequest): Promise<{ deltas: Delta[]; response: ModelResponse }> {
  const deltas: Delta[] = [];
  let response: ModelResponse | undefined;
  for await (const part of model.stream(asked)) {
    if (response) throw new Error(`${part.type} after the end`);
    if (part.type === 'finish') response = part.response;
    else deltas.push(part);
  }
  if (!response) throw new Error('the stream did not finish');
  return { deltas, response };
}

/** The error of a request, and the deltas before it. */
export async function askInVain(model: Model, asked: ModelRequest): Promise<{ deltas: ModelPart[]; error: unknown }> {
  const deltas: ModelPart[] = [];
  try {
    for await (const part of model.stream(asked)) deltas.push(part);
  } catch (error) {
    return { deltas, error };
  }
  throw new Error('the model answered');
}

/** The text of each block by its id, from deltas. */
export function blocksOf(deltas: readonly Delta[]): Record<string, string> {
  const blocks: Record<string, string> = {};
  for (const { blockId, delta } of deltas) blocks[blockId] = (blocks[blockId] ?? '') + delta;
  return blocks;
}

/** The blocks that a response's deltas must add up to: each id names a position in the response. */
export function blocksIn(response: ModelResponse): Record<string, string> {
  const blocks: Record<string, string> = {};
  for (const [i, part] of response.content.entries()) {
    if ((part.type === 'text' || part.type === 'reasoning') && part.text !== '')
      blocks[`${part.type}:${i}`] = part.text;
  }
  for (const [i, call] of response.toolCalls.entries()) {
    if (call.arguments !== '') blocks[`call:${i}`] = call.arguments;
  }
  return blocks;
}
