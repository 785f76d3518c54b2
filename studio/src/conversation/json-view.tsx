import { memo } from 'react';
import { Code } from './code.tsx';

/** Any data as indented JSON. */
export const JsonView = memo(({ id, data }: { readonly id: string; readonly data: unknown }) => (
  <Code id={id} text={jsonText(data)} language="json" />
));

function jsonText(data: unknown): string {
  try {
    return JSON.stringify(data, null, 2) ?? String(data);
  } catch {
    return String(data);
  }
}
