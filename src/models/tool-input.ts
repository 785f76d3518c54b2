/** Escapes that may stand for half a character. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/**
 * A call's arguments as the object that providers want. A model may have written anything: no text at all is an empty
 * object, and what is not an object, or not JSON, is wrapped, so that the model sees in the history what it wrote.
 */
export function objectOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = SURROGATE_ESCAPE.test(text) || !text.isWellFormed() ? JSON.parse(text, wellFormed) : JSON.parse(text);
  } catch {
    return { invalid_input: text.toWellFormed() };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  return { invalid_input: value };
}

function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
