import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import { type ConversationMessage, type ToolMessage, textOf } from '../../core/log/messages.ts';
import { estimateTokens, type TokenEstimator } from '../estimate-tokens.ts';
import type { BuiltInManager, CurationContext } from '../history-manager.ts';
import { TokenCounter } from '../token-counts.ts';
import { managerOf, type Stage, type StageOutput, wholeNumber } from './stage.ts';
import { TRUNCATION_SUFFIX, truncateResult } from './truncate-tool-results.ts';
import { contains, dropBefore, newestGroup, reshape, type View } from './view.ts';
import { groupTokens, messagesOf } from './view-messages.ts';

/** How large a request may be. */
export interface TokenBudgetOptions {
  /** The most tokens of a request. Absent: the limit of the model, from `models` or from the context. */
  readonly max?: number;
  /** How much is left of the budget after dropping, as a share of it. 1 drops no more than it must, for every new message. */
  readonly low?: number;
  /** Budgets by model, for the model that the context names. */
  readonly models?: Readonly<Record<string, number>>;
  /** Counts tokens; the default is quick and within a fifth. */
  readonly estimator?: TokenEstimator;
}

/** A group may fill this share of what the budget leaves beside the system and the first user message. */
const LARGEST_GROUP = 0.75;

const KNOWN: KnownOptions<TokenBudgetOptions> = { max: true, low: true, models: true, estimator: true };

/**
 * Sends the newest groups that fit a number of tokens, always among them those that every window keeps. What is dropped is
 * dropped in batches, down to `low`, so that the prompt cache holds in between. A group that is too large for the budget has its
 * tool results shortened. Without a budget for the model everything is sent.
 */
export function tokenBudget(options: TokenBudgetOptions): BuiltInManager {
  refuseUnknownOptions('tokenBudget', options, KNOWN);
  const { max, low = 0.5, models = {} } = options;
  if (max !== undefined) wholeNumber('tokenBudget max', max, 1);
  for (const [model, budget] of Object.entries(models)) wholeNumber(`tokenBudget models["${model}"]`, budget, 1);
  if (!(low >= 0 && low <= 1)) {
    throw new HoldfastError('INVALID_ARGUMENT', `tokenBudget low is ${low}; give a share of the budget, 0 to 1`);
  }
  return managerOf(budgetStage({ ...options, low }));
}

/** The stage that `tokenBudget` is. */
export function budgetStage(options: TokenBudgetOptions): Stage {
  const { estimator = estimateTokens, low = 0.5, max, models = {} } = options;
  const fitter = new GroupFitter(estimator);
  return {
    name: max === undefined ? 'token-budget' : `token-budget(${max})`,
    apply(view, { context }) {
      const budget = budgetFor(context, max, models);
      return budget === undefined ? { view } : new Fitting(view, context, budget, fitter).fit(low);
    },
  };
}

function budgetFor(
  { limits }: CurationContext,
  max: number | undefined,
  models: Readonly<Record<string, number>>,
): number | undefined {
  const named = limits?.model !== undefined && Object.hasOwn(models, limits.model) ? models[limits.model] : undefined;
  return named ?? max ?? limits?.maxTokens;
}

/** One view being fitted into one budget. */
class Fitting {
  readonly #view: View;
  readonly #fixed: readonly number[];
  readonly #budget: number;
  readonly #fitter: GroupFitter;
  readonly #largest: number;
  readonly #shorter = new Map<ConversationMessage, ConversationMessage>();

  constructor(view: View, context: CurationContext, budget: number, fitter: GroupFitter) {
    this.#view = view;
    this.#budget = budget;
    this.#fitter = fitter;
    const { index } = view;
    this.#fixed = index.fixedGroups(context.preserve).filter((group) => contains(view, group));
    const head = this.#fixed.filter((group) => group < index.leading || group === index.firstUser);
    const base = head.reduce((sum, group) => sum + groupTokens(view, group, fitter.estimator), 0);
    this.#largest = Math.max(0, Math.floor((budget - base) * LARGEST_GROUP));
  }

  fit(low: number): StageOutput {
    const always = new Set(this.#fixed);
    let total = 0;
    for (const { added } of this.#view.pieces) if (added) total += TokenCounter.of(this.#fitter.estimator).count(added);
    for (const group of this.#fixed) total += this.#tokens(group, this.#largest);
    if (total > this.#budget) return this.#atLeast(total);
    // Back from the newest group: of the places where the window may start, the one that will move least.
    const { pieces, count } = this.#view;
    let start = count;
    let rank = count;
    for (let i = pieces.length - 1; i >= 0; i--) {
      const { from, to, added } = pieces[i] as View['pieces'][number];
      if (added) rank--;
      for (let group = to - 1; group >= from; group--) {
        rank--;
        if (always.has(group)) continue;
        total += this.#tokens(group, this.#largest);
        if (total > this.#budget) return this.#cut(start);
        if (total <= this.#budget * low || roundness(rank) >= roundness(start)) start = rank;
      }
    }
    return this.#cut(0);
  }

  /** What always stays is already too much: the newest results are shortened further, and if that is not enough, a note says so. */
  #atLeast(total: number): StageOutput {
    const newest = newestGroup(this.#view);
    const now = this.#tokens(newest, this.#largest);
    const then = this.#tokens(newest, Math.max(0, now - (total - this.#budget)));
    const left = total - now + then;
    const output = this.#cut(this.#view.count);
    if (left <= this.#budget) return output;
    const note = `what must be sent holds about ${left} tokens, more than the budget of ${this.#budget}`;
    return { ...output, notes: [`${note}; shorten the instructions or the input, or raise the budget`] };
  }

  #cut(start: number): StageOutput {
    const view = dropBefore(this.#view, start, this.#fixed);
    const shorter = this.#shorter;
    return { view: shorter.size === 0 ? view : reshape(view, (message) => shorter.get(message) ?? message, false) };
  }

  /** The tokens of a group, whose results are shortened if it is larger than `allowed`. */
  #tokens(group: number, allowed: number): number {
    const tokens = groupTokens(this.#view, group, this.#fitter.estimator);
    if (tokens <= allowed) return tokens;
    const fitted = this.#fitter.fit(messagesOf(this.#view, group, true), allowed);
    for (const [message, short] of fitted.shorter) this.#shorter.set(message, short);
    return fitted.tokens;
  }
}

/**
 * How round a number is: how often it can be halved. A window that starts at the roundest place it can will find the same place
 * again while the conversation grows, without remembering anything.
 */
function roundness(rank: number): number {
  return rank === 0 ? 32 : 31 - Math.clz32(rank & -rank);
}

interface FittedGroup {
  readonly messages: readonly ConversationMessage[];
  readonly allowed: number;
  readonly tokens: number;
  readonly shorter: ReadonlyMap<ConversationMessage, ConversationMessage>;
}

/** Shortens the results of groups that are too large, and remembers how. */
class GroupFitter {
  readonly estimator: TokenEstimator;
  readonly #counter: TokenCounter;
  readonly #fitted = new WeakMap<ConversationMessage, FittedGroup>();

  constructor(estimator: TokenEstimator) {
    this.estimator = estimator;
    this.#counter = TokenCounter.of(estimator);
  }

  fit(messages: readonly ConversationMessage[], allowed: number): FittedGroup {
    const [first] = messages;
    const known = first && this.#fitted.get(first);
    const same = known?.messages.length === messages.length && known.messages.every((one, i) => one === messages[i]);
    if (same && known.allowed === allowed) return known;
    const results = messages.filter((message) => message.role === 'tool');
    const share = this.#share(results, allowed - this.#sum(messages.filter((message) => message.role !== 'tool')));
    const shorter = new Map<ConversationMessage, ConversationMessage>();
    for (const result of results) {
      const tokens = this.#counter.count(result);
      const short = tokens > share ? this.#shorten(result, share) : result;
      if (this.#counter.count(short) < tokens) shorter.set(result, short);
    }
    const tokens = this.#sum(messages.map((message) => shorter.get(message) ?? message));
    const fitted = { messages, allowed, tokens, shorter };
    if (first) this.#fitted.set(first, fitted);
    return fitted;
  }

  /** The most tokens that each result may have so that together they fit: short ones leave more for the others. */
  #share(results: readonly ToolMessage[], room: number): number {
    const sizes = results.map((result) => this.#counter.count(result)).sort((a, b) => a - b);
    let left = room;
    for (let i = 0; i < sizes.length; i++) {
      const share = left / (sizes.length - i);
      if ((sizes[i] as number) > share) return Math.max(0, Math.floor(share));
      left -= sizes[i] as number;
    }
    return Number.POSITIVE_INFINITY;
  }

  #shorten(result: ToolMessage, tokens: number): ToolMessage {
    let short: ToolMessage = { ...result, content: result.content.filter((part) => part.type === 'text') };
    if (short.content.length === 0) return { ...short, content: [{ type: 'text', text: '[left out]' }] };
    // Cut by what is too much, and a little more: after a few times it fits, whatever the estimator counts.
    for (let count = this.#counter.count(short); count > tokens; count = this.#counter.count(short)) {
      const { length } = textOf(short);
      const wanted = Math.floor(((length * tokens) / count) * 0.95);
      const next = truncateResult(short, wanted > TRUNCATION_SUFFIX.length ? wanted : 0, TRUNCATION_SUFFIX);
      if (next === short) break;
      short = next;
    }
    return short;
  }

  #sum(messages: readonly ConversationMessage[]): number {
    return messages.reduce((sum, message) => sum + this.#counter.count(message), 0);
  }
}
