import { HoldfastError } from '../../core/errors.ts';

/** Deeper events are refused: whatever reads them later would have to nest as deep. */
export const MAX_EVENT_DEPTH = 100;

/** A copy, and at least a sixth of how long its JSON is: every character may become six. */
export interface PlainCopy {
  readonly value: unknown;
  readonly characters: number;
}

export interface PlainCopyOptions {
  readonly maxDepth?: number;
  /**
   * Copies values that JSON cannot carry as JSON writes them (NaN as null, a Map as {}) instead of throwing: for a provider's
   * response, whose metadata the program did not choose.
   */
  readonly lenient?: boolean;
}

/**
 * A copy of a value as its JSON is read back: what is folded now is what a restart folds, whatever the caller does with the original.
 * Equal to a round trip through JSON, without copying texts. Throws `EVENT_INVALID`, naming the path, for values that JSON cannot
 * carry: NaN, Infinity, bigint, functions, symbols, Map, Set and other instances of classes, undefined in a list, an invalid date. A
 * field that is undefined is left out, -0 is 0, and an object with `toJSON`, such as a date, is copied as what that returns.
 */
export function plainCopy(
  value: unknown,
  { maxDepth = MAX_EVENT_DEPTH, lenient = false }: PlainCopyOptions = {},
): PlainCopy {
  const copier = new Copier(lenient);
  const copied = copier.copy(value, '', maxDepth);
  return { value: copied, characters: copier.characters };
}

/** What a number, a boolean, a comma or a bracket takes at most. */
const SHORT = 8;

class Copier {
  characters = 0;
  readonly #lenient: boolean;
  /** The names and indexes that lead to the value that is being copied. */
  readonly #path: (string | number)[] = [];

  constructor(lenient: boolean) {
    this.#lenient = lenient;
  }

  copy(given: unknown, key: string, depth: number): unknown {
    const value = hasToJson(given) ? given.toJSON(key) : given;
    this.characters += key.length + SHORT;
    switch (typeof value) {
      case 'string':
        this.characters += value.length;
        return value;
      case 'number':
        if (Number.isFinite(value)) return value + 0; // + 0: there is no -0 in JSON
        return this.#refuse(`${value}`, 'write null or text instead', null);
      case 'bigint':
        return this.#refuse('a bigint', 'write it as text');
      case 'function':
      case 'symbol':
        return this.#refuse(`a ${typeof value}`, 'record plain data', undefined);
      case 'object':
        break;
      default:
        return value;
    }
    if (value === null) {
      return given instanceof Date ? this.#refuse('an invalid date', 'write null or text instead', null) : null;
    }
    if (depth === 0) throw invalid('it is nested too deep, or in a circle; record plain data');
    if (Array.isArray(value)) return this.#copyItems(value, depth - 1);
    if (value instanceof Number || value instanceof String || value instanceof Boolean) {
      return this.copy(value.valueOf(), '', depth);
    }
    if (!this.#lenient && !isPlain(value)) this.#refuse(`a ${nameOf(value)}`, 'write it as plain objects and lists');
    return this.#copyFields(value as Readonly<Record<string, unknown>>, depth - 1);
  }

  #copyItems(items: readonly unknown[], depth: number): unknown[] {
    const copies: unknown[] = [];
    for (let i = 0; i < items.length; i++) {
      this.#path.push(i);
      const copied = this.copy(items[i], String(i), depth);
      copies.push(copied === undefined ? this.#refuse('undefined', 'leave it out or write null', null) : copied);
      this.#path.pop();
    }
    return copies;
  }

  /** Copies all fields at once and then those again that are not texts: most are, and one by one costs three times as much. */
  #copyFields(fields: Readonly<Record<string, unknown>>, depth: number): Readonly<Record<string, unknown>> {
    const copies: Record<string, unknown> = { ...fields };
    let lost = Object.getOwnPropertySymbols(copies).length > 0;
    if (lost) this.#refuse('a field that a symbol names', 'name it with text', undefined);
    for (const name of Object.keys(copies)) {
      const field = copies[name];
      if (typeof field === 'string') {
        this.characters += name.length + SHORT + field.length;
        continue;
      }
      this.#path.push(name);
      copies[name] = this.copy(field, name, depth);
      this.#path.pop();
      lost ||= copies[name] === undefined;
    }
    return lost ? Object.fromEntries(Object.entries(copies).filter(([, field]) => field !== undefined)) : copies;
  }

  /** Throws; a lenient copy takes `instead`, where JSON has something to take. */
  #refuse(what: string, advice: string, ...instead: readonly (null | undefined)[]): null | undefined {
    if (this.#lenient && instead.length > 0) return instead[0];
    throw invalid(`${this.#pathText()} is ${what}, which JSON cannot carry; ${advice}`);
  }

  /** Where the copy is, as a program would write it: `steps[3].due`. */
  #pathText(): string {
    if (this.#path.length === 0) return 'it';
    return this.#path.reduce<string>(
      (path, key) => (typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`),
      '',
    );
  }
}

/** Whether an object is a plain one, of this realm or another: its prototype is none or the root of all others. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: object): string {
  return (typeof value.constructor === 'function' && value.constructor.name) || 'object of a class';
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('EVENT_INVALID', `this event cannot be recorded: ${why}`);
}
