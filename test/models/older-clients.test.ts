import { createAnthropic as anthropicV2 } from 'ai-sdk-anthropic-v2';
import { createAnthropic as anthropicV3 } from 'ai-sdk-anthropic-v3';
import { createOpenAI as openaiV2 } from 'ai-sdk-openai-v2';
import { createOpenAI as openaiV3 } from 'ai-sdk-openai-v3';
import { expect, test } from 'vitest';
import { textOf } from '../../src/core/log/messages.ts';
import { aiSdkModel } from '../../src/models/ai-sdk.ts';
import { Conversation, TOOLS } from './converse.ts';
import { serve } from './providers.ts';

/** The clients of AI SDK 6 and 5, as published. */
const CLIENTS = {
  'openai v3 responses': (url: string) => openaiV3({ apiKey: 'k', baseURL: `${url}/openai/v1` }).responses('gpt-5'),
  'openai v3 chat': (url: string) => openaiV3({ apiKey: 'k', baseURL: `${url}/openai/v1` }).chat('gpt-4o'),
  'openai v2 responses': (url: string) => openaiV2({ apiKey: 'k', baseURL: `${url}/openai/v1` }).responses('gpt-5'),
  'openai v2 chat': (url: string) => openaiV2({ apiKey: 'k', baseURL: `${url}/openai/v1` }).chat('gpt-4o'),
  'anthropic v3': (url: string) => anthropicV3({ apiKey: 'k', baseURL: `${url}/anthropic/v1` })('claude-sonnet-4-5'),
  'anthropic v2': (url: string) => anthropicV2({ apiKey: 'k', baseURL: `${url}/anthropic/v1` })('claude-sonnet-4-5'),
};

test.for(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])(
  '%s: reasoning, parallel calls and results',
  async (name) => {
    const read = { name: 'read', arguments: { path: 'a' } };
    const server = await serve([
      { reasoning: 'Hm.', text: 'Reading.', toolCalls: [read, read] },
      { reasoning: 'Again.', toolCalls: [read] },
      'Done.',
    ]);
    const chat = new Conversation().system('Be brief.').user('Go');
    const response = await chat.run(aiSdkModel(CLIENTS[name](server.url)), { tools: TOOLS });
    expect(textOf(response)).toBe('Done.');
    expect(response.usage).toMatchObject({ inputTokens: 103, outputTokens: 10 });
    expect(server.refusals).toEqual([]);
  },
);
