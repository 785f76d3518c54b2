import type { NewEvent } from '../core/events.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { checkEventSize, hasLargeContent, storeApart } from './contents.ts';
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

/** What happens to an event before it may be appended: it is copied, checked, dated and redacted, and its large content moved. */
export class EventIntake {
  readonly #options: EventIntakeOptions;
  /** The events that are ready, and how many characters each holds. */
  readonly #prepared = new WeakMap<object, number>();

  constructor(options: EventIntakeOptions) {
    this.#options = options;
  }

  /** Makes an event ready, once: a staged event is ready when its transaction is appended. */
  prepare(event: { readonly type: string; readonly [field: string]: unknown }, maxDepth?: number): NewEvent {
    if (this.#prepared.has(event)) return event as NewEvent;
    const { clock, redact } = this.#options;
    const at = new Date(clock.now()).toISOString();
    const asGiven = this.#take(event, at, maxDepth);
    return redact ? this.#take(redact(asGiven), at, maxDepth) : asGiven;
  }

  #take(event: unknown, at: string, maxDepth: number | undefined): NewEvent {
    const { value, characters } = plainCopy(event, maxDepth);
    const ready = { ...validateEvent(value), at } as NewEvent;
    this.#prepared.set(ready, characters);
    return ready;
  }

  /** A ready event with a mark: it stays ready. */
  mark(event: NewEvent, mark: { readonly discarded: true }): NewEvent {
    const marked = { ...event, ...mark };
    const characters = this.#prepared.get(event);
    if (characters !== undefined) this.#prepared.set(marked, characters);
    return marked;
  }

  /** Checks the size of events; those with large content only when that is stored apart, which takes a while (D58). */
  fit(events: readonly NewEvent[]): readonly NewEvent[] | Promise<readonly NewEvent[]> {
    const { store, id, maxInlineLength = DEFAULT_MAX_INLINE_LENGTH } = this.#options;
    if (!events.some((event) => hasLargeContent(event, maxInlineLength))) return this.#checkSizes(events);
    return Promise.all(events.map((event) => storeApart(store, id, event, maxInlineLength))).then((moved) =>
      this.#checkSizes(moved),
    );
  }

  #checkSizes(events: readonly NewEvent[]): readonly NewEvent[] {
    const { maxEventLength = DEFAULT_MAX_EVENT_LENGTH } = this.#options;
    for (const event of events) checkEventSize(event, this.#prepared.get(event), maxEventLength);
    return events;
  }
}
