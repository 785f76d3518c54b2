import { messageOf } from '../../core/errors.ts';
import type { Settlement } from '../../core/log/events.ts';
import type { MediaPart, TextPart } from '../../core/log/messages.ts';

/** What a call came to: the content and whether it reports an error. */
export interface ToolOutcome {
  readonly content: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;
  /** The length of its text, when the text was made here and no other code holds it. */
  readonly characters?: number;
}

/** A result with parts of its own, images among them; made by `toolContent`. */
export class ToolContent {
  readonly parts: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;

  constructor(parts: readonly (TextPart | MediaPart)[], isError: boolean) {
    this.parts = parts;
    this.isError = isError;
  }
}

/** Lets a tool return content parts, or report an error without throwing. */
export function toolContent(
  parts: readonly (TextPart | MediaPart)[],
  options: { readonly isError?: boolean } = {},
): ToolContent {
  return new ToolContent(parts, options.isError ?? false);
}

/**
 * A returned value as a result: a string as it is, `undefined` as nothing, anything else as JSON. Never throws: what cannot be
 * JSON becomes a failed result whose text states that the tool did run.
 */
export function resultOf(value: unknown, toolName: string): ToolOutcome {
  if (value instanceof ToolContent) return { content: value.parts, isError: value.isError };
  if (value === undefined) return textOutcome('');
  if (typeof value === 'string') return textOutcome(value);
  try {
    return textOutcome(JSON.stringify(value) ?? '');
  } catch (error) {
    return failure(`"${toolName}" ran, but what it returned is not JSON: ${describeError(error)}`);
  }
}

/** The outcome that a person's settlement gives a call. */
export function settledOutcome(
  settlement: Exclude<Settlement, { readonly rerun: true }>,
  toolName: string,
): ToolOutcome {
  const outcome = resultOf(settlement.result, toolName);
  return settlement.isError ? { ...outcome, isError: true } : outcome;
}

/** The message of a thrown value: a tool may throw anything, also a value that cannot be read. */
export function describeError(error: unknown): string {
  try {
    return String(messageOf(error));
  } catch {
    return 'it threw something that cannot be read';
  }
}

/** A failed result with this text. */
export function failure(text: string): ToolOutcome {
  return textOutcome(text, true);
}

function textOutcome(text: string, isError = false): ToolOutcome {
  return { content: [{ type: 'text', text }], isError, characters: text.length };
}
