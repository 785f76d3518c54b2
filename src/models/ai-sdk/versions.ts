import type {
  LanguageModelV2CallOptions,
  LanguageModelV3CallOptions,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { isRecord } from '../../core/log/message-problem.ts';
import type { Usage } from '../../core/log/usage.ts';
import type { ModelResponse } from '../../ports/model.ts';
import { tidyMetadata } from './provider-rules.ts';

/**
 * The versions of the AI SDK's provider specification: `v4` (AI SDK 7), `v3` (6) and `v2` (5). They differ in how files,
 * usage and finish reasons are written; everything else here speaks `v4`.
 */
export type SpecificationVersion = 'v2' | 'v3' | 'v4';

/** The versions that are understood, newest first. */
export const SPECIFICATION_VERSIONS: readonly SpecificationVersion[] = ['v4', 'v3', 'v2'];

/** Call options of the newest version, as an older one writes them. */
export function optionsFor(
  version: SpecificationVersion,
  options: LanguageModelV4CallOptions,
): LanguageModelV4CallOptions | LanguageModelV3CallOptions | LanguageModelV2CallOptions {
  if (version === 'v4') return options;
  const { reasoning: _, tools, ...rest } = options;
  return {
    ...rest,
    prompt: options.prompt.map((message) => olderMessage(message, version)),
    ...(tools
      ? {
          tools: tools.map((tool) =>
            version === 'v2' && tool.type === 'provider' ? { ...tool, type: 'provider-defined' } : tool,
          ),
        }
      : {}),
  } as LanguageModelV3CallOptions | LanguageModelV2CallOptions;
}

function olderMessage(message: LanguageModelV4Message, version: 'v2' | 'v3'): unknown {
  if (message.role === 'system') return message;
  return {
    ...message,
    content: message.content.map((part) => {
      if (part.type === 'file') return { ...part, data: bytesOf(part.data) };
      if (part.type === 'tool-result') return { ...part, output: olderOutput(part.output, version) };
      return part;
    }),
  };
}

function olderOutput(output: LanguageModelV4ToolResultOutput, version: 'v2' | 'v3'): unknown {
  if (output.type !== 'content') return output;
  return {
    ...output,
    value: output.value.map((part) => {
      if (part.type !== 'file') return part;
      const { mediaType } = part;
      const data = bytesOf(part.data);
      const kind = mediaType.startsWith('image') ? 'image' : 'file';
      if (data instanceof URL) {
        return version === 'v2' ? { type: 'text', text: data.href } : { type: `${kind}-url`, url: data.href };
      }
      return version === 'v2' ? { type: 'media', data, mediaType } : { type: `${kind}-data`, data, mediaType };
    }),
  };
}

type FileData = Extract<Extract<LanguageModelV4Message, { role: 'user' }>['content'][number], { type: 'file' }>['data'];

/** Only data and URLs are ever sent from here. */
function bytesOf(data: FileData): string | Uint8Array | URL {
  if (data.type === 'url') return data.url;
  return data.type === 'data' ? data.data : '';
}

/** A generated file, tagged as in `v4` or bare as before. */
export interface StreamFile {
  readonly type: 'file';
  readonly mediaType: string;
  readonly data: string | Uint8Array | { type: 'data'; data: string | Uint8Array } | { type: 'url'; url: URL };
  readonly providerMetadata?: unknown;
}

/** A generated file's type, and its base64 or URL. */
export function readFile(file: StreamFile): { mediaType: string; data: string } {
  const { mediaType, data } = file;
  if (typeof data === 'object' && 'type' in data) {
    return { mediaType, data: data.type === 'url' ? data.url.href : base64Of(data.data) };
  }
  return { mediaType, data: base64Of(data) };
}

function base64Of(data: string | Uint8Array): string {
  return typeof data === 'string' ? data : Buffer.from(data).toString('base64');
}

/** How a stream ended. */
export interface FinishPart {
  readonly reason: NonNullable<ModelResponse['finishReason']>;
  /** The provider's own name for it. */
  readonly raw?: string;
  /** The stream stopped before the provider reported its end. */
  readonly cut: boolean;
  readonly usage?: Usage;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const REASONS = new Set(['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other']);

/** Reads a finish part of any version. */
export function finishOf(part: { usage: unknown; finishReason: unknown; providerMetadata?: unknown }): FinishPart {
  const { finishReason } = part;
  const { unified, raw } =
    typeof finishReason === 'object' && finishReason !== null
      ? (finishReason as { unified?: unknown; raw?: unknown })
      : { unified: finishReason };
  const usage = usageOf(part.usage);
  const metadata = tidyMetadata(part.providerMetadata);
  // Some providers close a stream that was cut as if it had ended: for no reason, at no cost.
  const unsaid = (unified === 'other' || unified === 'unknown') && raw === undefined && usage === undefined;
  return {
    reason: REASONS.has(unified as string) ? (unified as FinishPart['reason']) : 'other',
    cut: unified === 'interrupted' || unsaid,
    ...(typeof raw === 'string' ? { raw } : {}),
    ...(usage ? { usage } : {}),
    ...(metadata ? { metadata } : {}),
  };
}

/** Usage of any version; `undefined` when the provider gave none. */
function usageOf(usage: unknown): Usage | undefined {
  const { inputTokens: input, outputTokens: output, ...flat } = (usage ?? {}) as Record<string, unknown>;
  const inside = isRecord(input) ? input : { total: input, cacheRead: flat.cachedInputTokens };
  const outside = isRecord(output) ? output : { total: output, reasoning: flat.reasoningTokens };
  if (typeof inside.total !== 'number' && typeof outside.total !== 'number') return undefined;
  return {
    inputTokens: count(inside.total) ?? 0,
    outputTokens: count(outside.total) ?? 0,
    ...optional('cachedInputTokens', inside.cacheRead),
    ...optional('cacheWriteTokens', inside.cacheWrite),
    ...optional('reasoningTokens', outside.reasoning),
  };
}

/** A number of tokens. A negative one, which a provider miscounted, is not known. */
function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function optional<K extends keyof Usage>(field: K, value: unknown): Partial<Record<K, number>> {
  const number = count(value);
  return number === undefined ? {} : ({ [field]: number } as Partial<Record<K, number>>);
}
