import type { NewEvent } from '../core/events.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { checkEventSize, hasLargeContent, LONGEST_ESCAPE, storeApart } from './contents.ts';
import { isoTime } from './iso-time.ts';
import { plainCopy } from './plain-copy.ts';
import { validateEvent } from './validate-event.ts';

const DEFAULT_MAX_EVENT_LENGTH = 4 * 1024 * 1024;
const DEFAULT_MAX_INLINE_LENGTH = 256 * 1024;

export interface EventIntakeOptions {
  readonly store: Store;
  readonly id: string;
  readonly clock: Clock;
  readonly redact?: (event: NewEvent) => NewEvent;
  readonly maxEventLength?: number;
  readonly maxInlineLength?: number;
}

/** An event that is ready, and how many characters it holds. */
interface Accepted {
  readonly ready: NewEvent;
  readonly characters: number;
}

/** What happens to an event before it may be appended: it is copied, checked, dated and redacted, and its large content moved. */
export class EventIntake {
  readonly #options: EventIntakeOptions;
  /** The events that are ready, and how many characters each holds. */
  readonly #prepared = new WeakMap<object, number>();

  constructor(options: EventIntakeOptions) {
    this.#options = options;
  }

  /** Makes an event ready that waits in a transaction: it is taken as it is when that is appended. */
  prepare(event: { readonly type: string; readonly [field: string]: unknown }, maxDepth?: number): NewEvent {
    const { ready, characters } = this.#take(event, maxDepth);
    this.#prepared.set(ready, characters);
    return ready;
  }

  /**
   * Makes events ready to be appended; a promise when large content has to be stored apart first (D58). `plain` says that they
   * are already what a copy of them would be, and how many characters they hold.
   */
  accept(
    events: readonly { readonly type: string; readonly [field: string]: unknown }[],
    plain?: number,
  ): readonly NewEvent[] | Promise<readonly NewEvent[]> {
    const { store, id, maxInlineLength = DEFAULT_MAX_INLINE_LENGTH } = this.#options;
    if (plain !== undefined && this.#isSmall(plain, maxInlineLength)) return this.#date(events);
    const accepted = events.map((event): Accepted => {
      const characters = this.#prepared.get(event);
      return characters === undefined ? this.#take(event) : { ready: event as NewEvent, characters };
    });
    const isLarge = ({ ready, characters }: Accepted): boolean =>
      characters > maxInlineLength && hasLargeContent(ready, maxInlineLength);
    if (!accepted.some(isLarge)) {
      for (const { ready, characters } of accepted) this.#checkSize(ready, characters);
      return accepted.map(({ ready }) => ready);
    }
    return Promise.all(accepted.map(({ ready }) => storeApart(store, id, ready, maxInlineLength))).then((moved) => {
      for (const event of moved) this.#checkSize(event, undefined);
      return moved;
    });
  }

  /** Whether events that hold so many characters need no more than their time. */
  #isSmall(characters: number, maxInlineLength: number): boolean {
    const { redact, maxEventLength = DEFAULT_MAX_EVENT_LENGTH } = this.#options;
    return !redact && characters <= maxInlineLength && characters * LONGEST_ESCAPE < maxEventLength;
  }

  #date(events: readonly { readonly type: string; at?: string }[]): readonly NewEvent[] {
    const at = isoTime(this.#options.clock);
    for (const event of events) {
      validateEvent(event);
      event.at = at;
    }
    return events as readonly NewEvent[];
  }

  #take(event: { readonly type: string }, maxDepth?: number): Accepted {
    const { clock, redact } = this.#options;
    const at = isoTime(clock);
    const asGiven = dated(event, at, maxDepth);
    return redact ? dated(redact(asGiven.ready), at, maxDepth) : asGiven;
  }

  /** The events, the first of them marked as dispatched by a tool that failed. */
  markFirst<T extends object>(events: readonly T[], count: number): readonly T[] {
    return events.map((event, i) =>
      i < count ? (this.mark(event as unknown as NewEvent, { discarded: true }) as unknown as T) : event,
    );
  }

  /** A ready event with a mark: it stays ready. */
  mark(event: NewEvent, mark: { readonly discarded: true }): NewEvent {
    const marked = { ...event, ...mark };
    const characters = this.#prepared.get(event);
    if (characters !== undefined) this.#prepared.set(marked, characters);
    return marked;
  }

  #checkSize(event: NewEvent, characters: number | undefined): void {
    checkEventSize(event, characters, this.#options.maxEventLength ?? DEFAULT_MAX_EVENT_LENGTH);
  }
}

/** A checked copy of an event, with its time. */
function dated(event: unknown, at: string, maxDepth: number | undefined): Accepted {
  const { value, characters } = plainCopy(event, maxDepth);
  const ready = validateEvent(value) as { type: string; at?: string };
  ready.at = at; // the copy is ours
  return { ready: ready as NewEvent, characters };
}
