/** `holdfast/history`: what is sent to the provider. Managers, token estimates, limits of models, checks and repairs. */

export type { Provider } from './formats/provider-rules.ts';
export { canSend, checkCoherence, repairCoherence, type Violation } from './history/coherence/coherence.ts';
export { type CuratedRequest, curateRequest } from './history/curate-request.ts';
export { estimateTokens } from './history/estimate-tokens.ts';
export type {
  Curation,
  CurationContext,
  History,
  HistoryManager,
  Limits,
  Preserve,
  SummaryRequest,
} from './history/history-manager.ts';
export { clearToolResults } from './history/managers/clear-tool-results.ts';
export { compose } from './history/managers/compose.ts';
export { keepImportant } from './history/managers/keep-important.ts';
export { observe } from './history/managers/observe.ts';
export { passthrough } from './history/managers/passthrough.ts';
export { pin } from './history/managers/pin.ts';
export { slidingWindow } from './history/managers/sliding-window.ts';
export { type Strategy, strategyFromName, strategyManager } from './history/managers/strategy.ts';
export { summarize } from './history/managers/summarize.ts';
export { tokenBudget } from './history/managers/token-budget.ts';
export { truncateToolResults } from './history/managers/truncate-tool-results.ts';
export { countTokens } from './history/token-counts.ts';
export { limitsFrom } from './models/limits-from.ts';
