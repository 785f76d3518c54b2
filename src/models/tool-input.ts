/** Escapes that may stand for half a character. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** The one property of an object that stands for arguments which are none. */
const INVALID = 'invalid_input';

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
    return { [INVALID]: text.toWellFormed() };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  return { [INVALID]: value };
}

/** A call's arguments as text: as the model wrote them if that is a JSON object, else the object that stands for them. */
export function argumentsOf(text: string): string {
  const input = objectOf(text);
  const asWritten =
    text.trim() !== '' && !Object.hasOwn(input, INVALID) && !SURROGATE_ESCAPE.test(text) && text.isWellFormed();
  return asWritten ? text : JSON.stringify(input);
}

function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
