import type { ProviderData, ReasoningPart } from '../../core/log/messages.ts';
import { API_RULES, type Api, type ApiRules } from '../../formats/api-rules.ts';

/**
 * What must be known about a provider to send it a conversation that another one may have started: the rules of its API, whose
 * reasoning it may see, and where it keeps the signature of a thought.
 */
export interface ProviderRules {
  /** Whose data may be sent back to it: `openai.responses` and `openai.chat` are both `openai`. */
  readonly family: string;
  readonly modelId: string;
  readonly api: ApiRules;
}

/** The rules of a language model's provider. Unknown providers get the least restrictive ones. */
export function rulesOf(provider: string, modelId: string): ProviderRules {
  const [family = provider] = provider.split('.');
  const vendor = modelId.includes('/') ? `/${modelId.split('/')[0]}` : '';
  return { family: family + vendor, modelId, api: API_RULES[apiOf(provider, family, modelId)] };
}

function apiOf(provider: string, family: string, modelId: string): Api {
  if (family === 'anthropic') return 'anthropic';
  if (/anthropic|bedrock/.test(provider) || modelId.includes('claude')) return 'hosted-claude';
  if (family === 'openai' || family === 'azure') return provider.endsWith('.responses') ? 'openai-responses' : 'openai';
  if (family === 'google' || family === 'mistral') return family;
  return provider.endsWith('.chat') ? 'chat' : 'other';
}

/** Whether data that a provider returned may be sent back to this one. */
export function mayHaveBack(data: ProviderData, rules: ProviderRules): boolean {
  return data.provider === rules.family && (data.model === undefined || data.model === rules.modelId);
}

/**
 * The mark of a call that a provider ran itself. Its result is in the AI SDK's form, which an import of the same provider's
 * own messages does not have; so the mark is not the family's name.
 */
export function executorOf(rules: ProviderRules): string {
  return `ai-sdk:${rules.family}`;
}

/** Where a family keeps what `ReasoningPart` has a field for: namespace, then the names of signature and opaque content. */
const REASONING: Readonly<Record<string, { namespace: string; signature?: string; redacted?: string }>> = {
  anthropic: { namespace: 'anthropic', signature: 'signature', redacted: 'redactedData' },
  'amazon-bedrock': { namespace: 'bedrock', signature: 'signature', redacted: 'redactedData' },
  openai: { namespace: 'openai', redacted: 'reasoningEncryptedContent' },
  azure: { namespace: 'azure', redacted: 'reasoningEncryptedContent' },
  google: { namespace: 'google', signature: 'thoughtSignature' },
};

type Metadata = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A recorded thought: the provider's metadata, sorted into the fields of a `ReasoningPart`. */
export function reasoningPart(text: string, metadata: Metadata | undefined, rules: ProviderRules): ReasoningPart {
  const where = REASONING[rules.family];
  const own = where && metadata?.[where.namespace];
  const rest = { ...own };
  const take = (field: string | undefined): string | undefined => {
    const value = field === undefined ? undefined : own?.[field];
    if (field === undefined || typeof value !== 'string') return undefined;
    delete rest[field];
    return value;
  };
  const signature = take(where?.signature);
  const redacted = take(where?.redacted);
  const data = where ? withoutEmpty({ ...metadata, [where.namespace]: rest }) : (metadata ?? {});
  return {
    type: 'reasoning',
    text,
    ...(signature === undefined ? {} : { signature }),
    ...(redacted === undefined ? {} : { redacted }),
    provider: rules.family,
    providerData: { provider: rules.family, model: rules.modelId, data },
  };
}

/** What to send back with a thought, or `undefined` when it is not this provider's, or another model's. */
export function reasoningOptions(part: ReasoningPart, rules: ProviderRules): Metadata | undefined {
  if (part.provider !== rules.family) return undefined;
  if (part.providerData && !mayHaveBack(part.providerData, rules)) return undefined;
  const data = (part.providerData?.data ?? {}) as Metadata;
  const where = REASONING[rules.family];
  if (!where) return data;
  const own: Record<string, unknown> = { ...data[where.namespace] };
  if (where.signature !== undefined && part.signature !== undefined) own[where.signature] = part.signature;
  if (where.redacted !== undefined && part.redacted !== undefined) own[where.redacted] = part.redacted;
  return withoutEmpty({ ...data, [where.namespace]: own });
}

/** Provider metadata without `null` fields and empty namespaces; nothing of it: `undefined`. */
export function tidyMetadata(metadata: unknown): Metadata | undefined {
  if (typeof metadata !== 'object' || metadata === null) return undefined;
  const tidy: Record<string, Record<string, unknown>> = {};
  for (const [namespace, fields] of Object.entries(metadata)) {
    if (typeof fields !== 'object' || fields === null) continue;
    const kept = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
    if (kept.length > 0) tidy[namespace] = Object.fromEntries(kept);
  }
  return Object.keys(tidy).length > 0 ? tidy : undefined;
}

function withoutEmpty(metadata: Metadata): Metadata {
  return tidyMetadata(metadata) ?? {};
}
