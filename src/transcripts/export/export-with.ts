/**
 * Exports a conversation as a document to read, as data to keep, or as messages for another API. Every export reports what its
 * target could not hold.
 */

import type { SessionConversationState } from '../../conversation/blocks.ts';
import { conversationToEvents } from '../../conversation/conversation-to-events.ts';
import { createConversationState } from '../../conversation/indexed-state.ts';
import { reduceConversationEvents } from '../../conversation/reduce-conversation.ts';
import { reviveConversationState } from '../../conversation/revive.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { SessionEvent } from '../../core/log/events.ts';
import { isRecord } from '../../core/log/message-problem.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import { toAnthropic } from '../../formats/anthropic-messages.ts';
import { type FormatLoss, type Loss, LossReport, onLossOf } from '../../formats/losses.ts';
import { toOpenAIChat } from '../../formats/openai-chat.ts';
import { AGENT_NAMES, type Architecture } from '../agent-names.ts';
import { TOO_DEEP } from '../json-access.ts';
import { messagesToEvents } from '../own-log.ts';
import { parseTranscript, transcriptToMessages } from '../parse-transcript.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import { sessionTitle } from '../text-lines.ts';
import { formatOf } from '../transcript-formats.ts';
import { type AboutConversation, conversationFacts, type DocumentOptions, headFacts } from './conversation-facts.ts';
import { markdown } from './markdown.ts';
import { type RedactOptions, redactorOf, type SecretCounts, type SecretRedactor } from './redact-secrets.ts';
import { stateMessages } from './state-messages.ts';
import { uiMessages } from './ui-messages.ts';

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

/** What a conversation can be exported as. */
export type ExportFormat = 'markdown' | 'html' | 'json' | 'jsonl' | 'openai' | 'anthropic' | 'ai-sdk';

/** Recorded messages, a log, what a screen shows, or another agent's transcript as `loadTranscript` returns it. */
export type ExportSource = Conversation | { readonly architecture: Architecture; readonly raw: RawTranscript };

type Conversation = readonly ConversationMessage[] | readonly SessionEvent[] | SessionConversationState;

/** How to export. */
export interface ExportOptions {
  readonly format: ExportFormat;
  /** The title of a document. Default: the title of a log or a transcript, or the first prompt of a transcript. */
  readonly title?: string;
  /** What the head of a document says about the conversation, besides what its blocks show and its transcript names. */
  readonly about?: AboutConversation;
  /** Redacts what looks like a secret. */
  readonly redact?: boolean | RedactOptions;
}

/** An exported conversation. */
export interface ExportedConversation {
  readonly content: string;
  readonly mediaType: string;
  /** For a file name, without the dot. */
  readonly extension: string;
  /** What the target has no place for. */
  readonly losses: readonly Loss[];
  /** The number of redacted secrets, by kind. */
  readonly redacted: SecretCounts;
}

const KINDS: Readonly<Record<ExportFormat, { readonly mediaType: string; readonly extension: string }>> = {
  markdown: { mediaType: 'text/markdown', extension: 'md' },
  html: { mediaType: 'text/html', extension: 'html' },
  json: { mediaType: 'application/json', extension: 'json' },
  jsonl: { mediaType: 'application/x-ndjson', extension: 'jsonl' },
  openai: { mediaType: 'application/json', extension: 'json' },
  anthropic: { mediaType: 'application/json', extension: 'json' },
  'ai-sdk': { mediaType: 'application/json', extension: 'json' },
};

/** Exports a conversation; `render` writes the HTML. Throws `INVALID_ARGUMENT` for an unknown format, and for a value that is no conversation. */
export function exportWith(
  render: DocumentRenderer,
  source: ExportSource,
  options: ExportOptions,
): ExportedConversation {
  const { format, redact = false } = options;
  if (!Object.hasOwn(KINDS, format)) {
    const known = Object.keys(KINDS).join(', ');
    throw new HoldfastError('INVALID_ARGUMENT', `cannot export as "${format}"; the formats are ${known}`);
  }
  const redactor = redactorOf(redact);
  const losses = new LossReport();
  const isTranscript = isRecord(source) && 'architecture' in source;
  const facts = isTranscript ? transcriptFacts(source.architecture, source.raw) : undefined;
  const read = isTranscript ? readTranscript(source, format, losses) : checked(source);
  const given = redactor ? withoutSecrets(read, redactor) : read;
  const ownTitle = facts?.title ?? (isTranscript && !isList(given) ? promptTitle(given) : titleOf(given));
  const { title = ownTitle ?? 'Conversation' } = options;
  const head = { title, about: { ...facts?.about, ...options.about } };
  const content = write(given, format, { ...(redactor ? redactor.data(head) : head), losses }, render);
  return { ...KINDS[format], content, losses: losses.list(), redacted: redactor?.counts ?? {} };
}

/** Reads the facts of a loaded transcript for the head of a document; those that it does not name are missing. */
function transcriptFacts(
  architecture: Architecture,
  raw: RawTranscript,
): { readonly about: AboutConversation; readonly title?: string | undefined } {
  const { title, ...facts } = formatOf(architecture).readFacts(raw);
  const named = Object.entries(facts).filter(([, value]) => value !== undefined);
  return { about: { agent: AGENT_NAMES[architecture], ...Object.fromEntries(named) }, title };
}

/** The first prompt, as a title. */
function promptTitle({ blocks }: SessionConversationState): string | undefined {
  for (const block of blocks) {
    if (block.type === 'user_message' && block.content.trim() !== '') return sessionTitle(block.content);
  }
  return undefined;
}

/** A transcript as what the format is written from. */
function readTranscript(
  { architecture, raw }: Exclude<ExportSource, Conversation>,
  format: ExportFormat,
  losses: LossReport,
): Conversation {
  const isChat = format === 'openai' || format === 'anthropic';
  return isChat ? transcriptToMessages(architecture, raw, onLossOf(losses)) : parseTranscript(architecture, raw).state;
}

/** Throws for what is no conversation: a caller in JavaScript, or data of another kind. */
function checked(source: Conversation): Conversation {
  const isItem = (item: unknown): boolean => isRecord(item) && ('seq' in item || typeof item.role === 'string');
  if (Array.isArray(source) ? source.every(isItem) : isRecord(source) && isRecord(source.blocks)) return source;
  if (isRecord(source) && Array.isArray(source.blocks)) return reviveConversationState(source);
  throw new HoldfastError('INVALID_ARGUMENT', NO_CONVERSATION);
}

const NO_CONVERSATION =
  'only a list of messages, a list of events, a conversation state, or what loadTranscript returns can be exported; for a file, await loadTranscript(path) first';

function write(source: Conversation, format: ExportFormat, options: DocumentOptions, render: DocumentRenderer): string {
  const { losses } = options;
  switch (format) {
    case 'markdown':
      return visibleControls(markdown(stateOf(source), options).toWellFormed()); // half a character is no text in UTF-8
    case 'html':
      return visibleControls(html(stateOf(source), options, render).toWellFormed());
    case 'json':
      return json(isList(source) ? source : { blocks: source.blocks, subagents: source.subagents });
    case 'jsonl':
      return lines(isList(source) ? source : conversationToEvents(source));
    case 'openai':
      return json(toOpenAIChat(messagesIn(source, losses), onLossOf(losses)));
    case 'anthropic':
      return json(toAnthropic(messagesIn(source, losses), onLossOf(losses)));
    case 'ai-sdk':
      return json(uiMessages(stateOf(source), losses));
    default:
      return format satisfies never;
  }
}

function html(
  state: SessionConversationState,
  { title, about, losses }: DocumentOptions,
  render: DocumentRenderer,
): string {
  return render(state, {
    title,
    facts: headFacts(conversationFacts(state, about)),
    onLoss: (loss) => losses.add(loss.what, loss.why, loss.id),
  });
}

/** The newest title in a log. */
function titleOf(source: Conversation): string | undefined {
  if (!isList(source)) return undefined;
  let title: string | undefined;
  for (const item of source) {
    if ('seq' in item && item.type === 'session/described' && typeof item.title === 'string') title = item.title;
  }
  return title || undefined;
}

function stateOf(source: Conversation): SessionConversationState {
  if (!isList(source)) return source;
  return reduceConversationEvents(createConversationState(), messagesToEvents(source, { machinery: true }));
}

/** The messages of main. */
function messagesIn(source: Conversation, losses: LossReport): readonly ConversationMessage[] {
  if (!isList(source)) return stateMessages(source, losses);
  const messages: ConversationMessage[] = [];
  for (const item of source) {
    for (const message of messageIn(item)) {
      if (message.conversationId === 'main') messages.push(message);
      else losses.add('child conversation', NOT_MAIN, message.conversationId);
    }
  }
  return messages;
}

const NOT_MAIN = 'a chat is one conversation; export a child conversation by itself';

function messageIn(item: ConversationMessage | SessionEvent): ConversationMessage[] {
  if (!('seq' in item)) return [item as ConversationMessage];
  return item.type === 'message/recorded' ? [item.message] : [];
}

function isList(source: Conversation): source is readonly ConversationMessage[] | readonly SessionEvent[] {
  return Array.isArray(source);
}

function withoutSecrets(source: Conversation, redactor: SecretRedactor): Conversation {
  if (isList(source)) return redactor.data(source) as Conversation;
  const blocks = source.blocks.toJSON();
  const subagents = source.subagents.map((subagent) => ({ ...subagent, blocks: subagent.blocks.toJSON() }));
  return reviveConversationState(redactor.data({ blocks, subagents }));
}

function json(value: unknown): string {
  return `${stringify(value, 2)}\n`;
}

function lines(values: Iterable<unknown>): string {
  let text = '';
  for (const value of values) text += `${stringify(value)}\n`;
  return text;
}

/** JSON of anything: what is nested too deeply for JSON's writer is left out. */
function stringify(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch {
    return JSON.stringify(shallow(JSON_DEPTH, value), null, indent);
  }
}

const JSON_DEPTH = 200;

function shallow(depth: number, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return TOO_DEEP;
  const plain: unknown = 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;
  if (Array.isArray(plain)) return plain.map((item) => shallow(depth - 1, item));
  return Object.fromEntries(Object.entries(plain as object).map(([key, field]) => [key, shallow(depth - 1, field)]));
}

/** Control characters but tabs and ends of lines. A terminal that prints a document obeys them. */
const CONTROLS = /[^\P{Cc}\t\n\r]/gu;
const PICTURES = 0x2400;
const DELETE = 0x7f;

/** A text whose control characters are shown as their pictures: `␛` for escape. */
function visibleControls(text: string): string {
  return text.replace(CONTROLS, (character) => {
    const code = character.charCodeAt(0);
    if (code === DELETE) return '\u2421';
    return code < 0x20 ? String.fromCharCode(PICTURES + code) : '\ufffd';
  });
}
