import { HoldfastError } from '../core/errors.ts';

/** Deeper events are refused: whatever reads them later would have to nest as deep. */
export const MAX_EVENT_DEPTH = 100;

/** A copy, and at least a sixth of how long its JSON is: every character may become six. */
export interface PlainCopy {
  readonly value: unknown;
  readonly characters: number;
}

/**
 * A value as its JSON would read it back, and a copy: what is folded now is what a restart folds, whatever the caller does with
 * his object meanwhile. The same as a round trip through JSON, without copying texts. Throws `EVENT_INVALID` for what JSON
 * cannot carry.
 */
export function plainCopy(value: unknown, maxDepth: number = MAX_EVENT_DEPTH): PlainCopy {
  const counter = { characters: 0 };
  return { value: copy(value, '', maxDepth, counter), characters: counter.characters };
}

/** What a number, a boolean, a comma or a bracket takes at most. */
const SHORT = 8;

function copy(given: unknown, key: string, depth: number, counter: { characters: number }): unknown {
  const value = hasToJson(given) ? given.toJSON(key) : given;
  counter.characters += key.length + SHORT;
  switch (typeof value) {
    case 'string':
      counter.characters += value.length;
      return value;
    case 'number':
      return Number.isFinite(value) ? value + 0 : null; // + 0: there is no -0 in JSON
    case 'bigint':
      return refuse('it holds a bigint, which JSON cannot carry; write it as text');
    case 'function':
    case 'symbol':
      return undefined;
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (depth === 0) return refuse('it is nested too deep, or in a circle; record plain data');
  if (Array.isArray(value))
    return Array.from(value, (item: unknown, i) => copy(item, String(i), depth - 1, counter) ?? null);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return copy(value.valueOf(), '', depth, counter);
  }
  const fields: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const field = copy((value as Readonly<Record<string, unknown>>)[name], name, depth - 1, counter);
    if (field === undefined) continue;
    if (name === '__proto__') {
      Object.defineProperty(fields, name, { value: field, enumerable: true, writable: true, configurable: true });
    } else fields[name] = field;
  }
  return fields;
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

function refuse(why: string): never {
  throw new HoldfastError('EVENT_INVALID', `this event cannot be recorded: ${why}`);
}
