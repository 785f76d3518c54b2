import { HoldfastError, messageOf } from './errors.ts';
import type { LooseEvent, SessionEvent } from './events.ts';

/**
 * Turns an event as it was written long ago into what it is called today. Events are persisted as they are and never
 * rewritten; reading is where the past is translated.
 *
 * Contract: pure; keeps `seq` and `at`; an event it does not recognise is returned as it is. It also runs before an append, on events
 * that have no `seq` yet (0): what it throws then rejects the append.
 */
export type Upcaster = (event: SessionEvent) => LooseEvent;

/** Upcasters by the type an event was written with. Chains: the answer's type is looked up again, up to eight times. */
export type Upcasters = Readonly<Record<string, Upcaster>>;

/** Translations of our own old events: none yet, this is the first version. */
const BUILT_IN_UPCASTERS: Upcasters = {};

/** Brings an event up to date; the user's upcasters come after ours. */
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
 * Brings an event of a log up to date. One that cannot be translated is kept as it was written and reported: no reducer folds it, as
 * if its type were unknown, and the log can be read.
 */
export function upcastLogged(event: SessionEvent, upcasters: Upcasters, onError: UpcastErrorHandler): SessionEvent {
  try {
    return upcast(event, upcasters);
  } catch (error) {
    onError(event, error);
    return Object.defineProperty({ ...event }, UNTRANSLATED, { value: true });
  }
}

/** Brings a page of a log up to date: the same page when there is nothing to translate. */
export function upcastPage(
  events: readonly SessionEvent[],
  upcasters: Upcasters,
  onError: UpcastErrorHandler,
): readonly SessionEvent[] {
  return hasUpcasters(upcasters) ? events.map((event) => upcastLogged(event, upcasters, onError)) : events;
}

/** Throws `EVENT_INVALID` when an event on its way into a log could not be translated when it is read. */
export function checkUpcast(event: { readonly type: string }, at: string, upcasters: Upcasters): void {
  if (hasUpcasters(upcasters)) upcast({ ...event, seq: 0, at } as SessionEvent, upcasters);
}

const UNTRANSLATED = Symbol('untranslated');

/** Whether an event was kept as it was written because its upcaster failed. */
export function isUntranslated(event: SessionEvent): boolean {
  return (event as { readonly [UNTRANSLATED]?: true })[UNTRANSLATED] === true;
}

function hasUpcasters(upcasters: Upcasters): boolean {
  for (const _ in upcasters) return true;
  for (const _ in BUILT_IN_UPCASTERS) return true;
  return false;
}

function translate(up: Upcaster, event: SessionEvent): SessionEvent {
  let why = 'it gave no event';
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
    `the upcaster of ${event.type} could not translate ${event.seq > 0 ? `event ${event.seq}` : 'this event'}: ${why}; it must take every event of that type`,
    { cause },
  );
}

function own(upcasters: Upcasters, type: string): Upcaster | undefined {
  return Object.hasOwn(upcasters, type) ? upcasters[type] : undefined;
}
