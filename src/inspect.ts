/** `holdfast/inspect`: what was sent, or would have been. Replays of history managers, requests built again, prompt caches, timelines. */

export type { Timeline, TimelineEvaluation, TimelineSpan } from './core/views/timeline.ts';
export { TimelineBuilder, timelineOf } from './core/views/timeline-builder.ts';
export { compareRequests, type DifferingSide, type RequestComparison } from './history/inspect/compare-requests.ts';
export { formatReplays } from './history/inspect/curation-report.ts';
export type { CacheCause, CacheExplanation } from './history/inspect/explain-cache.ts';
export { type Fidelity, type RebuiltRequest, rebuildRequests } from './history/inspect/rebuild-requests.ts';
export { RequestLog } from './history/inspect/recorded-requests.ts';
export { type CurationReplay, type ReplayedRequest, replayCuration } from './history/inspect/replay-curation.ts';
export type { RequestFate, RequestRow, RequestTokens } from './history/inspect/request-rows.ts';
export {
  describeRequests,
  type RequestPoint,
  type RequestTotals,
  requestSeries,
  requestTotals,
} from './history/inspect/request-series.ts';
