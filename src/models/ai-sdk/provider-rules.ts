import type { ProviderData, ReasoningPart } from '../../core/messages.ts';
import { type CallIdRule, NINE_CHARACTERS, SHORT_IDS, safeIds } from '../call-ids.ts';

/**
 * What must be known about a provider to send it a conversation that another one may have begun: whose reasoning it may
 * see, which ids it takes, and where it keeps the signature of a thought.
 */
export interface ProviderRules {
  /** Whose things may be given back to it: `openai.responses` and `openai.chat` are both `openai`. */
  readonly family: string;
  readonly modelId: string;
  readonly callIds: CallIdRule;
  /** What a tool's name may not have in it: a model may have invented one. */
  readonly notInNames: RegExp;
  /** Whether a tool result may hold an image; if not, it follows the results as a message of its own. */
  readonly mediaInResults: boolean;
  /** Refuses a conversation that does not begin with a user's message: instructions alone are none. */
  readonly wantsUserFirst: boolean;
  /** Refuses a history with calls in it when the request offers no tools. */
  readonly wantsTools: boolean;
}

/** The rules of a language model's provider. Unknown providers get the least restrictive ones. */
export function rulesOf(provider: string, modelId: string): ProviderRules {
  const [family = provider] = provider.split('.');
  const vendor = modelId.includes('/') ? `/${modelId.split('/')[0]}` : '';
  const claude = /anthropic|bedrock/.test(provider) || modelId.includes('claude');
  const openai = family === 'openai' || family === 'azure';
  const strict = {
    notInNames: /[^a-zA-Z0-9_-]/g,
    wantsUserFirst: claude,
    wantsTools: claude,
    mediaInResults: claude || provider.endsWith('.responses'),
  };
  if (claude) return { family: family + vendor, modelId, callIds: safeIds(64), ...strict };
  if (openai) return { family: family + vendor, modelId, callIds: safeIds(40), ...strict };
  return {
    family: family + vendor,
    modelId,
    callIds: family === 'mistral' ? NINE_CHARACTERS : SHORT_IDS,
    notInNames: /[^a-zA-Z0-9_.:-]/g,
    wantsUserFirst: family === 'google' || family === 'mistral',
    wantsTools: false,
    mediaInResults: !provider.endsWith('.chat') || family === 'google',
  };
}

/** Whether data that a provider gave may be given back. */
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

/** A recorded thought: what the provider said about it, sorted into the fields of a `ReasoningPart`. */
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

/** What to give back with a thought, or `undefined` when it is not this provider's, or another model's. */
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
