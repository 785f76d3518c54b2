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
  if (Array.isArray(value)) return copyItems(value, depth - 1, counter);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return copy(value.valueOf(), '', depth, counter);
  }
  return copyFields(value as Readonly<Record<string, unknown>>, depth - 1, counter);
}

function copyItems(items: readonly unknown[], depth: number, counter: { characters: number }): unknown[] {
  const copies: unknown[] = [];
  for (let i = 0; i < items.length; i++) copies.push(copy(items[i], String(i), depth, counter) ?? null);
  return copies;
}

/** Copies all fields at once and then those again that are not texts: most are, and one by one costs three times as much. */
function copyFields(
  fields: Readonly<Record<string, unknown>>,
  depth: number,
  counter: { characters: number },
): Readonly<Record<string, unknown>> {
  const copies: Record<string, unknown> = { ...fields };
  let lost = Object.getOwnPropertySymbols(copies).length > 0;
  for (const name of Object.keys(copies)) {
    const field = copies[name];
    if (typeof field === 'string') {
      counter.characters += name.length + SHORT + field.length;
      continue;
    }
    copies[name] = copy(field, name, depth, counter);
    lost ||= copies[name] === undefined;
  }
  return lost ? Object.fromEntries(Object.entries(copies).filter(([, field]) => field !== undefined)) : copies;
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

function refuse(why: string): never {
  throw new HoldfastError('EVENT_INVALID', `this event cannot be recorded: ${why}`);
}
