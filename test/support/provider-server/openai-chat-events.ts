import { type Answer, piecesOf } from './server-turn.ts';

/** A chat completion as its stream of chunks, the last one `[DONE]`. */
export function* openAIChatEvents(answer: Answer, options: { readonly compatible: boolean }): Iterable<string> {
  const base = {
    id: `chatcmpl-${answer.turn}`,
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: answer.model,
  };
  const chunk = (delta: object, finish: string | null = null): string =>
    JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] });
  yield chunk({ role: 'assistant', content: '' });
  if (options.compatible) {
    for (const piece of piecesOf(answer.reasoning ?? '')) yield chunk({ reasoning_content: piece });
  }
  for (const piece of piecesOf(answer.text ?? '')) yield chunk({ content: piece });
  if (answer.error) {
    yield JSON.stringify({
      error: { message: 'The server had an error', type: 'server_error', code: answer.error.status },
    });
    return;
  }
  for (const [index, call] of answer.calls.entries()) {
    yield chunk({
      tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
    });
    for (const piece of piecesOf(call.arguments)) {
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  yield chunk({}, answer.truncated ? 'length' : answer.calls.length > 0 ? 'tool_calls' : 'stop');
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = answer.usage;
  yield JSON.stringify({
    ...base,
    choices: [],
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      prompt_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
      completion_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    },
  });
  yield '[DONE]';
}
