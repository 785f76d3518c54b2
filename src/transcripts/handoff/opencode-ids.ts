/**
 * Ids as OpenCode makes them: a prefix, twelve hex digits of a time in milliseconds and a counter, fourteen random characters. The time
 * keeps its lower 36 bits, so ids sort by time within about two years. OpenCode compares the id of a new prompt with those of earlier
 * messages: an id of an earlier period could sort after it, so times before the present period are moved to its beginning.
 */

const PERIOD = 2 ** 36;
const COUNTERS = 0x1000;
const DIGITS = 12;
const RANDOM = 14;

/** Makes ids that sort in the order in which they are made. */
export class OpenCodeIds {
  readonly #newId: () => string;
  readonly #periodStart: number;
  /** The newest value: milliseconds and a counter. */
  #latest = 0;

  constructor(at: number, newId: () => string) {
    this.#newId = newId;
    this.#periodStart = Math.floor(at / PERIOD) * PERIOD;
  }

  message(time: number): string {
    return `msg_${this.#next(time)}`;
  }

  part(time: number): string {
    return `prt_${this.#next(time)}`;
  }

  #next(time: number): string {
    const value = Math.max((time - this.#periodStart) * COUNTERS + 1, this.#latest + 1);
    this.#latest = value;
    return hex(value) + random(this.#newId());
  }
}

/** The id of a session: newer ones sort first. */
export function openCodeSessionId(at: number, uuid: string): string {
  const value = (Math.floor(at) % PERIOD) * COUNTERS;
  return `ses_${hex(PERIOD * COUNTERS - 1 - value)}${random(uuid)}`;
}

function hex(value: number): string {
  return value.toString(16).padStart(DIGITS, '0');
}

/** The random digits of a UUID. */
function random(uuid: string): string {
  return uuid.replaceAll('-', '').slice(-RANDOM);
}
