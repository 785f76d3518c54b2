import { HoldfastError } from '../core/errors.ts';
import type { NewEvent, SessionEvent } from '../core/events.ts';
import { checkUpcast, type Upcasters, upcast } from '../core/upcast.ts';
import type { Clock } from '../ports/clock.ts';
import type { ContentWrite } from '../ports/store.ts';
import { checkEventSize, hasExternalContent, LONGEST_ESCAPE, moveContent } from './contents.ts';
import { isoTime } from './iso-time.ts';
import { plainCopy } from './plain-copy.ts';
import { validateEvent } from './validate-event.ts';

const DEFAULT_MAX_EVENT_LENGTH = 4 * 1024 * 1024;
const DEFAULT_MAX_INLINE_LENGTH = 256 * 1024;

export interface EventIntakeOptions {
  readonly clock: Clock;
  readonly redact?: (event: NewEvent) => NewEvent;
  readonly maxEventLength?: number;
  readonly maxInlineLength?: number;
  readonly upcasters?: Upcasters;
}

/** An event as a program passes it. */
type GivenEvent = { readonly type: string; readonly [field: string]: unknown };

/** Events that may be appended, and the contents that they refer to. */
export interface AcceptedEvents {
  readonly events: readonly NewEvent[];
  readonly contents?: readonly ContentWrite[];
}

/** An event that is ready, and how many characters it holds. */
interface Accepted {
  readonly ready: NewEvent;
  readonly characters: number;
}

/** What happens to an event before it may be appended: it is copied, checked, dated and redacted, and its large content moved. */
export class EventIntake {
  readonly #options: EventIntakeOptions;
  readonly #upcasters: Upcasters;
  /** The events that are ready, and how many characters each holds. */
  readonly #prepared = new WeakMap<object, number>();

  constructor(options: EventIntakeOptions) {
    this.#options = options;
    this.#upcasters = options.upcasters ?? {};
  }

  /** Makes an event ready that waits in a transaction: it is taken as it is when that is appended. */
  prepare(event: GivenEvent, maxDepth?: number): NewEvent {
    const { ready, characters } = this.#take(event, maxDepth);
    this.#prepared.set(ready, characters);
    return ready;
  }

  /**
   * Makes events ready to be appended; large content is moved out of them (D58). `plain` says that they are already what a copy of
   * them would be, and how many characters they hold.
   */
  accept(events: readonly GivenEvent[], plain?: number): AcceptedEvents {
    const { maxInlineLength = DEFAULT_MAX_INLINE_LENGTH } = this.#options;
    const hasExternal = (event: { readonly type: string }): boolean => hasExternalContent(event, maxInlineLength);
    if (plain !== undefined && this.#isSmall(plain, maxInlineLength) && !events.some(hasExternal)) {
      return { events: this.#date(events) };
    }
    const accepted = events.map((event): Accepted => {
      const characters = this.#prepared.get(event);
      return characters === undefined ? this.#take(event) : { ready: event as NewEvent, characters };
    });
    if (!accepted.some(({ ready }) => hasExternal(ready))) {
      for (const { ready, characters } of accepted) this.#checkSize(ready, characters);
      return { events: accepted.map(({ ready }) => ready) };
    }
    const moved = accepted.map(({ ready }, i) => moveContent(ready, i, maxInlineLength));
    for (const { event } of moved) this.#checkSize(event, undefined);
    return { events: moved.map(({ event }) => event), contents: moved.flatMap(({ contents }) => contents) };
  }

  /** Whether events that hold so many characters need no more than their time. */
  #isSmall(characters: number, maxInlineLength: number): boolean {
    const { redact, maxEventLength = DEFAULT_MAX_EVENT_LENGTH } = this.#options;
    return !redact && characters <= maxInlineLength && characters * LONGEST_ESCAPE < maxEventLength;
  }

  #date(events: readonly { readonly type: string; at?: string }[]): readonly NewEvent[] {
    const at = isoTime(this.#options.clock);
    for (const event of events) {
      checkUpcast(validateEvent(event), at, this.#upcasters);
      event.at = at;
    }
    return events as readonly NewEvent[];
  }

  #take(event: { readonly type: string }, maxDepth?: number): Accepted {
    const { clock, redact } = this.#options;
    refuseEnvelope(event);
    const at = isoTime(clock);
    const asGiven = dated(event, at, maxDepth);
    const accepted = redact ? dated(redact(asGiven.ready), at, maxDepth) : asGiven;
    checkUpcast(accepted.ready, at, this.#upcasters);
    return accepted;
  }

  /** The events, the first `count` of them marked as dispatched by a tool that failed. Marked events are ready. */
  markFirst(events: readonly GivenEvent[], count: number): readonly GivenEvent[] {
    return events.map((event, i) => {
      if (i >= count) return event;
      const ready = this.#prepared.has(event) ? event : (this.prepare(event) as GivenEvent);
      const marked = { ...ready, discarded: true };
      this.#prepared.set(marked, this.#prepared.get(ready) ?? 0);
      return marked;
    });
  }

  /** A ready event as the fold sees it once it is committed at `seq`. */
  asCommitted(event: NewEvent, seq: number): SessionEvent {
    return upcast({ ...event, seq } as SessionEvent, this.#upcasters);
  }

  #checkSize(event: NewEvent, characters: number | undefined): void {
    checkEventSize(event, characters, this.#options.maxEventLength ?? DEFAULT_MAX_EVENT_LENGTH);
  }
}

/** The fields that the session sets: what a program wrote into one of them would be lost, or would hide its event (D21). */
const ENVELOPE = ['seq', 'at', 'discarded'] as const;

function refuseEnvelope(event: object): void {
  if (typeof event !== 'object' || event === null) return; // refused for what it is
  const taken = ENVELOPE.find((field) => (event as Readonly<Record<string, unknown>>)[field] !== undefined);
  if (taken === undefined) return;
  throw new HoldfastError(
    'EVENT_INVALID',
    `an event cannot have a field "${taken}" of its own: the session sets it; give yours another name`,
  );
}

/** A checked copy of an event, with its time. */
function dated(event: unknown, at: string, maxDepth: number | undefined): Accepted {
  const { value, characters } = plainCopy(event, maxDepth === undefined ? {} : { maxDepth });
  const ready = validateEvent(value) as { type: string; at?: string };
  ready.at = at; // the copy is ours
  return { ready: ready as NewEvent, characters };
}
