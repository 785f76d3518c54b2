import { type CacheExplanation, explainCache, type RequestPrompt } from './explain-cache.ts';
import { type Fidelity, type RebuildOptions, type RebuiltRequest, rebuildRequests } from './rebuild-requests.ts';
import type { RecordedRequest } from './recorded-requests.ts';
import { type RequestFate, type RequestRow, type RequestTokens, requestRows, requestTokens } from './request-rows.ts';

/** The requests of one evaluation as a series: what each held, what it cost, and why it missed the cache. */

/** One request of a series. */
export interface RequestPoint extends Omit<RecordedRequest, 'curated' | 'refused'> {
  /** The name of the history strategy; `passthrough` when everything was sent. */
  readonly strategy: string;
  readonly fidelity: Fidelity;
  /** How many messages there were, and how many were sent. */
  readonly originalCount: number;
  readonly curatedCount: number;
  readonly estimatedTokens: number;
  /** By region; absent when the request cannot be built again. */
  readonly tokens?: RequestTokens;
  /** How many messages met which fate. */
  readonly fates?: Readonly<Partial<Record<RequestFate, number>>>;
  /** What was repaired, as recorded. */
  readonly repairs: readonly string[];
  /** Requests of this turn that the provider refused as too long, with the limit that each of them set. */
  readonly refused: readonly {
    readonly estimatedTokens: number;
    readonly maxTokens: number;
    readonly message: string;
  }[];
  readonly cache: CacheExplanation;
}

/** What a series is made from. */
export interface RequestSeriesOptions extends RebuildOptions {
  readonly prompt?: RequestPrompt | undefined;
  /** The evaluation that this one continues: its newest request is the one before the first. */
  readonly continued?: (RebuildOptions & { readonly prompt?: RequestPrompt | undefined }) | undefined;
  /** How long the provider keeps a cached beginning, in milliseconds; 5 minutes. */
  readonly lifetimeMs?: number | undefined;
}

/** One request of a series, and the rows that it shows beside the record. */
export interface DescribedRequest {
  readonly point: RequestPoint;
  /** Absent when the request cannot be built again. */
  readonly rows: readonly RequestRow[] | undefined;
}

/** Describes every request of an evaluation, oldest first. Pure. */
export function requestSeries(options: RequestSeriesOptions): readonly RequestPoint[] {
  return Array.from(describeRequests(options), ({ point }) => point);
}

/** The same one by one, with their rows: the work for one request grows with its conversation, so a server pauses between them. */
export function* describeRequests(options: RequestSeriesOptions): Generator<DescribedRequest, void> {
  const { continued, lifetimeMs, requests } = options;
  const all = [...(continued?.requests ?? []), ...requests];
  const isReported = all.some(({ usage }) => usage?.cachedInputTokens !== undefined);
  let before: { readonly request: RebuiltRequest; readonly prompt: RequestPrompt | undefined } | undefined;
  const last = continued?.requests.at(-1);
  if (continued && last) {
    for (const request of rebuildRequests({ ...continued, requests: [last] })) {
      before = { request, prompt: continued.prompt };
    }
  }
  for (const now of rebuildRequests(options)) {
    const { prompt } = options;
    const cache = explainCache({
      ...{ before: before?.request, now, lifetimeMs, isReported },
      ...(before?.prompt && prompt && { prompts: { before: before.prompt, now: prompt } }),
    });
    const rows = now.request && requestRows(now.conversation, now.request.messages);
    yield { point: pointOf(now, rows, cache), rows };
    before = { request: now, prompt };
  }
}

/** What the requests of a series add up to. */
export interface RequestTotals {
  readonly requests: number;
  readonly tokens: number;
  readonly largest: number;
  /** Tokens that a provider's prompt cache could hold: those of the beginnings that were shared with the request before. */
  readonly sharedTokens: number;
  /** How many requests did not start with the whole of the one before. */
  readonly breaks: number;
}

/** Adds up a series. */
export function requestTotals(points: readonly RequestPoint[]): RequestTotals {
  const sum = (of: (point: RequestPoint) => number): number => points.reduce((total, point) => total + of(point), 0);
  return {
    requests: points.length,
    tokens: sum(({ estimatedTokens }) => estimatedTokens),
    largest: points.reduce((most, { estimatedTokens }) => Math.max(most, estimatedTokens), 0),
    sharedTokens: sum(({ cache }) => cache.comparison?.sharedTokens ?? 0),
    breaks: points.filter(({ cache }) => (cache.comparison?.stability ?? 1) < 1).length,
  };
}

function pointOf(now: RebuiltRequest, rows: readonly RequestRow[] | undefined, cache: CacheExplanation): RequestPoint {
  const { recorded, request, strategy, fidelity } = now;
  const { curated, refused, ...facts } = recorded;
  const record = curated ?? request?.record;
  const fates: Partial<Record<RequestFate, number>> = {};
  for (const { fate } of rows ?? []) fates[fate] = (fates[fate] ?? 0) + 1;
  return {
    ...facts,
    ...{ strategy, fidelity },
    originalCount: record?.originalCount ?? now.conversation.length,
    curatedCount: record?.curatedCount ?? now.conversation.length,
    estimatedTokens: record?.estimatedTokens ?? 0,
    ...(rows && { tokens: requestTokens(rows), fates }),
    repairs: record?.repairs ?? [],
    refused: refused.map(({ estimatedTokens, refused: why }) => ({
      ...{ estimatedTokens, maxTokens: why?.maxTokens ?? 0, message: why?.message ?? '' },
    })),
    cache,
  };
}
