import { HoldfastError } from './errors.ts';

/**
 * All options of a function, by name. A record of all keys: the compiler reports an option that is missing here.
 */
export type KnownOptions<Options> = { readonly [Name in keyof Options]-?: true };

/** Throws `INVALID_ARGUMENT` for an option that the function does not have, and suggests the nearest existing name. */
export function refuseUnknownOptions<Options>(what: string, given: unknown, known: KnownOptions<Options>): void {
  if (given === undefined) return;
  if (typeof given !== 'object' || given === null) {
    throw new HoldfastError('INVALID_ARGUMENT', `the options of ${what} are an object, not ${String(given)}`);
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name) || (given as Readonly<Record<string, unknown>>)[name] === undefined) continue;
    const nearest = nearestName(name, Object.keys(known));
    const advice = nearest ? `did you mean "${nearest}"?` : `there are: ${Object.keys(known).sort().join(', ')}`;
    throw new HoldfastError('INVALID_ARGUMENT', `${what} has no option "${name}"; ${advice}`);
  }
}

/**
 * The name with the fewest changes, if they are at most half of it. Case and separators do not count, and a prefix is one change
 * away: `history_manager` for `history`.
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[_\s-]/g, '');
  const wanted = plain(name).slice(0, LONGEST);
  let best: { readonly name: string; readonly changes: number } | undefined;
  for (const candidate of names) {
    const target = plain(candidate);
    const begins = target.length > 3 && wanted.startsWith(target);
    const changes = begins ? 1 : changesBetween(wanted, target);
    if (!best || changes < best.changes) best = { name: candidate, changes };
  }
  return best && best.changes <= Math.max(1, Math.floor(wanted.length / 2)) ? best.name : undefined;
}

/** Longer than the names of options and events. */
const LONGEST = 64;

/** The number of characters to change, add or remove to turn one text into the other (Levenshtein). */
function changesBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Why one of these limits is none, or undefined. */
export function limitProblem(limits: Readonly<Record<string, number | undefined>>): string | undefined {
  const wrong = Object.entries(limits).find(
    ([, value]) => value !== undefined && !(typeof value === 'number' && value >= 0),
  );
  return wrong && `${wrong[0]} is ${wrong[1]}; give a number that is not negative, or leave it out`;
}
