import type { SessionConversationState } from '../../conversation/state.ts';
import type { FormatLoss } from '../../formats/losses.ts';

/** The head of a document, and the listener for what the document does not show. */
export interface DocumentHead {
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly onLoss: (loss: FormatLoss) => void;
}

/**
 * Writes a conversation as one HTML file. It is Studio's own renderer, so that a conversation looks the same there and in a file; it needs React
 * and a style sheet, so that it is a module of its own, which the caller loads.
 */
export type DocumentRenderer = (state: SessionConversationState, head: DocumentHead) => string;
