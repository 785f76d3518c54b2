import { HoldfastError } from './errors.ts';
import type { BuiltInEvent, EventEnvelope, OwnType, UserEvent, Without } from './events.ts';
import { frozen, frozenCopy } from './frozen.ts';
import { List } from './list.ts';
import { RECORD_SLICES } from './record-items.ts';

/**
 * Slices: typed lists folded from the log by pure reducers.
 *
 *     const plan = defineSlice({
 *       name: 'plan',
 *       initial: [] as Step[],
 *       on: { 'plan/added': (steps, event: { step: Step }) => [...steps, event.step] },
 *     });
 */

/**
 * Folds one event into a slice's items.
 *
 * Contract: pure; returns the same array when nothing changed. Items and event are frozen: changing them throws, and the slice stays
 * as it was. Items are plain data, what JSON can carry, because a snapshot holds them.
 */
// biome-ignore lint/suspicious/noExplicitAny: a handler says which fields its own event has; `dispatch` holds callers to it
export type SliceReducer<Item, Event = any> = (items: readonly Item[], event: Event) => readonly Item[];

export type SliceHandlers<Item> = { readonly [type: string]: SliceReducer<Item> };

/** A slice's definition. `Item` is what it lists, `Handlers` the events it folds. */
export interface Slice<Item = unknown, Handlers extends SliceHandlers<Item> = SliceHandlers<Item>> {
  readonly name: string;
  /** Raise it when a reducer changes: older snapshots of the slice are then folded again from the log (D6). */
  readonly version: number;
  readonly initial: readonly Item[];
  /** Whether `restore` and a failing tool undo it (D5, D21). */
  readonly rollback: boolean;
  /** Whether snapshots hold it. A slice that is not held is folded from the whole log on opening. */
  readonly persist: boolean;
  readonly on: Handlers;
}

/** Any slice, whatever it lists. */
// biome-ignore lint/suspicious/noExplicitAny: a slice is invariant in its item; lists of slices need the top type
export type AnySlice = Slice<any, any>;

/** The items of a slice. */
export type ItemOf<S> = S extends Slice<infer Item, infer _> ? Item : never;

/** The events that a slice folds, as they are dispatched. */
export type EventOf<S> =
  S extends Slice<infer Item, infer Handlers>
    ? {
        [T in keyof Handlers & string]: Handlers[T] extends EventReducer
          ? { readonly type: T } & WithoutEnvelope<Item>
          : Handlers[T] extends (items: never, event: infer Event) => unknown
            ? { readonly type: T } & WithoutEnvelope<Event>
            : never;
      }[keyof Handlers & string]
    : never;

type WithoutEnvelope<Event> = Without<Event, keyof EventEnvelope | 'type'>;

/** Exists for the compiler only. */
declare const unlisted: unique symbol;

/** An event that none of the session's slices folds: its fields are unknown. */
export type UnlistedEvent = UserEvent & { readonly type: OwnType & { readonly [unlisted]: true } };

/**
 * An event in the log of a session with these slices: one of ours, of one of the slices, or any other. `event.type === '…'` narrows
 * it.
 */
export type EventIn<Slices extends readonly AnySlice[]> =
  | BuiltInEvent
  | UnlistedEvent
  | Extract<LoggedEventOf<Slices[number]>, UserEvent>; // `Extract` says what holds for any slices

/** A slice's events as the log has them. Built-in events have their own fields, whatever a slice reads of them. */
type LoggedEventOf<S> = S extends unknown ? LoggedEvent<EventOf<S>> : never;
type LoggedEvent<Event> = Event extends { readonly type: infer Type extends string }
  ? Type extends BuiltInEvent['type']
    ? never
    : string extends Type
      ? UserEvent // which slices the session has is not known here
      : Flat<EventEnvelope & Omit<Event, 'type'> & { readonly type: OwnType<Type> }>
  : never;

type Flat<T> = { readonly [K in keyof T]: T[K] };

const NAME = /^[a-z][\w-]*$/i;
const RESERVED = new Set<string>([...RECORD_SLICES, 'constructor']);

/** The items of a slice that begins with a bare `[]`: whatever its events are. */
type KnownItem<Item> = [Item] extends [never] ? UserEvent : Item;

/** Defines a slice: what it is called, what it starts with and how each event changes it. */
export function defineSlice<Item, const Handlers extends SliceHandlers<KnownItem<Item>>>(options: {
  readonly name: string;
  readonly initial: readonly Item[];
  readonly on: Handlers;
  readonly version?: number;
  readonly rollback?: boolean;
  readonly persist?: boolean;
}): Slice<KnownItem<Item>, Handlers> {
  const { name, initial, on, version = 1, rollback = true, persist = true } = options;
  if (!NAME.test(name) || RESERVED.has(name)) {
    throw new HoldfastError('INVALID_ARGUMENT', `"${name}" cannot name a slice; use letters, digits, - and _`);
  }
  if (!Array.isArray(initial)) {
    throw new HoldfastError('INVALID_ARGUMENT', `slice "${name}": initial must be an array, [] to begin with nothing`);
  }
  if (!Number.isSafeInteger(version) || version < 0) {
    throw new HoldfastError('INVALID_ARGUMENT', `slice "${name}": version must be a whole number, not ${version}`);
  }
  return { name, initial: frozenCopy(initial) as readonly KnownItem<Item>[], on, version, rollback, persist };
}

/** A ready-made reducer whose items are the events themselves. It knows the persistent list: its cost does not grow. */
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

/** A slice's items: an array as a user's reducer makes it, or the persistent list of a ready-made one. */
export type SliceItems = readonly unknown[] | List<unknown>;

/** The items as an array, made at most once. */
export function itemsAsArray(items: SliceItems): readonly unknown[] {
  return items instanceof List ? items.toArray() : items;
}

/**
 * Runs one reducer; the same items when nothing changed. Throws when it returns something else than items, or changes what it was
 * given: both are frozen, so that no reducer, view or listener can change a state that others share (D69).
 */
export function reduceSlice(reducer: SliceReducer<unknown>, items: SliceItems, event: UserEvent): SliceItems {
  frozen(event);
  if (!('onList' in reducer)) {
    const before = itemsAsArray(items);
    const next: unknown = reducer(before, event);
    if (!Array.isArray(next)) throw new TypeError('a reducer returns an array of items, at once');
    return next === before ? items : frozenItems(next, before);
  }
  const list = items instanceof List ? items : List.from(items);
  return (reducer as EventReducer).onList(list, event);
}

/** The items, frozen. Those that the reducer took over from `before` are frozen already. */
function frozenItems(items: readonly unknown[], before: readonly unknown[]): readonly unknown[] {
  for (let i = 0; i < items.length; i++) if (items[i] !== before[i]) frozen(items[i]);
  return Object.freeze(items);
}
