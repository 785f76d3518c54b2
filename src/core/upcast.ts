import { HoldfastError, messageOf } from './errors.ts';
import type { SessionEvent } from './events.ts';

/**
 * Turns an event as it was written long ago into what it is called today. Events are persisted as they are and never
 * rewritten; reading is where the past is translated.
 *
 * Contract: pure; keeps `seq` and `at`; an event it does not recognise is returned as it is.
 */
export type Upcaster = (event: SessionEvent) => SessionEvent;

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
    current = { ...next, seq: event.seq, at: event.at };
    if (current.type === type) return current;
  }
  return current;
}

/** Brings a page of a log up to date: the same page when there is nothing to translate. */
export function upcastAll(events: readonly SessionEvent[], upcasters: Upcasters = {}): readonly SessionEvent[] {
  const isNeeded = Object.keys(BUILT_IN_UPCASTERS).length + Object.keys(upcasters).length > 0;
  return isNeeded ? events.map((event) => upcast(event, upcasters)) : events;
}

function translate(up: Upcaster, event: SessionEvent): SessionEvent {
  let why = 'it gave no event';
  let cause: unknown;
  try {
    const next = up(event);
    if (typeof next?.type === 'string') return next;
  } catch (error) {
    why = messageOf(error);
    cause = error;
  }
  throw new HoldfastError(
    'EVENT_INVALID',
    `the upcaster of ${event.type} could not translate event ${event.seq}: ${why}; it must take every event of that type`,
    { cause },
  );
}

function own(upcasters: Upcasters, type: string): Upcaster | undefined {
  return Object.hasOwn(upcasters, type) ? upcasters[type] : undefined;
}
