import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { onTestFinished } from 'vitest';
import { type AiSdkModelOptions, aiSdkModel } from '../../src/models/ai-sdk.ts';
import type { Model } from '../../src/ports/model.ts';
import type { ServerScript } from '../support/provider-server/server-turn.ts';
import {
  type ProviderServer,
  type ProviderServerOptions,
  startProviderServer,
} from '../support/provider-server/start-provider-server.ts';

/** The real clients, connected to the local provider. */
export const PROVIDERS = ['openai.responses', 'openai.chat', 'anthropic', 'compatible'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** The AI SDK's own model object of a provider. */
export function languageModel(provider: Provider, url: string, modelId?: string) {
  const apiKey = 'key';
  switch (provider) {
    case 'openai.responses':
      return createOpenAI({ apiKey, baseURL: `${url}/openai/v1` }).responses(modelId ?? 'gpt-5');
    case 'openai.chat':
      return createOpenAI({ apiKey, baseURL: `${url}/openai/v1` }).chat(modelId ?? 'gpt-4o');
    case 'anthropic':
      return createAnthropic({ apiKey, baseURL: `${url}/anthropic/v1` })(modelId ?? 'claude-sonnet-4-5');
    case 'compatible':
      return createOpenAICompatible({ name: 'local', apiKey, baseURL: `${url}/compatible/v1`, includeUsage: true })(
        modelId ?? 'local-model',
      );
  }
}

/** A provider's model, as we use it. */
export function modelOf(
  provider: Provider,
  url: string,
  options: AiSdkModelOptions & { modelId?: string } = {},
): Model {
  const { modelId, ...rest } = options;
  return aiSdkModel(languageModel(provider, url, modelId), rest);
}

/** A server for one test. */
export async function serve(
  script: ServerScript,
  options: Omit<ProviderServerOptions, 'script'> = {},
): Promise<ProviderServer> {
  const server = await startProviderServer({ script, ...options });
  onTestFinished(() => server.close());
  return server;
}
