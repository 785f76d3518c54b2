/** `holdfast/inspect`: what was sent, or would have been. Replays of history managers, requests built again, prompt caches, timelines. */

export type { Timeline, TimelineEvaluation, TimelineSpan } from './core/views/timeline.ts';
export { TimelineBuilder, timelineOf } from './core/views/timeline-builder.ts';
export { compareRequests, type RequestComparison } from './history/inspect/compare-requests.ts';
export { formatReplays } from './history/inspect/curation-report.ts';
export { type RebuiltRequest, rebuildRequests } from './history/inspect/rebuild-requests.ts';
export { RequestLog } from './history/inspect/recorded-requests.ts';
export { type CurationReplay, replayCuration } from './history/inspect/replay-curation.ts';
export type { RequestRow } from './history/inspect/request-rows.ts';
export {
  describeRequests,
  requestSeries,
  requestTotals,
} from './history/inspect/request-series.ts';
