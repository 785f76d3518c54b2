/** The most parts that are compared: larger values, and values that contain themselves, count as different. */
const MAX_COMPARED = 1_000_000;

/**
 * Whether two values are equal as data. The reducer uses it to recognise repeated events (D48). It has a stack of its own, so deep
 * nesting cannot overflow the call stack.
 */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  const left: unknown[] = [a];
  const right: unknown[] = [b];
  for (let compared = 0; left.length > 0; compared++) {
    if (compared > MAX_COMPARED) return false;
    const x = left.pop();
    const y = right.pop();
    if (Object.is(x, y)) continue;
    if (typeof x !== 'object' || typeof y !== 'object' || x === null || y === null) return false;
    if (Array.isArray(x) !== Array.isArray(y) || !isPlain(x) || !isPlain(y)) return false;
    const keys = Object.keys(x);
    if (keys.length !== Object.keys(y).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(y, key)) return false;
      left.push((x as Record<string, unknown>)[key]);
      right.push((y as Record<string, unknown>)[key]);
    }
  }
  return true;
}

/** Only plain objects and arrays are compared by their keys: a `Date` or a `Map` has its value elsewhere. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

/** The fields without those that are undefined. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}

type Present<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};
