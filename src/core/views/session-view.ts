import type { Evaluation } from '../fold/evaluations.ts';
import type { SessionState } from '../fold/fold.ts';
import type { UsageRecord } from '../fold/record.ts';
import { type AnySlice, heldBy, type ItemOf, itemsAsArray, type Slice, type StateOf } from '../fold/slices.ts';
import { frozenEach } from '../frozen.ts';
import type { AdapterStateSnapshot } from '../log/adapter-state.ts';
import type { ToolStarted } from '../log/events.ts';
import type { ConversationMessage } from '../log/messages.ts';
import type {
  ConversationTurn,
  EvaluationOptions,
  LatestOptions,
  MessagesOptions,
  PendingCall,
  QueuedInput,
} from './views.ts';

/** Read-only access to a session's state. Sessions, staged transactions and folded logs all provide it. */
export interface SessionView {
  readonly id: string;
  readonly state: SessionState;
  select<S extends AnySlice>(slice: S): SelectionOf<S>;
  /** The messages of the main conversation, or of one evaluation, in log order. */
  messages(options?: MessagesOptions): readonly ConversationMessage[];
  /** The responses of the main conversation, or of one evaluation, each with its calls and their results. */
  turns(options?: EvaluationOptions): readonly ConversationTurn[];
  /** The newest evaluation by log position, of one prompt or conversation if given. */
  latestEvaluation(options?: LatestOptions): Evaluation | undefined;
  /**
   * The calls without a result, with their state; of the newest evaluation unless one is named. If a call waits for its child
   * conversation, the child's calls are returned in its place. An evaluation that has ended has none.
   */
  pending(options?: EvaluationOptions): readonly PendingCall[];
  /** The inputs that were sent and not placed yet, in sending order. */
  queue(): readonly QueuedInput[];
}

/** The items of a slice at the time of the selection. */
export interface Selection<Item> {
  all(): readonly Item[];
  latest(): Item | undefined;
  where(predicate: (item: Item) => boolean): readonly Item[];
}

/** The value of a slice at the time of the selection. */
export interface ValueSelection<Value> {
  get(): Value;
}

/** What `select` returns for a slice: its items, or its value. */
export type SelectionOf<S extends AnySlice> = S extends { readonly holds: 'value' }
  ? ValueSelection<StateOf<S>>
  : Selection<ItemOf<S>>;

/** A slice that is part of the record: selected like any other, folded by `record.ts`. */
function builtIn<Item>(name: string): Slice<Item, Record<never, never>> {
  return { name, version: 1, initial: [], rollback: false, persist: true, on: {} };
}

/** Every message, in log order. */
export const messages: Slice<ConversationMessage, Record<never, never>> = builtIn('messages');
/** Every evaluation, in the order of their first event. */
export const evaluations: Slice<Evaluation, Record<never, never>> = builtIn('evaluations');
/** Every start of a tool that is not `read`. */
export const toolStarts: Slice<ToolStarted, Record<never, never>> = builtIn('toolStarts');
/** Every capture of adapter state. */
export const adapterStates: Slice<AdapterStateSnapshot, Record<never, never>> = builtIn('adapterStates');
/** The usage of each response. */
export const usage: Slice<UsageRecord, Record<never, never>> = builtIn('usage');

const BUILT_IN = {
  messages: (state: SessionState) => state.record.messages,
  evaluations: (state: SessionState) => state.record.evaluations.items,
  toolStarts: (state: SessionState) => state.record.toolStarts,
  adapterStates: (state: SessionState) => state.record.adapterStates,
  usage: (state: SessionState) => state.record.usage,
} as const;

/** The items of a slice in a state, or undefined when the state does not have the slice. */
export function itemsOf(state: SessionState, name: string): readonly unknown[] | undefined {
  if (Object.hasOwn(BUILT_IN, name))
    return frozenEach<unknown>(BUILT_IN[name as keyof typeof BUILT_IN](state).toArray());
  const items = state.slices.get(name);
  return items && itemsAsArray(items);
}

/** Selects a slice from a state; undefined when the state does not have the slice. */
export function selectFrom<S extends AnySlice>(state: SessionState, slice: S): SelectionOf<S> | undefined {
  const items = itemsOf(state, slice.name);
  if (!items) return undefined;
  const selection = slice.holds === 'value' ? { get: () => heldBy(slice, items) } : selectionOf(items);
  return selection as SelectionOf<S>;
}

/** A selection over fixed items. */
export function selectionOf<Item>(items: readonly Item[]): Selection<Item> {
  return {
    all: () => items,
    latest: () => items.at(-1),
    where: (predicate) => items.filter(predicate),
  };
}
