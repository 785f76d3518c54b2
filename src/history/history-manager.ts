import type { ConversationMessage } from '../core/log/messages.ts';
import type { SessionView } from '../core/views/session-view.ts';

/**
 * What decides which part of a conversation a provider is sent.
 *
 *     messages ──curate──▶ selection ──check, repair──▶ request
 *        ▲                    │ needs a summary?
 *        └──── the loop makes and records it, calls again; one that is wanted ahead of time is made in the background
 *
 * Contract: `curate` is pure, and deterministic from the messages: the same conversation leads to the same output, with or
 * without `context.previous`, before and after a crash. It keeps the leading system messages. A call whose result it drops is sent
 * with a short placeholder; whatever else it gets wrong is repaired before the request is sent. It changes neither
 * messages nor record.
 */
export interface HistoryManager {
  /** Names the strategy in events and reports; by default the name of its class. */
  readonly name?: string;
  curate(messages: readonly ConversationMessage[], context: CurationContext): Curation | readonly ConversationMessage[];
}

/** A manager of this package: it has a name and always returns a `Curation`. */
export interface BuiltInManager extends HistoryManager {
  readonly name: string;
  curate(messages: readonly ConversationMessage[], context: CurationContext): Curation;
}

/** A history manager, or just the function. */
export type History =
  | HistoryManager
  | ((messages: readonly ConversationMessage[], context: CurationContext) => readonly ConversationMessage[]);

/** A manager's output. */
export interface Curation {
  /** A selection of the conversation, in its order. Messages may be shortened; added ones are marked synthetic. */
  readonly messages: readonly ConversationMessage[];
  /** What the manager would like summarised; until it is, `messages` do without. */
  readonly needs?: readonly SummaryRequest[];
  /** Passed back as `context.previous`, so that the next call costs what is new. The output never depends on it. */
  readonly memo?: unknown;
  /** What could not be honoured, in sentences: a budget that the newest messages alone exceed. */
  readonly notes?: readonly string[];
}

/** What a manager may look at beside the messages; `{}` is a valid context. */
export interface CurationContext {
  readonly session?: SessionView;
  /** The prompt of the request; the loop always gives it. */
  readonly prompt?: CurationPrompt;
  readonly limits?: Limits;
  /** This manager's output for an earlier stage of the same conversation. */
  readonly previous?: Curation;
  readonly preserve?: Preserve;
  /** Summaries that were made and recorded, by the key of their request. */
  readonly summaries?: (key: string) => string | undefined;
}

/** The prompt that a request is made for. Its system message is among the messages, with the parameters filled in. */
export interface CurationPrompt {
  readonly ns: string;
  readonly key: string;
  /** `ns/key`. */
  readonly name: string;
  /** The instructions as they are defined, with `{{name}}`. */
  readonly instructions: string;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
}

/** What the caller knows about the model of the request. */
export interface Limits {
  /** The model's name, for managers that are given a budget per model. */
  readonly model?: string;
  /** The most tokens that a request may hold. */
  readonly maxTokens?: number;
  /** What the model can write in one response, for managers that leave room for it. */
  readonly maxOutputTokens?: number;
}

/** What must stay in the request, beside what always does. */
export interface Preserve {
  /** Ids of messages; each keeps its whole group. */
  readonly messages?: readonly string[];
  /** Names of tools; every call of one keeps its whole group. */
  readonly tools?: readonly string[];
  /** How many of the newest messages, at least. */
  readonly last?: number;
}

/** A wish for a summary of consecutive messages. */
export interface SummaryRequest {
  /** The range and the parameters: the same wish finds the same summary again. */
  readonly key: string;
  /** Ids of the first and the last message that the summary stands for. */
  readonly from: string;
  readonly to: string;
  /** What to read: an earlier summary, if there is one, and the messages since. */
  readonly messages: readonly ConversationMessage[];
  /** The instructions of the model that makes the summary. */
  readonly instructions: string;
  /** How long the summary may be. */
  readonly maxTokens?: number;
  /** No request needs it yet: the loop makes it in the background and sends the request without waiting for it. */
  readonly ahead?: true;
}
