import { memo } from 'react';
import { Code } from '../text/code.tsx';

/** Any data as indented JSON. */
export const JsonView = memo(({ id, data }: { readonly id: string; readonly data: unknown }) => (
  <Code id={id} text={jsonText(data)} language="json" />
));

/** Data up to this length stays in one line. */
const SHORT = 80;
/** JSON's own writer fails at some depth. */
const MAX_DEPTH = 200;

function jsonText(data: unknown): string {
  try {
    const line = JSON.stringify(data) ?? String(data);
    return line.length <= SHORT ? line : JSON.stringify(data, null, 2);
  } catch {
    return JSON.stringify(shallow(data, MAX_DEPTH), null, 2);
  }
}

function shallow(data: unknown, depth: number): unknown {
  if (typeof data !== 'object' || data === null) return data;
  if (depth === 0) return '[nested too deeply]';
  if (Array.isArray(data)) return data.map((item) => shallow(item, depth - 1));
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, shallow(value, depth - 1)]));
}
