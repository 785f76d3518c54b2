/** `holdfast/store`: a store for a database of your own (docs/writing-a-store.md). `holdfast/testing` has the suite that it must pass. */
export type {
  AppendRows,
  DraftRow,
  ForkRows,
  LeaseRows,
  ListedRow,
  ListQuery,
  Replacement,
  SessionRow,
  StoreBackend,
  StoredEvent,
  StoredLease,
  StoredSummary,
} from './stores/shell/backend.ts';
export { defineStore } from './stores/shell/define-store.ts';
