import type { ToolCall } from '../core/log/messages.ts';
import type { FormatOptions } from './losses.ts';

/** Escapes that may encode half a character. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** The property that holds arguments which are no JSON object. */
const INVALID = 'invalid_input';

/** A call's arguments as the JSON object that providers require. */
export interface ReadArguments {
  readonly input: Record<string, unknown>;
  /** Whether the model wrote an object, or nothing. If not, `input` wraps what it wrote. */
  readonly isObject: boolean;
}

/**
 * Reads a call's arguments. A model may have written anything: no text at all is an empty object, and what is not an object, or not
 * JSON, is wrapped as `{ invalid_input: … }`, so that the model sees in the history what it wrote.
 */
export function readArguments(text: string): ReadArguments {
  if (text.trim() === '') return { input: {}, isObject: true };
  let value: unknown;
  try {
    value = SURROGATE_ESCAPE.test(text) || !text.isWellFormed() ? JSON.parse(text, wellFormed) : JSON.parse(text);
  } catch {
    return { input: { [INVALID]: text.toWellFormed() }, isObject: false };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { input: value as Record<string, unknown>, isObject: true };
  }
  return { input: { [INVALID]: value }, isObject: false };
}

/** A call's arguments as an object; reports those that had to be wrapped. */
export function inputOf(call: ToolCall, { onLoss }: FormatOptions = {}): Record<string, unknown> {
  const { input, isObject } = readArguments(call.arguments);
  if (!isObject) onLoss?.({ what: 'arguments of a call', why: 'wrapped: they are no JSON object', id: call.callId });
  return input;
}

/** A call's arguments as JSON text: as the model wrote them if they are an object, else the object that wraps them. */
export function argumentsText(call: ToolCall, options: FormatOptions = {}): string {
  const { arguments: text } = call;
  const input = inputOf(call, options);
  const asWritten = text.trim() !== '' && !SURROGATE_ESCAPE.test(text) && text.isWellFormed();
  return asWritten && readArguments(text).isObject ? text : JSON.stringify(input);
}

function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
