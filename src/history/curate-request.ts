import type { HistoryCurated } from '../core/log/events.ts';
import type { ConversationMessage } from '../core/log/messages.ts';
import { estimateTokens, type TokenEstimator } from './estimate-tokens.ts';
import type { CurationContext, History, SummaryRequest } from './history-manager.ts';
import { asStage } from './managers/compose.ts';
import { passthrough } from './managers/passthrough.ts';
import { applyStage, run, type Stage } from './managers/stage.ts';
import { budgetStage } from './managers/token-budget.ts';
import { type Repair, repairsIn, viewTokens } from './managers/view-messages.ts';

/**
 * Builds one request from the conversation: the manager selects, its output is checked and repaired, a limit that the caller named is
 * enforced, and what happened is described for the `history/curated` event. Pure, and cheap: a turn costs what it
 * adds and what is sent, not what the conversation holds.
 */

/** The conversation, the manager, and what is known from the request before. */
export interface CurateRequestOptions {
  /** Absent: everything is sent. A manager that is not built in gets to see messages frozen, and a list of its own. */
  readonly history?: History;
  /**
   * The conversation so far, in log order. The array may be grown between calls; a message in it may be replaced (as by an erasure)
   * but not removed.
   */
  readonly messages: readonly ConversationMessage[];
  readonly context?: Omit<CurationContext, 'previous'>;
  /** What `curateRequest` returned for the request before. Without it the same request takes longer: the conversation is read once. */
  readonly previous?: CuratedRequest;
  /** Counts the tokens of `record.estimatedTokens`; give the same function each time, so that it counts each message once. */
  readonly estimator?: TokenEstimator;
}

/** A request, ready to be sent. */
export interface CuratedRequest {
  /** What is sent: coherent, and a fresh array. */
  readonly messages: readonly ConversationMessage[];
  /** The part of the `history/curated` event that history knows. */
  readonly record: CurationRecord;
  /** What had to be repaired, in the manager's output or in the record. */
  readonly repairs: readonly Repair[];
  /** Summaries to make and record before asking again, with the same `previous`. Sending without them is allowed. */
  readonly needs: readonly SummaryRequest[];
  /** Summaries that a later request will need: make them in the background and send this one without them. */
  readonly ahead: readonly SummaryRequest[];
  /** Saves the next call the work of this one. */
  readonly memo: RequestMemo;
}

/** The fields of a `history/curated` event that describe the request. */
export type CurationRecord = Pick<
  HistoryCurated,
  'strategy' | 'originalCount' | 'curatedCount' | 'estimatedTokens' | 'prefixKept' | 'repairs'
>;

/** What a request leaves for the next: only time is lost with it. */
export interface RequestMemo {
  readonly history: History;
  readonly estimator: TokenEstimator;
  readonly stage: unknown;
  readonly run: unknown;
}

const everything = passthrough();

/**
 * Makes the messages of a request.
 *
 * Call it just before each request, with the whole conversation and the return value for the request before. If it `needs` summaries, make
 * and record them and call it again with the same `previous`; then send `messages` and record `record`. After a crash, call it
 * without `previous`: the request is the one that an uninterrupted run would have sent.
 */
export function curateRequest(options: CurateRequestOptions): CuratedRequest {
  return make(options, options.previous ?? requestBefore(options));
}

function make(options: CurateRequestOptions, previous: CuratedRequest | undefined): CuratedRequest {
  const { history = everything, messages, context = NO_CONTEXT, estimator = estimateTokens } = options;
  const stage = stageFor(history, estimator, previous?.memo);
  const repairs: Repair[] = [];
  const { output, result, memo } = run(stage, messages, context, previous?.memo.run, repairs);
  for (const repair of repairsIn(output.view)) repairs.push(repair);
  if (output.notes) for (const note of output.notes) repairs.push({ code: 'over-budget', repair: note });
  const { needs, ahead } = splitNeeds(output.needs);
  return {
    messages: result,
    record: {
      strategy: stage.name,
      originalCount: messages.length,
      curatedCount: result.length,
      estimatedTokens: viewTokens(output.view, estimator),
      prefixKept: previous ? prefixKept(previous.messages, result) : 1,
      ...(repairs.length > 0 && { repairs: repairs.map(describe) }),
    },
    repairs,
    needs,
    ahead,
    memo: { history, estimator, stage, run: memo },
  };
}

function stageFor(history: History, estimator: TokenEstimator, memo: RequestMemo | undefined): Stage {
  if (memo?.history === history && memo.estimator === estimator) return memo.stage as Stage;
  return withinLimits(asStage(history), estimator);
}

const NO_CONTEXT: CurationContext = {};
const NO_NEEDS: Pick<CuratedRequest, 'needs' | 'ahead'> = { needs: [], ahead: [] };

function splitNeeds(needs: readonly SummaryRequest[] | undefined): Pick<CuratedRequest, 'needs' | 'ahead'> {
  if (!needs || needs.length === 0) return NO_NEEDS;
  // A manager that is not built in may list anything.
  const usable = needs.filter((need: unknown) => typeof need === 'object' && need !== null);
  return { needs: usable.filter((need) => !need.ahead), ahead: usable.filter((need) => need.ahead) };
}

/** A repair as a line of the event. */
function describe({ code, repair, messageId, callId }: Repair): string {
  const where = [messageId && `message ${messageId}`, callId && `call ${callId}`].filter(Boolean).join(', ');
  return where ? `${code} (${where}): ${repair}` : `${code}: ${repair}`;
}

/** The request before this one, made again: it was sent when the newest assistant message was not there yet. */
function requestBefore(options: CurateRequestOptions): CuratedRequest | undefined {
  const { messages } = options;
  const newest = messages.findLastIndex(({ role }) => role === 'assistant');
  return newest < 0 ? undefined : make({ ...options, messages: messages.slice(0, newest) }, undefined);
}

/** How much of the request before is the beginning of this one: 1 when there was none to keep. */
function prefixKept(before: readonly ConversationMessage[], now: readonly ConversationMessage[]): number {
  if (before.length === 0) return 1;
  const most = Math.min(before.length, now.length);
  let same = 0;
  while (same < most && isSame(before[same] as ConversationMessage, now[same] as ConversationMessage)) same++;
  return same / before.length;
}

/** Built-in managers return the same object; any other may return an equal one. */
function isSame(a: ConversationMessage, b: ConversationMessage): boolean {
  return a === b || (a.id === b.id && a.role === b.role && JSON.stringify(a) === JSON.stringify(b));
}

/** A stage whose output is cut to the caller's limit, if it exceeds it: a provider would refuse the request. */
function withinLimits(stage: Stage, estimator: TokenEstimator): Stage {
  const budget = budgetStage({ estimator });
  return {
    ...stage,
    apply(view, input) {
      const output = applyStage(stage, view, input);
      const most = input.context.limits?.maxTokens;
      if (most === undefined || viewTokens(output.view, estimator) <= most) return output;
      const cut = budget.apply(output.view, { ...input, context: { ...input.context, limits: { maxTokens: most } } });
      input.repairs?.push({ code: 'over-budget', repair: `the request was cut to the limit of ${most} tokens` });
      return { ...output, view: cut.view, notes: [...(output.notes ?? []), ...(cut.notes ?? [])] };
    },
  };
}
