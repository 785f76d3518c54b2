/** Reads what `opencode export` prints, and brings it into the order in which it happened. */
import { asList, asName, asObject, asText, type Json, parseJson } from '../json-access.ts';
import type { CombinedTranscript } from '../raw-transcript.ts';
import { partTime, timeField } from './time.ts';

/** A session and its messages. */
export interface OpenCodeExport {
  readonly info: Json;
  readonly messages: Iterable<OpenCodeExportMessage>;
}

export interface OpenCodeExportMessage {
  readonly info: Json;
  readonly parts: readonly Json[];
}

/** A state of a message or a part, and its time. */
export interface Moment {
  readonly time: number;
  readonly sessionId: string;
  readonly happened: { readonly message: Json } | { readonly part: Json };
}

/** Parses an export, from a text or a value: the printed object, or only its list of messages. */
export function parseExport(value: unknown): OpenCodeExport | undefined {
  const parsed = typeof value === 'string' ? parseJson(value) : value;
  const object = asObject(parsed);
  const list = Array.isArray(parsed) ? parsed : object?.messages;
  if (!Array.isArray(list)) return undefined;
  const messages = list.flatMap((item): readonly OpenCodeExportMessage[] => {
    const info = asObject(asObject(item)?.info);
    if (info === undefined) return [];
    const parts = asList(asObject(item)?.parts).flatMap((part): readonly Json[] => {
      const found = asObject(part);
      return found === undefined ? [] : [found];
    });
    return [{ info, parts }];
  });
  const info = asObject(object?.info) ?? { id: messages[0]?.info.sessionID };
  return asName(info.id) === undefined ? undefined : { info, messages };
}

/** Parses the main session and its children in a raw transcript. */
export function parseExports(raw: unknown): readonly OpenCodeExport[] {
  const value = typeof raw === 'string' ? parseJson(raw) : raw;
  const object = asObject(value);
  const isCombined = object !== undefined && object.main !== undefined && object.messages === undefined;
  const combined = isCombined ? (object as unknown as CombinedTranscript) : { main: value, subagents: [] };
  const main = parseExport(combined.main);
  if (main === undefined) return [];
  const children = asList(combined.subagents).flatMap((child): readonly OpenCodeExport[] => {
    const parsed = parseExport(asObject(child)?.transcript);
    return parsed === undefined ? [] : [parsed];
  });
  return [main, ...children];
}

/**
 * A session's moments in order. A part has a moment at its start; a call has another one at its end, because a stream reports its
 * result then.
 */
export function* momentsOf({ info, messages }: OpenCodeExport): Generator<Moment> {
  const sessionId = asName(info.id) ?? '';
  let time = 0;
  const moment = (at: number | undefined, happened: Moment['happened']): Moment => {
    time = Math.max(time, at ?? 0);
    return { time, sessionId, happened };
  };
  for (const message of messages) {
    if (isReverted(info, message.info.id)) continue;
    const created = timeField(message.info, 'created');
    const { error, ...started } = message.info;
    yield moment(created, { message: started });
    const ends: { readonly at: number; readonly part: Json }[] = [];
    for (const part of message.parts) {
      if (isReverted(info, message.info.id, part.id)) continue;
      const begins = partTime(part, created) ?? time;
      for (const end of takeUntil(ends, begins)) yield moment(end.at, { part: end.part });
      const running = asRunning(part);
      yield moment(begins, { part: running ?? part });
      if (running) ends.push({ at: timeField(asObject(part.state), 'end') ?? begins, part });
    }
    for (const end of takeUntil(ends, Number.POSITIVE_INFINITY)) yield moment(end.at, { part: end.part });
    if (error !== undefined) yield moment(timeField(message.info, 'completed'), { message: message.info });
  }
}

/** Removes the ends up to a time from the list and returns them, oldest first. */
function takeUntil<T extends { readonly at: number }>(ends: T[], time: number): readonly T[] {
  const due = ends.filter((end) => end.at <= time).sort((a, b) => a.at - b.at);
  for (const end of due) ends.splice(ends.indexOf(end), 1);
  return due;
}

/** The running state of a call that ended; `undefined` for anything else. */
function asRunning(part: Json): Json | undefined {
  const state = asObject(part.state);
  if (part.type !== 'tool' || state === undefined) return undefined;
  if (state.status !== 'completed' && state.status !== 'error') return undefined;
  const { output, error, ...rest } = state;
  return { ...part, state: { ...rest, status: 'running' } };
}

/** Whether the user reverted a message or a part of it: OpenCode deletes those at the next prompt. */
export function isReverted(info: Json, messageId: unknown, partId?: unknown): boolean {
  const revert = asObject(info.revert);
  const from = asName(revert?.messageID);
  const id = asText(messageId) ?? '';
  if (from === undefined || id < from) return false;
  const fromPart = asName(revert?.partID);
  if (fromPart === undefined || id > from) return true;
  return typeof partId === 'string' && partId >= fromPart;
}
