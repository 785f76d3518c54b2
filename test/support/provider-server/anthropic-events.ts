import { readArguments } from '../../../src/formats/call-arguments.ts';
import { blocksOf, prefixOf, withoutCache } from './anthropic-check.ts';
import { encrypt, seal } from './seals.ts';
import { type Answer, type Body, piecesOf } from './server-turn.ts';

/** A message as its stream of events; each is sent under its own type. */
export function* anthropicEvents(answer: Answer, body: Body): Iterable<string> {
  const { turn, model, usage } = answer;
  const cached = usage.cachedInputTokens ?? 0;
  const message = {
    id: `msg_${turn}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    usage: { input_tokens: usage.inputTokens - cached, cache_read_input_tokens: cached, output_tokens: 1 },
  };
  yield JSON.stringify({ type: 'message_start', message });
  const said: unknown[] = (body.messages as readonly Body[]).flatMap((earlier) =>
    blocksOf(earlier).map((block) => [earlier.role, withoutCache(block)]),
  );
  let index = 0;
  for (const { start, deltas, block } of blocksFor(answer, body, said)) {
    yield JSON.stringify({ type: 'content_block_start', index, content_block: start });
    for (const delta of deltas) yield JSON.stringify({ type: 'content_block_delta', index, delta });
    if (answer.error && block.type === 'text') {
      yield JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
      return;
    }
    yield JSON.stringify({ type: 'content_block_stop', index });
    said.push(['assistant', block]);
    index++;
  }
  const reason = answer.pause
    ? 'pause_turn'
    : answer.truncated
      ? 'max_tokens'
      : answer.calls.length > 0
        ? 'tool_use'
        : 'end_turn';
  yield JSON.stringify({
    type: 'message_delta',
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: usage.outputTokens },
  });
  yield JSON.stringify({ type: 'message_stop' });
}

interface SentBlock {
  readonly start: Body;
  readonly deltas: readonly Body[];
  /** The block as it must be sent back. */
  readonly block: Body;
}

function* blocksFor(answer: Answer, body: Body, said: readonly unknown[]): Iterable<SentBlock> {
  if (answer.reasoning !== undefined) {
    const signature = seal('thinking', answer.model, prefixOf(body, said), answer.reasoning);
    yield {
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...piecesOf(answer.reasoning).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature },
      ],
      block: { type: 'thinking', thinking: answer.reasoning, signature },
    };
  }
  if (answer.redacted !== undefined) {
    const block = { type: 'redacted_thinking', data: encrypt('redacted', answer.redacted) };
    yield { start: block, deltas: [], block };
  }
  if (answer.webSearch) {
    const { query, url, title } = answer.webSearch;
    const id = `srvtoolu_${answer.turn}`;
    const call = { type: 'server_tool_use', id, name: 'web_search', input: { query } };
    yield {
      start: { ...call, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify({ query }) }],
      block: call,
    };
    const found = {
      type: 'web_search_result',
      url,
      title,
      encrypted_content: encrypt('search', title),
      page_age: null,
    };
    const result = { type: 'web_search_tool_result', tool_use_id: id, content: [found] };
    yield { start: result, deltas: [], block: result };
  }
  if (answer.text) {
    yield {
      start: { type: 'text', text: '' },
      deltas: piecesOf(answer.text).map((text) => ({ type: 'text_delta', text })),
      block: { type: 'text', text: answer.text },
    };
  }
  for (const { id, name, arguments: text } of answer.calls) {
    yield {
      start: { type: 'tool_use', id, name, input: {} },
      deltas: piecesOf(text).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      block: { type: 'tool_use', id, name, input: readArguments(text).input },
    };
  }
}
