import type { ConversationMessage } from '../../core/log/messages.ts';
import { asStage } from '../managers/compose.ts';
import { run, type Stage, sequence } from '../managers/stage.ts';
import { compareRequests, isSameMessage, type RequestComparison } from './compare-requests.ts';
import type { RebuiltRequest } from './rebuild-requests.ts';

/** Why a provider's prompt cache could not be used for a request. */

/**
 * Why, in the order in which the causes are considered: the model or the prompt changed, a history manager or something else changed the
 * beginning of the request, or the beginning is the same and the provider read nothing from its cache all the same.
 */
export type CacheCause =
  /** There was no request before. */
  | 'first'
  /** The request starts with the one before, and the provider read from its cache. */
  | 'hit'
  /** Another model responded. */
  | 'model'
  /** The instructions or their parameters changed. */
  | 'instructions'
  /** The instructions are the same and the prompt is another: its tools changed. */
  | 'tools'
  /** A history manager changed the beginning: `manager` names it. */
  | 'history'
  /** A message was erased. */
  | 'erasure'
  /** The record changed what is sent without a manager: a call was closed, or its result was put in its place. */
  | 'repair'
  /** The same beginning, sent after the provider's cache had expired. */
  | 'idle'
  /** The same beginning, shorter than what providers cache. */
  | 'short'
  /** The same beginning; the provider reports nothing about its cache. */
  | 'unreported'
  /** The same beginning, sent in time; the provider read nothing from its cache. */
  | 'provider'
  /** The request, or the one before, cannot be built again. */
  | 'unknown';

/** The prompt of an evaluation. */
export interface RequestPrompt {
  readonly promptHash: string;
  readonly paramsHash?: string | undefined;
}

/** A request, the one before it, and what is known about their provider. */
export interface ExplainCacheOptions {
  readonly before?: RebuiltRequest | undefined;
  readonly now: RebuiltRequest;
  /** The prompts of both. */
  readonly prompts?: { readonly before: RequestPrompt; readonly now: RequestPrompt } | undefined;
  /** How long the provider keeps a cached beginning, in milliseconds; 5 minutes. */
  readonly lifetimeMs?: number | undefined;
  /** Whether the provider reports what it read from its cache; by default, whether it reported something for this request. */
  readonly isReported?: boolean | undefined;
}

/** Why a request missed the cache, or that it did not. */
export interface CacheExplanation {
  readonly cause: CacheCause;
  /** The step of the history strategy that changed the beginning, by name. */
  readonly manager?: string;
  /** Milliseconds between the response before and this request. */
  readonly idleMs?: number;
  readonly comparison?: RequestComparison;
}

const LIFETIME_MS = 5 * 60_000;
/** Providers cache no shorter beginning. */
const MIN_CACHED_TOKENS = 1024;

/** Explains whether the provider's cache could be used for a request. Pure. */
export function explainCache(options: ExplainCacheOptions): CacheExplanation {
  const { before, now, lifetimeMs = LIFETIME_MS } = options;
  if (!before) return { cause: 'first' };
  const idleMs = Math.max(0, Date.parse(now.recorded.after) - Date.parse(before.recorded.at));
  const idle = Number.isFinite(idleMs) && { idleMs };
  if (!before.request || !now.request) return { cause: 'unknown', ...idle };
  const comparison = compareRequests(before.request.messages, now.request.messages);
  const lost = { ...comparison, sharedTokens: 0, stability: 0 };
  const { model: modelBefore } = before.recorded;
  const { model } = now.recorded;
  if (model !== undefined && modelBefore !== undefined && model !== modelBefore) {
    return { cause: 'model', ...idle, comparison: lost };
  }
  const isOtherPrompt = options.prompts && options.prompts.before.promptHash !== options.prompts.now.promptHash;
  const { difference } = comparison;
  if (difference?.region === 'system') return { cause: 'instructions', ...idle, comparison };
  // Providers put the tools before everything else.
  if (isOtherPrompt) return { cause: 'tools', ...idle, comparison: lost };
  if (difference) return { ...changedBy(before, now), ...idle, comparison };
  return { cause: sameBeginning(options, comparison, idleMs > lifetimeMs), ...idle, comparison };
}

function sameBeginning(
  { now, isReported }: ExplainCacheOptions,
  { sharedTokens }: RequestComparison,
  isExpired: boolean,
): CacheCause {
  const { usage } = now.recorded;
  if ((usage?.cachedInputTokens ?? 0) > 0) return 'hit';
  if (!(isReported ?? usage?.cachedInputTokens !== undefined)) return 'unreported';
  if (isExpired) return 'idle';
  return sharedTokens < MIN_CACHED_TOKENS ? 'short' : 'provider';
}

/** What changed the beginning of a request: a step of its strategy, an erasure, or a repair. */
function changedBy(before: RebuiltRequest, now: RebuiltRequest): Pick<CacheExplanation, 'cause' | 'manager'> {
  if (!before.recorded.curated && !now.recorded.curated && now.fidelity !== 'counterfactual') {
    return { cause: now.fidelity === 'erased' || before.fidelity === 'erased' ? 'erasure' : 'repair' };
  }
  if (before.strategy !== now.strategy) return { cause: 'history', manager: now.strategy };
  const manager = causingStep(before, now);
  return manager === undefined ? { cause: 'repair' } : { cause: 'history', manager };
}

/** What the token limit of a request is called, which is enforced after the last step. */
const LIMIT = 'limit';

/**
 * The step whose output first differs where the requests do: the steps up to each one are run for both requests. Undefined when the record
 * itself differs there.
 */
function causingStep(before: RebuiltRequest, now: RebuiltRequest): string | undefined {
  if (!now.history || !before.request || !now.request) return now.strategy;
  const place = firstChange(before.request.messages, now.request.messages);
  const stage = asStage(now.history);
  const parts = stage.parts ?? [stage];
  if (firstChange(before.conversation, now.conversation) === place) return undefined;
  // One step and no limit after it: it need not be run again.
  if (parts.length === 1 && now.context.limits?.maxTokens === undefined) return stage.name;
  for (let count = 1; count <= parts.length; count++) {
    const steps = sequence('', parts.slice(0, count));
    if (firstChange(outputOf(steps, before), outputOf(steps, now)) === place) return parts[count - 1]?.name;
  }
  return LIMIT;
}

function outputOf(stage: Stage, { conversation, context }: RebuiltRequest): readonly ConversationMessage[] {
  return run(stage, conversation, context, undefined, []).result;
}

/** The id of the first message of the earlier list that the later one does not have in its place. */
function firstChange(before: readonly ConversationMessage[], now: readonly ConversationMessage[]): string | undefined {
  const at = before.findIndex((message, i) => {
    const other = now[i];
    return !other || !isSameMessage(message, other);
  });
  return before[at]?.id;
}
