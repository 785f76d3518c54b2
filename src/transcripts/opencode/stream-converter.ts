/** Converts OpenCode's server events (`GET /event`, `/global/event`) and the lines of `opencode run --format json`. */
import { BlockWriter, type EndReason } from '../block-writer.ts';
import { asMilliseconds, asName, asObject, asText, type Json } from '../json-access.ts';
import { type StreamConverter, type StreamConverterOptions, streamConverter } from '../stream-converter.ts';
import { OpenCodeConversation } from './conversation.ts';
import { isoTime } from './time.ts';

/** Options of `openCodeStreamConverter`. */
export interface OpenCodeStreamConverterOptions extends StreamConverterOptions {
  /** The session to convert, with its children. Default: the first one without a parent. */
  readonly sessionId?: string;
}

/** The types of `opencode run`: each line carries a part. */
const RUN_TYPES: ReadonlySet<string> = new Set(['step_start', 'step_finish', 'text', 'tool_use', 'reasoning']);

/** Events about a session that are not shown. */
const SIGNALS: ReadonlySet<string> = new Set(['session.diff', 'session.deleted', 'session.compacted']);

/** Creates a converter for what an OpenCode server sends, or what `opencode run --format json` prints. */
export function openCodeStreamConverter(options: OpenCodeStreamConverterOptions = {}): StreamConverter {
  const writer = new BlockWriter();
  const { diagnostics } = writer;
  const conversation = new OpenCodeConversation(writer, options.sessionId);
  let lastTimestamp = '';
  /** How the main session's newest run ended; undefined while one is running. */
  let ended: EndReason | undefined;
  /** The error of a session's newest run, until a message reports it. */
  const failures = new Map<string, { readonly error: Json; readonly id: string }>();
  /** The sessions of which a message of the newest run reported an error. The server sends the session's error before or after it. */
  const reported = new Set<string>();
  let outcome: EndReason = 'completed';
  const now = options.now ?? ((): string => lastTimestamp);

  const timeOf = (properties: Json): string => {
    const time = asMilliseconds(properties.time) ?? asMilliseconds(properties.timestamp);
    if (time !== undefined) lastTimestamp = isoTime(time);
    return time === undefined ? now() : lastTimestamp;
  };

  const addMessage = (info: Json): void => {
    const sessionId = asName(info.sessionID) ?? '';
    conversation.addMessage(info, now());
    const error = asObject(info.error);
    if (error === undefined) return;
    failures.delete(sessionId);
    reported.add(sessionId);
    if (conversation.isMain(sessionId)) outcome = outcomeOf(error);
  };

  const settle = (sessionId: string): void => {
    const failure = failures.get(sessionId);
    failures.delete(sessionId);
    if (failure) conversation.addSessionError(sessionId, failure.error, failure.id, now());
    const isMain = conversation.isMain(sessionId);
    if (isMain && ended !== undefined) return; // `session.status` and `session.idle` report the same
    conversation.settle(sessionId, isMain ? outcome : 'completed', now());
    if (isMain) ended = outcome;
  };

  const addStatus = (sessionId: string, status: unknown): void => {
    if (status === 'idle') {
      settle(sessionId);
      return;
    }
    reported.delete(sessionId);
    if (conversation.isMain(sessionId)) {
      ended = undefined;
      outcome = 'completed';
    }
  };

  const addFailure = (sessionId: string, error: Json, id: string): void => {
    if (!reported.has(sessionId)) failures.set(sessionId, { error, id });
    if (conversation.isMain(sessionId)) outcome = outcomeOf(error);
  };

  const handleSession = (type: string, properties: Json, eventId: string | undefined): void => {
    const info = asObject(properties.info);
    const sessionId = asName(properties.sessionID);
    const error = asObject(properties.error);
    if (type === 'session.created' || type === 'session.updated') {
      if (info) conversation.addSession(info);
    } else if (SIGNALS.has(type)) return;
    else if (sessionId === undefined || !conversation.follows(sessionId)) return;
    else if (type === 'session.idle') settle(sessionId);
    else if (type === 'session.status') addStatus(sessionId, asObject(properties.status)?.type);
    else if (type !== 'session.error') diagnostics.unknown(type);
    else if (error) addFailure(sessionId, error, `error:${eventId ?? sessionId}`);
  };

  const handleMessage = (type: string, properties: Json): void => {
    const messageId = asText(properties.messageID) ?? '';
    switch (type) {
      case 'message.updated':
        addMessage(asObject(properties.info) ?? {});
        break;
      case 'message.removed':
        conversation.removeMessage(messageId, now());
        break;
      case 'message.part.updated': {
        const part = asObject(properties.part) ?? {};
        diagnostics.count(`part/${asText(part.type) ?? ''}`);
        conversation.addPart(part, timeOf(properties));
        break;
      }
      case 'message.part.removed':
        conversation.removePart(messageId, asText(properties.partID) ?? '', now());
        break;
      case 'message.part.delta':
        conversation.addDelta(properties, now());
        break;
      default:
        diagnostics.unknown(type);
    }
  };

  /** Converts a line of `opencode run`. Other events of the server are not about the conversation. */
  const handleRun = (type: string, line: Json): void => {
    const part = asObject(line.part);
    const error = asObject(line.error);
    const sessionId = asName(line.sessionID) ?? '';
    if (RUN_TYPES.has(type) && part) conversation.addPart(part, timeOf(line));
    else if (type === 'error' && error) {
      outcome = 'failed';
      conversation.addSessionError(sessionId, error, `error:${sessionId}`, timeOf(line));
    } else if (type === '') diagnostics.unknown('untyped');
  };

  const handle = (value: unknown): void => {
    const outer = asObject(value);
    const message = asObject(outer?.payload) ?? outer;
    if (message === undefined) {
      diagnostics.problem('malformed-line');
      return;
    }
    const type = asText(message.type) ?? '';
    const properties = asObject(message.properties) ?? {};
    diagnostics.count(type);
    if (type.startsWith('session.')) handleSession(type, properties, asName(message.id));
    else if (type.startsWith('message.')) handleMessage(type, properties);
    else handleRun(type, message);
  };

  const end = (reason: EndReason = ended ?? 'interrupted'): void => writer.settleAll(reason, now());
  return streamConverter({ writer, handle, end });
}

function outcomeOf(error: Json): EndReason {
  return error.name === 'MessageAbortedError' ? 'interrupted' : 'failed';
}
