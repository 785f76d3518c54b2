/**
 * `holdfast/store`: the building blocks for your own store (docs/writing-a-store.md). They implement the rules that are the same for
 * every store: errors, listing, search, append ids, drafts and leases. `holdfast/testing` has the suite that every store must pass.
 */

export { HoldfastError } from './core/errors.ts';
export { compareDraftPositions } from './core/log/draft-position.ts';
export type { NewEvent, SessionEvent } from './core/log/events.ts';
export { MAX_PROGRESS_LENGTH } from './core/log/progress.ts';
export { type SessionSummary, summarizeSession } from './core/summary/session-summary.ts';
export { changesSummary } from './core/summary/summary-change.ts';
export { makesWork } from './core/summary/work-events.ts';
export type { Clock } from './ports/clock.ts';
export type * from './ports/store.ts';
export {
  type AppendedEvent,
  findRepeatedAppend,
  refuseStale,
  type SessionPosition,
  summarizeAppend,
} from './stores/append-rules.ts';
export { bootId } from './stores/boot-id.ts';
export {
  checkAppend,
  checkCount,
  checkDraft,
  checkFork,
  checkRead,
  checkReadDraft,
  checkSessionId,
  checkSnapshot,
  checkTtl,
} from './stores/check-arguments.ts';
export {
  addChunks,
  boundedDrafts,
  excessProgress,
  selectChunks,
} from './stores/draft-rules.ts';
export { decodeEvent, type EncodedEvent, encodeEvent, sameEvents } from './stores/encoded-event.ts';
export { eventsFromPages } from './stores/event-pages.ts';
export { LeaseKeepers, type RenewableLease, type TimerKeeper } from './stores/keep-lease.ts';
export {
  expiryNow,
  type LeaseTerm,
  leaseBlocks,
  remainingForHolder,
  remainingForOthers,
  termFrom,
} from './stores/lease-rules.ts';
export {
  appendIdReused,
  contentMissing,
  eventNotFound,
  fenceConflict,
  forkTargetExists,
  incompleteEvent,
  sequenceConflict,
  sessionGone,
  sessionNotFound,
  snapshotBeyondLog,
  storeClosed,
} from './stores/refusals.ts';
export {
  DEFAULT_HITS,
  matchText,
  matchTexts,
  parseQuery,
  SEARCH_VERSION,
  type SearchableText,
  type SearchTerm,
  searchableText,
  searchableTexts,
  wordsOf,
} from './stores/search-text.ts';
export {
  checkListing,
  compareSessions,
  DEFAULT_PAGE,
  encodeCursor,
  type ListPosition,
  listPage,
  matchesFilter,
} from './stores/session-listing.ts';
export { storeFailure } from './stores/store-failure.ts';
export { systemClock } from './stores/system-clock.ts';
export { Watchers } from './stores/watchers.ts';
