import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { request } from './ask.ts';
import { Conversation } from './converse.ts';

/** Language models as a provider package would write them, one per version: they store their requests. */
const base = { provider: 'other.chat', modelId: 'm', supportedUrls: {} };
const never = () => Promise.reject(new Error('doGenerate is not used'));

function streamOf<T>(parts: readonly T[]): ReadableStream<T> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

export function v4(
  parts: readonly LanguageModelV4StreamPart[],
  asked: LanguageModelV4CallOptions[] = [],
): LanguageModelV4 {
  const doStream = async (options: LanguageModelV4CallOptions) => {
    asked.push(options);
    return { stream: streamOf(parts) };
  };
  return { ...base, specificationVersion: 'v4', doGenerate: never, doStream };
}

export function v3(
  parts: readonly LanguageModelV3StreamPart[],
  asked: LanguageModelV3CallOptions[] = [],
): LanguageModelV3 {
  const doStream = async (options: LanguageModelV3CallOptions) => {
    asked.push(options);
    return { stream: streamOf(parts) };
  };
  return { ...base, specificationVersion: 'v3', doGenerate: never, doStream };
}

export function v2(
  parts: readonly LanguageModelV2StreamPart[],
  asked: LanguageModelV2CallOptions[] = [],
): LanguageModelV2 {
  const doStream = async (options: LanguageModelV2CallOptions) => {
    asked.push(options);
    return { stream: streamOf(parts) };
  };
  return { ...base, specificationVersion: 'v2', doGenerate: never, doStream };
}

const usage = {
  inputTokens: { total: 9, noCache: 4, cacheRead: 3, cacheWrite: 2 },
  outputTokens: { total: 8, text: 3, reasoning: 5 },
};
export const finish = { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'end_turn' } } as const;
export const said = [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Hello' },
  { type: 'text-end', id: '1' },
] as const;

export const asking = request(1, new Conversation().user('Hi').messages);
