/** Requests of every API as one list: what was said, called and returned, in order. */
import { type Body, isRecord } from '../../support/provider-server/server-turn.ts';

export type SentItem =
  | { readonly kind: 'user' | 'assistant'; readonly text: string }
  | { readonly kind: 'image' }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly kind: 'result'; readonly id: string; readonly text: string };

/** A request of the Messages API. */
export function sentMessages(body: Body): readonly SentItem[] {
  return listOf(body.messages).flatMap((message) => {
    const { role, content } = message;
    if (role !== 'user' && role !== 'assistant') return [];
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content);
    return blocks.flatMap((block): readonly SentItem[] => {
      if (block.type === 'text') return [{ kind: role, text: String(block.text) }];
      if (block.type === 'image') return [{ kind: 'image' }];
      if (block.type === 'tool_use') {
        return [{ kind: 'call', id: String(block.id), name: String(block.name), input: block.input }];
      }
      return block.type === 'tool_result' ? resultItems(String(block.tool_use_id), block.content) : [];
    });
  });
}

/** A request of the Responses API. */
export function sentResponses(body: Body): readonly SentItem[] {
  return listOf(body.input).flatMap((item): readonly SentItem[] => {
    if (item.type === 'function_call') {
      const input: unknown = JSON.parse(String(item.arguments));
      return [{ kind: 'call', id: String(item.call_id), name: String(item.name), input }];
    }
    if (item.type === 'function_call_output') return resultItems(String(item.call_id), item.output);
    const { role } = item;
    if (item.type !== 'message' || (role !== 'user' && role !== 'assistant')) return [];
    return listOf(item.content).map((part) =>
      part.type === 'input_image' ? { kind: 'image' } : { kind: role, text: String(part.text) },
    );
  });
}

function resultItems(id: string, content: unknown): readonly SentItem[] {
  if (!Array.isArray(content)) return [{ kind: 'result', id, text: String(content ?? '') }];
  const parts = listOf(content);
  const text = parts.flatMap((part) => (typeof part.text === 'string' ? [part.text] : [])).join('\n');
  const images = parts.filter(({ type }) => type === 'image' || type === 'input_image');
  return [{ kind: 'result', id, text }, ...images.map((): SentItem => ({ kind: 'image' }))];
}

function listOf(value: unknown): readonly Body[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
