import { HoldfastError } from '../errors.ts';
import { frozen, frozenCopy } from '../frozen.ts';
import { List } from '../list.ts';
import type { BuiltInEvent, EventEnvelope, OwnType, UserEvent, Without } from '../log/events.ts';
import { RECORD_SLICES } from './record-items.ts';

/**
 * Slices: typed state folded from the log by pure reducers, a list of items or any other value.
 *
 *     const plan = defineSlice({
 *       name: 'plan',
 *       initial: [] as Step[],
 *       on: { 'plan/added': (steps, event: { step: Step }) => [...steps, event.step] },
 *     });
 *     const budget = defineSlice({
 *       name: 'budget',
 *       initial: { cents: 0 },
 *       on: { 'budget/raised': ({ cents }, event: { by: number }) => ({ cents: cents + event.by }) },
 *     });
 *
 * States, snapshots and logs hold a value as a list of one item, so that code that stores slices treats both kinds alike.
 */

/**
 * Folds one event into a slice's items.
 *
 * Contract: pure; returns the same array when nothing changed. Items and event are frozen: changing them throws, and the slice does not
 * change. Items are plain JSON data, because a snapshot contains them.
 */
// biome-ignore lint/suspicious/noExplicitAny: a handler declares the fields of its event; `dispatch` checks callers against it
export type SliceReducer<Item, Event = any> = (items: readonly Item[], event: Event) => readonly Item[];

/**
 * Folds one event into a slice's value.
 *
 * Contract: pure; returns the same value when nothing changed, and never undefined. Value and event are frozen plain data, as in
 * `SliceReducer`.
 */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type ValueReducer<Value, Event = any> = (value: Value, event: Event) => Value;

export type SliceHandlers<Item> = { readonly [type: string]: SliceReducer<Item> };
export type ValueHandlers<Value> = { readonly [type: string]: ValueReducer<Value> };

interface SliceBase<Handlers> {
  readonly name: string;
  /** Raise it when a reducer changes: the slice is then folded again from the log instead of loaded from an older snapshot. */
  readonly version: number;
  /** Whether `restore` and a failing tool undo its changes. */
  readonly rollback: boolean;
  /** Whether snapshots contain it. Otherwise it is folded from the whole log on opening. */
  readonly persist: boolean;
  readonly on: Handlers;
}

/** The definition of a slice that holds a list of `Item`. `Handlers` are the events that it folds. */
export interface Slice<Item = unknown, Handlers extends SliceHandlers<Item> = SliceHandlers<Item>>
  extends SliceBase<Handlers> {
  readonly holds?: undefined;
  readonly initial: readonly Item[];
}

/** The definition of a slice that holds one value, which is not a list. */
export interface ValueSlice<Value = unknown, Handlers = ValueHandlers<Value>> extends SliceBase<Handlers> {
  readonly holds: 'value';
  readonly initial: Value;
}

/** Any slice, of a list or a value. */
// biome-ignore lint/suspicious/noExplicitAny: a slice is invariant in what it holds; lists of slices need the top type
export type AnySlice = Slice<any, any> | ValueSlice<any, any>;

/** The items of a slice that is a list. */
export type ItemOf<S> = S extends Slice<infer Item, infer _> ? Item : never;

/** What a slice holds: its list of items, or its value. */
export type StateOf<S> =
  S extends Slice<infer Item, infer _> ? readonly Item[] : S extends ValueSlice<infer Value, infer _> ? Value : never;

/** The events that a slice folds, as they are dispatched. */
export type EventOf<S> =
  S extends SliceBase<infer Handlers>
    ? {
        [T in keyof Handlers & string]: Handlers[T] extends EventReducer
          ? { readonly type: T } & WithoutEnvelope<ItemOf<S>>
          : Handlers[T] extends (held: never, event: infer Event) => unknown
            ? { readonly type: T } & WithoutEnvelope<Event>
            : never;
      }[keyof Handlers & string]
    : never;

type WithoutEnvelope<Event> = Without<Event, keyof EventEnvelope | 'type'>;

/** Only for the compiler. */
declare const unlisted: unique symbol;

/** An event that none of the session's slices folds: its fields are unknown. */
export type UnlistedEvent = UserEvent & { readonly type: OwnType & { readonly [unlisted]: true } };

/**
 * An event in the log of a session with these slices: a built-in one, one of the slices', or any other. `event.type === '…'` narrows
 * it.
 */
export type EventIn<Slices extends readonly AnySlice[]> =
  | BuiltInEvent
  | UnlistedEvent
  | Extract<LoggedEventOf<Slices[number]>, UserEvent>; // `Extract` holds for any slices

/** A slice's events as the log has them. Built-in events have their own fields, whatever a slice reads of them. */
type LoggedEventOf<S> = S extends unknown ? LoggedEvent<EventOf<S>> : never;
type LoggedEvent<Event> = Event extends { readonly type: infer Type extends string }
  ? Type extends BuiltInEvent['type']
    ? never
    : string extends Type
      ? UserEvent // the session's slices are not known here
      : Flat<EventEnvelope & Omit<Event, 'type'> & { readonly type: OwnType<Type> }>
  : never;

type Flat<T> = { readonly [K in keyof T]: T[K] };

const NAME = /^[a-z][\w-]*$/i;
const RESERVED = new Set<string>([...RECORD_SLICES, 'constructor']);

/** The items of a slice whose `initial` is a bare `[]`: its events. */
type KnownItem<Item> = [Item] extends [never] ? UserEvent : Item;

export interface SliceOptions<Initial, Handlers> {
  readonly name: string;
  readonly initial: Initial;
  readonly on: Handlers;
  readonly version?: number;
  readonly rollback?: boolean;
  readonly persist?: boolean;
}

/** The handlers of a slice that holds a value. Those of a list are repeated, so that the compiler reports the wrong handler itself. */
type HandlersOf<Initial> = [Initial] extends [readonly (infer Item)[]]
  ? SliceHandlers<KnownItem<Item>>
  : ValueHandlers<Initial>;

/**
 * Defines a slice: its name, its initial state and how each event changes it. If `initial` is an array, the slice holds a list of items.
 * Any other JSON value is replaced by each reducer; use null as `initial` if the value may become a list.
 */
export function defineSlice<Item, const Handlers extends SliceHandlers<KnownItem<Item>>>(
  options: SliceOptions<readonly Item[], Handlers>,
): Slice<KnownItem<Item>, Handlers>;
export function defineSlice<Initial, const Handlers extends HandlersOf<Initial>>(
  options: SliceOptions<Initial, Handlers>,
): ValueSlice<Initial, Handlers>;
export function defineSlice(options: SliceOptions<unknown, ValueHandlers<unknown>>): unknown {
  const { name, initial, on, version = 1, rollback = true, persist = true } = options;
  if (!NAME.test(name) || RESERVED.has(name)) {
    throw new HoldfastError('INVALID_ARGUMENT', `"${name}" cannot name a slice; use letters, digits, - and _`);
  }
  if (!isJsonValue(initial)) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `slice "${name}": initial must be a JSON value: [] for an empty list, null for no value yet`,
    );
  }
  if (!Number.isSafeInteger(version) || version < 0) {
    throw new HoldfastError('INVALID_ARGUMENT', `slice "${name}": version must be a whole number, not ${version}`);
  }
  const slice = { name, initial: frozenCopy(initial), on, version, rollback, persist };
  return Array.isArray(initial) ? slice : { ...slice, holds: 'value' };
}

/** Whether JSON can represent a value, judged by its first level. */
function isJsonValue(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'object') return !(value instanceof Map || value instanceof Set || value instanceof Promise);
  return typeof value === 'string' || typeof value === 'boolean';
}

/** A ready-made reducer whose items are the events themselves. It uses the persistent list: its cost does not grow. */
export interface EventReducer {
  <Event>(items: readonly Event[], event: Event): readonly Event[];
  readonly onList: <Event>(items: List<Event>, event: Event) => List<Event>;
}

/** Appends every event. */
export const appendAll: EventReducer = Object.assign(
  <Event>(items: readonly Event[], event: Event): readonly Event[] => [...items, event],
  { onList: <Event>(items: List<Event>, event: Event): List<Event> => items.push(event) },
);

/** Keeps only the newest event. */
export const replaceLatest: EventReducer = Object.assign(
  <Event>(_: readonly Event[], event: Event): readonly Event[] => [event],
  { onList: <Event>(_: List<Event>, event: Event): List<Event> => List.empty<Event>().push(event) },
);

/** Replaces the item with the event's key, or appends the event. */
export function upsertBy<Event>(
  key: (item: Event) => string | number,
): (items: readonly Event[], event: Event) => readonly Event[] {
  return (items, event) => {
    const wanted = key(event);
    const at = items.findIndex((item) => key(item) === wanted);
    return at < 0 ? [...items, event] : items.with(at, event);
  };
}

/** A slice's items: an array from a user's reducer, or the persistent list of a ready-made one. */
export type SliceItems = readonly unknown[] | List<unknown>;

/** The initial items of a slice, as the state holds them. */
export function initialItems(slice: AnySlice): readonly unknown[] {
  return slice.holds === 'value' ? Object.freeze([slice.initial]) : slice.initial;
}

/** Whether stored items fit a slice: a value is one item. */
export function fitsSlice(slice: AnySlice, items: unknown): items is readonly unknown[] {
  return Array.isArray(items) && (slice.holds !== 'value' || items.length === 1);
}

/** The list or the value of a slice, from its items. */
export function heldBy<S extends AnySlice>(slice: S, items: readonly unknown[]): StateOf<S> {
  return (slice.holds === 'value' ? items[0] : items) as StateOf<S>;
}

/** The items as an array, created at most once. */
export function itemsAsArray(items: SliceItems): readonly unknown[] {
  return items instanceof List ? items.toArray() : items;
}

/** Folds one event into a slice's items; returns the same items when nothing changed. Throws what `reduceSlice` and `reduceValue` throw. */
export function applyToSlice(slice: AnySlice, items: SliceItems, event: UserEvent): SliceItems {
  const reducer = slice.on[event.type];
  return slice.holds === 'value'
    ? reduceValue(reducer, itemsAsArray(items), event)
    : reduceSlice(reducer, items, event);
}

/** The same for a slice that holds a value. Throws when the reducer returns undefined or a promise. */
function reduceValue(reducer: ValueReducer<unknown>, items: readonly unknown[], event: UserEvent): readonly unknown[] {
  const [before] = items;
  const next = reducer(before, frozen(event));
  if (Object.is(next, before)) return items;
  if (!isJsonValue(next)) throw new TypeError('a reducer must return a JSON value, synchronously');
  return frozen([next]);
}

/**
 * Runs one reducer of a list; returns the same items when nothing changed. Throws when the reducer returns anything but items, or changes
 * its arguments: both are frozen, so that no reducer, view or listener can change a shared state (D69).
 */
export function reduceSlice(reducer: SliceReducer<unknown>, items: SliceItems, event: UserEvent): SliceItems {
  frozen(event);
  if (!('onList' in reducer)) {
    const before = itemsAsArray(items);
    const next: unknown = reducer(before, event);
    if (!Array.isArray(next)) throw new TypeError('a reducer must return an array of items, synchronously');
    return next === before ? items : frozenItems(next, before);
  }
  const list = items instanceof List ? items : List.from(items);
  return (reducer as EventReducer).onList(list, event);
}

/** Freezes the items. Those that the reducer took from `before` are already frozen. */
function frozenItems(items: readonly unknown[], before: readonly unknown[]): readonly unknown[] {
  for (let i = 0; i < items.length; i++) if (items[i] !== before[i]) frozen(items[i]);
  return Object.freeze(items);
}
