import { evaluationMessages, evaluationSummaries } from '../../core/fold/evaluation-messages.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import type { SessionView } from '../../core/views/session-view.ts';
import { type CuratedRequest, type CurateRequestOptions, curateRequest } from '../curate-request.ts';
import { estimateTokens } from '../estimate-tokens.ts';
import type { CurationContext, History, SummaryRequest } from '../history-manager.ts';
import { TokenCounter } from '../token-counts.ts';

/** One request as a manager would have made it. */
export interface ReplayedRequest {
  readonly strategy: string;
  readonly evaluationId: string;
  /** The turn of the request. */
  readonly turn: number;
  /** How many messages there were, and how many were sent. */
  readonly originalCount: number;
  readonly curatedCount: number;
  readonly estimatedTokens: number;
  /** Of these tokens, how many are the start of the request before: what a provider's prompt cache could hold. */
  readonly cachedTokens: number;
  /** Share of the request before that this one starts with, 0 to 1. */
  readonly prefixKept: number;
  readonly repairs: readonly string[];
  /** Summaries that the manager needed and that were never recorded. */
  readonly needs: readonly SummaryRequest[];
  /** What was sent, made again: managers are deterministic. */
  messages(): readonly ConversationMessage[];
}

/** A recorded conversation under a manager: every request, and what they add up to. */
export interface CurationReplay {
  readonly strategy: string;
  readonly requests: readonly ReplayedRequest[];
  readonly totals: {
    readonly requests: number;
    readonly tokens: number;
    readonly cachedTokens: number;
    readonly largest: number;
    /** Mean share of the request before that was kept, over the requests that had one before them. */
    readonly meanPrefixKept: number;
    /** How many requests did not start with the whole of the one before. */
    readonly breaks: number;
  };
}

/** How to replay. */
export interface ReplayOptions extends Pick<CurateRequestOptions, 'estimator'> {
  readonly context?: Omit<CurationContext, 'previous'>;
  /** Only this evaluation's requests; absent: those of every evaluation of the main conversation. */
  readonly evaluationId?: string;
}

/**
 * Runs a manager over a recorded conversation, a session's or a list of messages, and reports what each request would have held, its
 * tokens and how much of the prompt cache it would have kept. The requests are those that the loop would have sent.
 */
export function replayCuration(
  source: SessionView | readonly ConversationMessage[],
  history: History,
  options: ReplayOptions = {},
): CurationReplay {
  const requests: ReplayedRequest[] = [];
  const shares: number[] = [];
  const newest = new Map<string, CuratedRequest>();
  for (const { messages, own, context, continues } of conversationsOf(source, options)) {
    let previous = continues === undefined ? undefined : newest.get(continues);
    const grown: ConversationMessage[] = [];
    for (const [position, response] of messages.entries()) {
      if (response.role === 'assistant' && own(response)) {
        const given = { ...options, context, history, messages: grown };
        const next = curateRequest({ ...given, ...(previous && { previous }) });
        if (previous) shares.push(next.record.prefixKept);
        requests.push(describe(response, next, previous, { ...given, messages }, position));
        newest.set(response.evaluationId, next);
        previous = next;
      }
      grown.push(response);
    }
  }
  const sum = (of: (request: ReplayedRequest) => number): number => requests.reduce((total, one) => total + of(one), 0);
  return {
    strategy: requests[0]?.strategy ?? (history.name || 'function'),
    requests,
    totals: {
      requests: requests.length,
      tokens: sum((one) => one.estimatedTokens),
      cachedTokens: sum((one) => one.cachedTokens),
      largest: requests.reduce((most, one) => Math.max(most, one.estimatedTokens), 0),
      meanPrefixKept: shares.length === 0 ? 1 : shares.reduce((total, share) => total + share, 0) / shares.length,
      breaks: shares.filter((share) => share < 1).length,
    },
  };
}

function describe(
  response: ConversationMessage,
  request: CuratedRequest,
  previous: CuratedRequest | undefined,
  given: CurateRequestOptions,
  position: number,
): ReplayedRequest {
  const { strategy, originalCount, curatedCount, estimatedTokens, prefixKept, repairs = [] } = request.record;
  const counter = TokenCounter.of(given.estimator ?? estimateTokens);
  const cached = previous ? Math.round(prefixKept * previous.messages.length) : 0;
  return {
    ...{ strategy, originalCount, curatedCount, estimatedTokens, prefixKept, repairs, needs: request.needs },
    evaluationId: response.evaluationId,
    turn: response.turn,
    cachedTokens: request.messages.slice(0, cached).reduce((sum, message) => sum + counter.count(message), 0),
    messages: () => curateRequest({ ...given, messages: given.messages.slice(0, position) }).messages,
  };
}

interface RecordedConversation {
  readonly messages: readonly ConversationMessage[];
  /** Whether a response is one of those whose requests are replayed. */
  readonly own: (response: ConversationMessage) => boolean;
  readonly context: Omit<CurationContext, 'previous'>;
  readonly continues?: string;
}

function conversationsOf(
  source: SessionView | readonly ConversationMessage[],
  { context = {}, evaluationId }: ReplayOptions,
): readonly RecordedConversation[] {
  if (!('state' in source)) {
    const own = (response: ConversationMessage): boolean =>
      (evaluationId ?? response.evaluationId) === response.evaluationId;
    return [{ messages: source, own, context }];
  }
  const { record } = source.state;
  return record.evaluations.items
    .filter((one) => (evaluationId === undefined ? one.conversationId === 'main' : one.id === evaluationId))
    .map((evaluation) => ({
      messages: evaluationMessages(record, evaluation),
      own: (response) => response.evaluationId === evaluation.id,
      context: { session: source, summaries: evaluationSummaries(record, evaluation), ...context },
      ...(evaluation.continues !== undefined && { continues: evaluation.continues }),
    }));
}
