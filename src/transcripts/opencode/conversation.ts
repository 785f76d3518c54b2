/**
 * Converts OpenCode's sessions. The server's events and an export both consist of messages and their parts, so both use this class:
 *
 *     GET /event ───────────▶ stream-converter ──┐
 *                                                ├─▶ OpenCodeConversation ─▶ BlockWriter ─▶ events
 *     export, store, files ─▶ transcript-events ─┘
 */
import { MAIN_CONVERSATION } from '../../conversation/events.ts';
import type { BlockWriter, EndReason } from '../block-writer.ts';
import { asName, asObject, asText, type Json } from '../json-access.ts';
import { newMessage, type OpenCodeMessage, usageOf, withInfo } from './message.ts';
import { PartWriter } from './part-writer.ts';
import { isoTime } from './time.ts';

export class OpenCodeConversation {
  readonly #writer: BlockWriter;
  readonly #parts: PartWriter;
  readonly #messages = new Map<string, OpenCodeMessage>();
  /** Known sessions and their parents. */
  readonly #parents = new Map<string, string | undefined>();
  /** The call that a child session works for; the newest one when the child is called again (D41). */
  readonly #callOfSession = new Map<string, string>();
  #main: string | undefined;

  constructor(writer: BlockWriter, sessionId?: string) {
    this.#writer = writer;
    this.#parts = new PartWriter(writer, (child, toolUseId) => this.#callOfSession.set(child, toolUseId));
    this.#main = sessionId;
  }

  /** Whether a session belongs to this conversation: the main one or a child, not another session of the same server. */
  follows(sessionId: string): boolean {
    if (this.#main === undefined && this.#parents.get(sessionId) === undefined) this.#main = sessionId;
    if (sessionId === this.#main || this.#callOfSession.has(sessionId)) return true;
    const seen = new Set<string>();
    for (let id = this.#parents.get(sessionId); id !== undefined && !seen.has(id); id = this.#parents.get(id)) {
      if (id === this.#main || this.#callOfSession.has(id)) return true;
      seen.add(id);
    }
    return false;
  }

  isMain(sessionId: string): boolean {
    return sessionId === this.#main;
  }

  conversationOf(sessionId: string): string {
    return sessionId === this.#main ? MAIN_CONVERSATION : (this.#callOfSession.get(sessionId) ?? sessionId);
  }

  addSession(info: Json): void {
    const id = asName(info.id);
    if (id !== undefined) this.#parents.set(id, asName(info.parentID));
  }

  /** Adds a message, or changes a known one. */
  addMessage(info: Json, at: string): void {
    const id = asName(info.id);
    const sessionId = asName(info.sessionID);
    if (id === undefined || sessionId === undefined || !this.follows(sessionId)) return;
    const message = withInfo(this.#message(id, sessionId), info);
    this.#messages.set(id, message);
    if (message.role !== 'assistant') return;
    if (this.#writer.isCurrentMessage(message.conversationId, id))
      this.#writer.message(message.conversationId, message, at);
    const error = asObject(info.error);
    if (error) this.#addError(message, error, at);
  }

  /** Adds a part, or changes a known one. */
  addPart(part: Json, at: string): void {
    const messageId = asName(part.messageID);
    const sessionId = asName(part.sessionID);
    if (asName(part.id) === undefined || messageId === undefined || sessionId === undefined) return;
    if (!this.follows(sessionId)) return;
    const message = this.#message(messageId, sessionId);
    this.#parts.add(message, part, at);
    // `opencode run` prints no messages; only steps carry usage.
    if (part.type === 'step-finish' && message.created === undefined) {
      const usage = usageOf(part.tokens, part.cost);
      if (usage && this.#writer.isCurrentMessage(message.conversationId, messageId)) {
        this.#writer.message(message.conversationId, { id: messageId, usage }, at);
      }
    }
  }

  /** Appends text to a part. Whitespace is content (D47). */
  addDelta(delta: Json, at: string): void {
    const message = this.#messages.get(asText(delta.messageID) ?? '');
    const blockId = message?.blockIds.get(asText(delta.partID) ?? '');
    const text = asText(delta.delta);
    if (message === undefined || blockId === undefined || text === undefined || delta.field !== 'text') return;
    this.#writer.delta(message.conversationId, blockId, text, at);
  }

  removePart(messageId: string, partId: string, at: string): void {
    const message = this.#messages.get(messageId);
    const blockId = message?.blockIds.get(partId);
    if (message === undefined || blockId === undefined) return;
    message.blockIds.delete(partId);
    message.parts.delete(partId);
    if (message.parts.size > 0) {
      this.#parts.writeUser(message, at);
      return;
    }
    this.#writer.remove(message.conversationId, blockId, at);
    this.#writer.remove(message.conversationId, `result:${blockId}`, at);
  }

  removeMessage(messageId: string, at: string): void {
    const message = this.#messages.get(messageId);
    if (message === undefined) return;
    message.parts.clear();
    for (const partId of [...message.blockIds.keys()]) this.removePart(messageId, partId, at);
    this.#writer.remove(message.conversationId, `error:${messageId}`, at);
    this.#messages.delete(messageId);
  }

  /** Ends a session's open blocks: it stopped working. */
  settle(sessionId: string, reason: EndReason, at: string): void {
    const conversationId = this.conversationOf(sessionId);
    if (conversationId === MAIN_CONVERSATION || this.#writer.hasOpenBlocks(conversationId)) {
      this.#writer.settle(conversationId, reason, at);
    }
  }

  /** Adds an error that belongs to no message. */
  addSessionError(sessionId: string, error: Json, id: string, at: string): void {
    this.#writer.upsert(errorBlock(id, this.conversationOf(sessionId), error, at));
  }

  #addError(message: OpenCodeMessage, error: Json, at: string): void {
    const timestamp = isoTime(message.completed ?? message.created);
    this.#writer.upsert(errorBlock(`error:${message.id}`, message.conversationId, error, timestamp), at);
  }

  /** A message stays in the conversation where it started; the reducer moves one that started before its call was known (D41). */
  #message(id: string, sessionId: string): OpenCodeMessage {
    let message = this.#messages.get(id);
    if (message === undefined) {
      message = newMessage(id, sessionId, this.conversationOf(sessionId));
      this.#messages.set(id, message);
    }
    return message;
  }
}

function errorBlock(
  id: string,
  conversationId: string,
  error: Json,
  timestamp: string,
): Parameters<BlockWriter['upsert']>[0] {
  const subtype = asText(error.name);
  return {
    id,
    conversationId,
    timestamp,
    status: 'error',
    type: 'error',
    ...(subtype !== undefined && { subtype }),
    content: asText(asObject(error.data)?.message) ?? asText(error.message) ?? subtype ?? '',
  };
}
