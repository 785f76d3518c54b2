/** `holdfast/history`: what is sent to the provider. Managers, token estimates, checks and repairs, and replays of sent requests. */

export type { Provider, ProviderViolation } from './formats/provider-rules.ts';
export { type CanSendOptions, canSend } from './history/can-send.ts';
export {
  type ClearToolResultsOptions,
  clearToolResults,
} from './history/clear-tool-results.ts';
export {
  type Coherence,
  type CoherenceOptions,
  checkCoherence,
  type RepairOptions,
  repairCoherence,
  type Violation,
} from './history/coherence.ts';
export {
  compareRequests,
  type DifferingSide,
  type RequestComparison,
  type RequestDifference,
} from './history/compare-requests.ts';
export { compose } from './history/compose.ts';
export {
  type CuratedRequest,
  type CurateRequestOptions,
  type CurationRecord,
  curateRequest,
  type RequestMemo,
} from './history/curate-request.ts';
export { type CurationReportOptions, formatReplays } from './history/curation-report.ts';
export { estimateTokens, type TokenEstimator } from './history/estimate-tokens.ts';
export {
  type CacheCause,
  type CacheExplanation,
  type ExplainCacheOptions,
  explainCache,
  type RequestPrompt,
} from './history/explain-cache.ts';
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
export { type KeepImportantOptions, keepImportant } from './history/keep-important.ts';
export { type ObservedCuration, observe } from './history/observe.ts';
export { passthrough } from './history/passthrough.ts';
export { pin } from './history/pin.ts';
export {
  type Fidelity,
  type RebuildOptions,
  type RebuiltRequest,
  rebuildRequests,
} from './history/rebuild-requests.ts';
export { type RecordedRequest, type RecordedSummary, RequestLog } from './history/recorded-requests.ts';
export {
  type CurationReplay,
  type ReplayedRequest,
  type ReplayOptions,
  replayCuration,
} from './history/replay-curation.ts';
export {
  type RequestFate,
  type RequestRow,
  type RequestTokens,
  requestRows,
  requestTokens,
} from './history/request-rows.ts';
export {
  type RequestPoint,
  type RequestSeriesOptions,
  type RequestTotals,
  requestSeries,
  requestTotals,
} from './history/request-series.ts';
export { type SlidingWindowOptions, slidingWindow } from './history/sliding-window.ts';
export { type Strategy, type StrategyStep, strategyFromName, strategyManager } from './history/strategy.ts';
export { type SummarizeOptions, summarize } from './history/summarize.ts';
export { type TokenBudgetOptions, tokenBudget } from './history/token-budget.ts';
export { countTokens } from './history/token-counts.ts';
export { type TruncateToolResultsOptions, truncateToolResults } from './history/truncate-tool-results.ts';
export type { Repair } from './history/view-messages.ts';
