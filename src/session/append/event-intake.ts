import { HoldfastError } from '../../core/errors.ts';
import { findCall } from '../../core/fold/evaluations.ts';
import { nearestName } from '../../core/known-options.ts';
import {
  isBuiltInEvent,
  type NewEvent,
  type SessionEvent,
  type ToolApproved,
  type UnstoredEvent,
} from '../../core/log/events.ts';
import type { CallRef } from '../../core/log/messages.ts';
import { checkUpcast, type Upcasters, upcast } from '../../core/log/upcast.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ContentWrite } from '../../ports/store.ts';
import { checkEventSize, hasExternalContent, LONGEST_ESCAPE, moveContent } from '../read/contents.ts';
import type { FoldedLog } from '../read/folded-log.ts';
import type { AnyEvent } from './append-for-loop.ts';
import { isoTime } from './iso-time.ts';
import { plainCopy } from './plain-copy.ts';
import {
  argumentsIn,
  checkIdentity,
  type ExactArguments,
  hasEdit,
  identityOf,
  markRedacted,
  withoutEdit,
} from './redact-event.ts';
import { validateEvent } from './validate-event.ts';

const DEFAULT_MAX_EVENT_LENGTH = 4 * 1024 * 1024;
const DEFAULT_MAX_INLINE_LENGTH = 256 * 1024;

export interface EventIntakeOptions {
  readonly clock: Clock;
  readonly redact?: (event: UnstoredEvent) => NewEvent;
  readonly maxEventLength?: number;
  readonly maxInlineLength?: number;
  readonly upcasters?: Upcasters;
  /** The session's log, with the slices that it has by now. */
  readonly log: Pick<FoldedLog, 'state' | 'fold'>;
  /** Receives the contents that were moved out of events. */
  readonly hold: (contents: readonly ContentWrite[]) => void;
}

/** Events that may be appended, and the contents that they refer to. */
export interface AcceptedEvents {
  readonly events: readonly NewEvent[];
  readonly contents?: readonly ContentWrite[];
  /** Arguments that redaction took out of the events (D77). */
  readonly exact?: readonly ExactArguments[];
}

/** How many characters a ready event holds, and which arguments redaction took out of it. */
interface Taken {
  readonly characters: number;
  readonly exact?: readonly ExactArguments[];
}

interface Accepted extends Taken {
  readonly ready: NewEvent;
}

/** What happens to an event before it may be appended: it is copied, checked, dated and redacted, and its large content moved. */
export class EventIntake {
  readonly #options: EventIntakeOptions;
  readonly #upcasters: Upcasters;
  /** The events that are ready. */
  readonly #prepared = new WeakMap<object, Taken>();

  constructor(options: EventIntakeOptions) {
    this.#options = options;
    this.#upcasters = options.upcasters ?? {};
  }

  /**
   * Refuses an event that is neither built in nor folded by a slice, now or after its upcaster: nearly always its type is misspelt, and
   * the state would lack it without a word. Slices declare events; `append` takes any.
   */
  checkDeclared(event: NewEvent): void {
    const { type } = event;
    const declared = this.#options.log.fold.types;
    if (declared.has(type) || Object.hasOwn(this.#upcasters, type) || isBuiltInEvent(event)) return;
    const nearest = nearestName(type, [...declared]);
    throw new HoldfastError(
      'EVENT_INVALID',
      `no slice of this session folds "${type}"; ${nearest ? `did you mean "${nearest}"? ` : ''}open the session with the slice that does, declare the event in one ('${type}': (state) => state), or record it with append`,
    );
  }

  /** Makes an event ready that waits in a transaction: it is taken as it is when that is appended. */
  prepare(event: AnyEvent, maxDepth?: number): NewEvent {
    const { ready, ...taken } = this.#take(event, maxDepth);
    this.#prepared.set(ready, taken);
    return ready;
  }

  /**
   * Makes events ready to be appended; large content is moved out of them (D58). With `plain` they are valid, need no copy
   * and hold that many characters.
   */
  accept(events: readonly AnyEvent[], plain?: number): AcceptedEvents {
    const { maxInlineLength = DEFAULT_MAX_INLINE_LENGTH } = this.#options;
    const hasExternal = (event: { readonly type: string }): boolean => hasExternalContent(event, maxInlineLength);
    if (plain !== undefined && this.#isSmall(plain, maxInlineLength) && !events.some(hasExternal)) {
      return { events: this.#date(events) };
    }
    const accepted = events.map((event): Accepted => {
      const taken = this.#prepared.get(event);
      return taken ? { ready: event as NewEvent, ...taken } : this.#take(event);
    });
    const exact = accepted.some((one) => one.exact) && { exact: accepted.flatMap((one) => one.exact ?? []) };
    if (!accepted.some(({ ready }) => hasExternal(ready))) {
      for (const { ready, characters } of accepted) this.#checkSize(ready, characters);
      return { events: accepted.map(({ ready }) => ready), ...exact };
    }
    const moved = accepted.map(({ ready }, i) => moveContent(ready, i, maxInlineLength));
    for (const { event } of moved) this.#checkSize(event, undefined);
    const contents = moved.flatMap((one) => one.contents);
    this.#options.hold(contents);
    return { events: moved.map(({ event }) => event), contents, ...exact };
  }

  /** Whether events that hold so many characters need no more than their time. */
  #isSmall(characters: number, maxInlineLength: number): boolean {
    const { redact, maxEventLength = DEFAULT_MAX_EVENT_LENGTH } = this.#options;
    return !redact && characters <= maxInlineLength && characters * LONGEST_ESCAPE < maxEventLength;
  }

  #date(events: readonly { readonly type: string; at?: string }[]): readonly NewEvent[] {
    const at = isoTime(this.#options.clock);
    for (const event of events) {
      checkUpcast(event, at, this.#upcasters);
      event.at = at;
    }
    return events as readonly NewEvent[];
  }

  #take(event: { readonly type: string }, maxDepth?: number): Accepted {
    const { clock, redact } = this.#options;
    refuseEnvelope(event);
    const at = isoTime(clock);
    const asGiven = dated(event, at, maxDepth);
    const isApart = hasEdit(asGiven.ready) && (redact !== undefined || this.#isRedacted(asGiven.ready));
    const accepted = redact || isApart ? this.#redacted(asGiven, { at, maxDepth, isApart }) : asGiven;
    checkUpcast(accepted.ready, at, this.#upcasters);
    return accepted;
  }

  /** Whether the log holds redacted arguments of a call: then edited ones do not belong there either. */
  #isRedacted(call: CallRef): boolean {
    return findCall(this.#options.log.state.record.evaluations, call)?.argumentsRedacted === true;
  }

  /** The event as it is recorded, and the arguments that its calls run with (D77). */
  #redacted(
    { ready, characters }: Accepted,
    how: { readonly at: string; readonly maxDepth: number | undefined; readonly isApart: boolean },
  ): Accepted {
    const { redact } = this.#options;
    const edit = how.isApart && hasEdit(ready) ? withoutEdit(ready) : undefined;
    const given = edit?.event ?? ready;
    const before = argumentsIn(given);
    const identity = redact && identityOf(given);
    const accepted = redact
      ? dated(redact(given as UnstoredEvent), how.at, how.maxDepth)
      : { ready: given, characters };
    if (redact) checkIdentity(identity, accepted.ready);
    // Whatever `redact` returned: without this mark the tool would run with the arguments that the person did not want.
    if (edit && accepted.ready.type === 'tool/approved') {
      return { ...accepted, ready: withoutEdit(accepted.ready as ToolApproved).event, exact: edit.exact };
    }
    const exact = before ? markRedacted(accepted.ready, before) : [];
    return exact.length > 0 ? { ...accepted, exact } : accepted;
  }

  /** The events, the first `count` of them marked as dispatched by a tool that failed. Marked events are ready. */
  markFirst(events: readonly AnyEvent[], count: number): readonly AnyEvent[] {
    return events.map((event, i) => {
      if (i >= count) return event;
      const ready = this.#prepared.has(event) ? event : (this.prepare(event) as AnyEvent);
      const marked = { ...ready, discarded: true };
      this.#prepared.set(marked, this.#prepared.get(ready) ?? { characters: 0 });
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
