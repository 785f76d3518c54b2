/** `holdfast/history`: what is sent to the provider. Managers, token estimates, checks and repairs, and replays of sent requests. */

export type { Provider, ProviderViolation } from './formats/provider-rules.ts';
export { type CanSendOptions, canSend } from './history/can-send.ts';
export {
  type Coherence,
  type CoherenceOptions,
  checkCoherence,
  type RepairOptions,
  repairCoherence,
  type Violation,
} from './history/coherence/coherence.ts';
export {
  type CuratedRequest,
  type CurateRequestOptions,
  type CurationRecord,
  curateRequest,
  type RequestMemo,
} from './history/curate-request.ts';
export { estimateTokens, type TokenEstimator } from './history/estimate-tokens.ts';
export type {
  BuiltInManager,
  Curation,
  CurationContext,
  History,
  HistoryManager,
  Limits,
  Preserve,
  SummaryRequest,
} from './history/history-manager.ts';
export {
  compareRequests,
  type DifferingSide,
  type RequestComparison,
  type RequestDifference,
} from './history/inspect/compare-requests.ts';
export { type CurationReportOptions, formatReplays } from './history/inspect/curation-report.ts';
export {
  type CacheCause,
  type CacheExplanation,
  type ExplainCacheOptions,
  explainCache,
  type RequestPrompt,
} from './history/inspect/explain-cache.ts';
export {
  type Fidelity,
  type RebuildOptions,
  type RebuiltRequest,
  rebuildRequests,
} from './history/inspect/rebuild-requests.ts';
export { type RecordedRequest, type RecordedSummary, RequestLog } from './history/inspect/recorded-requests.ts';
export {
  type CurationReplay,
  type ReplayedRequest,
  type ReplayOptions,
  replayCuration,
} from './history/inspect/replay-curation.ts';
export {
  type RequestFate,
  type RequestRow,
  type RequestTokens,
  requestRows,
  requestTokens,
} from './history/inspect/request-rows.ts';
export {
  type DescribedRequest,
  describeRequests,
  type RequestPoint,
  type RequestSeriesOptions,
  type RequestTotals,
  requestSeries,
  requestTotals,
} from './history/inspect/request-series.ts';
export {
  type ClearToolResultsOptions,
  clearToolResults,
} from './history/managers/clear-tool-results.ts';
export { compose } from './history/managers/compose.ts';
export { type KeepImportantOptions, keepImportant } from './history/managers/keep-important.ts';
export { type ObservedCuration, observe } from './history/managers/observe.ts';
export { passthrough } from './history/managers/passthrough.ts';
export { pin } from './history/managers/pin.ts';
export { type SlidingWindowOptions, slidingWindow } from './history/managers/sliding-window.ts';
export { type Strategy, type StrategyStep, strategyFromName, strategyManager } from './history/managers/strategy.ts';
export { type SummarizeOptions, summarize } from './history/managers/summarize.ts';
export { type TokenBudgetOptions, tokenBudget } from './history/managers/token-budget.ts';
export { type TruncateToolResultsOptions, truncateToolResults } from './history/managers/truncate-tool-results.ts';
export type { Repair } from './history/managers/view-messages.ts';
export { countTokens } from './history/token-counts.ts';
