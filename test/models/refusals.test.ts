import { describe, expect, test } from 'vitest';
import { isTooLong, type Refusal } from '../../src/models/refusals.ts';

describe('a refusal because a request is too long is recognised', () => {
  const refusals: readonly (readonly [string, Refusal])[] = [
    ['OpenAI, by its code', { status: 400, code: 'context_length_exceeded', text: 'Bad request' }],
    [
      'OpenAI, chat',
      {
        status: 400,
        text: "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.",
      },
    ],
    ['OpenAI, responses', { status: 400, text: 'Your input exceeds the context window of this model.' }],
    ['OpenAI, in a stream', { text: 'Your input exceeds the context window of this model.' }],
    [
      'OpenAI, more than a minute’s tokens',
      { status: 429, text: 'Request too large for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000' },
    ],
    ['Anthropic', { status: 400, text: 'prompt is too long: 213462 tokens > 200000 maximum' }],
    [
      'Anthropic, with max_tokens',
      { status: 400, text: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000' },
    ],
    ['Anthropic, the body', { status: 413, text: 'Request exceeds the maximum size' }],
    ['any provider, the body', { status: 413, text: '' }],
    [
      'Google',
      {
        status: 400,
        text: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
      },
    ],
    ['Vertex', { status: 400, text: 'The input token count is 40000 but model only supports up to 32768.' }],
    ['Bedrock', { status: 400, text: 'Input is too long for requested model.' }],
    ['Bedrock, without a status', { text: 'ValidationException: Input is too long for requested model.' }],
    [
      'Mistral',
      { status: 400, text: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' },
    ],
    [
      'xAI',
      { status: 400, text: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." },
    ],
    ['Groq', { status: 400, text: 'Please reduce the length of the messages or completion.' }],
    [
      'llama.cpp',
      {
        status: 400,
        text: 'request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it',
      },
    ],
    ['Cohere', { status: 400, text: 'too many tokens: size limit exceeded by 14 tokens' }],
    ['FastAPI', { status: 422, text: 'the prompt is too long' }],
  ];
  test.for(refusals)('%s', ([, refusal]) => expect(isTooLong(refusal)).toBe(true));
});

describe('a refusal for another reason is not recognised as one', () => {
  const refusals: readonly (readonly [string, Refusal])[] = [
    [
      'an id that is too long',
      { status: 400, text: "Invalid 'tool_calls[0].id': string too long. Expected a string with maximum length 40" },
    ],
    ['a parameter', { status: 400, text: 'max_tokens: must be less than 8192' }],
    ['a rate limit', { status: 429, text: 'Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000' }],
    ['a rate limit without a status', { text: 'Too many tokens, please wait before trying again.' }],
    ['a key', { status: 401, text: 'prompt is too long' }],
    ['a model that is not there', { status: 404, text: 'The model with maximum context length 8192 does not exist' }],
    ['a failing provider', { status: 500, text: 'prompt is too long' }],
    ['an echo of the conversation', { status: 422, text: `invalid field ${'x'.repeat(5000)} prompt is too long` }],
    ['nothing said', { status: 400, text: '' }],
  ];
  test.for(refusals)('%s', ([, refusal]) => expect(isTooLong(refusal)).toBe(false));
});
