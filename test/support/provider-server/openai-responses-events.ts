import { encrypt } from './seals.ts';
import { type Answer, type Body, piecesOf } from './server-turn.ts';

/** A response as its stream of events. Items that are to be stored are added to `stored`, for references to them. */
export function* openAIResponsesEvents(
  answer: Answer,
  context: { readonly body: Body; readonly stored: Set<string> },
): Iterable<string> {
  const { turn, model } = answer;
  const { body, stored } = context;
  const response = { id: `resp_${turn}`, object: 'response', created_at: 1_700_000_000, model };
  let sequence = 0;
  const event = (type: string, fields: object): string =>
    JSON.stringify({ type, sequence_number: sequence++, ...fields });
  let index = 0;
  const keep = (id: string): string => {
    if (body.store !== false) stored.add(id);
    return id;
  };
  yield event('response.created', { response: { ...response, status: 'in_progress' } });
  if (answer.reasoning !== undefined) {
    const id = keep(`rs_${turn}`);
    const included = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content');
    const content = included ? { encrypted_content: encrypt('reasoning', `${model}\n${answer.reasoning}`) } : {};
    yield event('response.output_item.added', { output_index: index, item: { type: 'reasoning', id, summary: [] } });
    yield event('response.reasoning_summary_part.added', { item_id: id, output_index: index, summary_index: 0 });
    for (const delta of piecesOf(answer.reasoning)) {
      yield event('response.reasoning_summary_text.delta', {
        item_id: id,
        output_index: index,
        summary_index: 0,
        delta,
      });
    }
    yield event('response.reasoning_summary_part.done', { item_id: id, output_index: index, summary_index: 0 });
    const summary = [{ type: 'summary_text', text: answer.reasoning }];
    yield event('response.output_item.done', {
      output_index: index++,
      item: { type: 'reasoning', id, summary, ...content },
    });
  }
  if (answer.webSearch) {
    const { query, url } = answer.webSearch;
    const item = { type: 'web_search_call', id: keep(`ws_${turn}`), status: 'in_progress' };
    yield event('response.output_item.added', { output_index: index, item });
    const action = { type: 'search', query, sources: [{ type: 'url', url }] };
    yield event('response.output_item.done', { output_index: index++, item: { ...item, status: 'completed', action } });
  }
  if (answer.text) {
    const item = { type: 'message', id: keep(`msg_${turn}`), role: 'assistant', content: [] };
    yield event('response.output_item.added', { output_index: index, item });
    for (const delta of piecesOf(answer.text)) {
      yield event('response.output_text.delta', { item_id: item.id, output_index: index, content_index: 0, delta });
    }
    if (answer.error) {
      const error = { code: 'server_error', message: 'The server had an error' };
      yield event('response.failed', { response: { ...response, status: 'failed', error } });
      return;
    }
    const content = [{ type: 'output_text', text: answer.text, annotations: [] }];
    yield event('response.output_item.done', {
      output_index: index++,
      item: { ...item, content, status: 'completed' },
    });
  }
  for (const [n, call] of answer.calls.entries()) {
    const item = {
      type: 'function_call',
      id: keep(`fc_${turn}_${n}`),
      call_id: call.id,
      name: call.name,
      arguments: '',
    };
    yield event('response.output_item.added', { output_index: index, item });
    for (const delta of piecesOf(call.arguments)) {
      yield event('response.function_call_arguments.delta', { item_id: item.id, output_index: index, delta });
    }
    const done = { ...item, arguments: call.arguments, status: 'completed' };
    yield event('response.output_item.done', { output_index: index++, item: done });
  }
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = answer.usage;
  const usage = {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
  const incomplete = answer.truncated ? { incomplete_details: { reason: 'max_output_tokens' } } : {};
  yield event(answer.truncated ? 'response.incomplete' : 'response.completed', {
    response: { ...response, ...incomplete, usage },
  });
}
