import { HoldfastError, messageOf } from '../errors.ts';
import type { LooseEvent, SessionEvent } from './events.ts';

/**
 * Translates an event of an older version into its current form. Stored events are never rewritten; they are translated when they are
 * read.
 *
 * Contract: pure; keeps `seq` and `at`; returns an unknown event unchanged. It also runs before an append, on events without a `seq`
 * (0); an error then rejects the append.
 */
export type Upcaster = (event: SessionEvent) => LooseEvent;

/** Upcasters by the type an event was written with. Chained: the returned type is looked up again, up to eight times. */
export type Upcasters = Readonly<Record<string, Upcaster>>;

/** Translations of our own old events: none yet, this is the first version. */
const BUILT_IN_UPCASTERS: Upcasters = {};

/** Translates an event to its current form: first by the built-in upcasters, then by the user's. */
export function upcast(event: SessionEvent, upcasters: Upcasters = {}): SessionEvent {
  let current = event;
  for (let step = 0; step < 8; step++) {
    const { type } = current;
    const up = own(BUILT_IN_UPCASTERS, type) ?? own(upcasters, type);
    if (!up) return current;
    const next = translate(up, current);
    if (next === current) return current;
    current = { ...next, seq: event.seq, at: event.at } as SessionEvent;
    if (current.type === type) return current;
  }
  return current;
}

/** Receives the error of an event that could not be translated. */
export type UpcastErrorHandler = (event: SessionEvent, error: unknown) => void;

/**
 * Translates an event of a log. If that fails, the event is returned as it was written and the error is reported: no reducer folds the
 * event, as if its type were unknown, and the log stays readable.
 */
export function upcastLogged(event: SessionEvent, upcasters: Upcasters, onError: UpcastErrorHandler): SessionEvent {
  try {
    return upcast(event, upcasters);
  } catch (error) {
    onError(event, error);
    return Object.defineProperty({ ...event }, UNTRANSLATED, { value: true });
  }
}

/** Translates a page of a log; returns the same page when there is nothing to translate. */
export function upcastPage(
  events: readonly SessionEvent[],
  upcasters: Upcasters,
  onError: UpcastErrorHandler,
): readonly SessionEvent[] {
  return hasUpcasters(upcasters) ? events.map((event) => upcastLogged(event, upcasters, onError)) : events;
}

/** Throws `EVENT_INVALID` for a new event that could not be translated when the log is read. */
export function checkUpcast(event: { readonly type: string }, at: string, upcasters: Upcasters): void {
  if (hasUpcasters(upcasters)) upcast({ ...event, seq: 0, at } as SessionEvent, upcasters);
}

const UNTRANSLATED = Symbol('untranslated');

/** Whether an event was returned untranslated because its upcaster failed. */
export function isUntranslated(event: SessionEvent): boolean {
  return (event as { readonly [UNTRANSLATED]?: true })[UNTRANSLATED] === true;
}

function hasUpcasters(upcasters: Upcasters): boolean {
  for (const _ in upcasters) return true;
  for (const _ in BUILT_IN_UPCASTERS) return true;
  return false;
}

function translate(up: Upcaster, event: SessionEvent): SessionEvent {
  let why = 'it returned no event';
  let cause: unknown;
  try {
    const next = up(event);
    if (typeof next?.type === 'string') return next as SessionEvent;
  } catch (error) {
    why = messageOf(error);
    cause = error;
  }
  throw new HoldfastError(
    'EVENT_INVALID',
    `the upcaster of ${event.type} could not translate ${event.seq > 0 ? `event ${event.seq}` : 'this event'}: ${why}; it must accept every event of that type`,
    { cause },
  );
}

function own(upcasters: Upcasters, type: string): Upcaster | undefined {
  return Object.hasOwn(upcasters, type) ? upcasters[type] : undefined;
}
