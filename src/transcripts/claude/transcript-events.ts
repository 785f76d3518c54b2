/** A Claude Code transcript that is in memory, as events. */
import type { ConversationEvent } from '../../conversation/events.ts';
import type { TranscriptDiagnostics } from '../diagnostics.ts';
import { DiagnosticsCollector } from '../diagnostics.ts';
import { asList, asName, asObject, asText, parseJson } from '../json-access.ts';
import type { CombinedTranscript, RawTranscript } from '../source.ts';
import type { ClaudeEntry } from './entry.ts';
import { type ClaudeThread, ClaudeTranscript, isCompactionRun } from './transcript.ts';
import { noiseKind, PREFIX_LENGTH } from './transcript-line.ts';

/** What a caller gets of every entry, in order: for those who want more than events. */
export type EntryVisitor = (entry: ClaudeEntry, events: readonly ConversationEvent[]) => void;

/** Converts all lines; `visit` sees each entry with the events it made. */
export function claudeTranscriptEvents(
  raw: RawTranscript,
  visit?: EntryVisitor,
): { events: ConversationEvent[]; diagnostics: TranscriptDiagnostics } {
  const combined = combinedClaudeTranscript(raw);
  if (combined === undefined) {
    const diagnostics = new DiagnosticsCollector();
    diagnostics.problem('not-a-transcript');
    return { events: [], diagnostics: diagnostics.report() };
  }
  const transcript = new ClaudeTranscript();
  const cursors = [new LineCursor(transcript, transcript.open({}), combined.main as string)];
  for (const { id, transcript: text, meta } of combined.subagents) {
    const agentId = id.replace(/^agent-/, '');
    if (isCompactionRun(agentId) || typeof text !== 'string') continue;
    cursors.push(new LineCursor(transcript, transcript.open({ agentId, meta }), text));
  }
  const events: ConversationEvent[] = [];
  const append = (more: readonly ConversationEvent[]): void => {
    for (const event of more) events.push(event);
  };
  const reading = cursors.filter((cursor) => cursor.advance());
  while (reading.length > 0) {
    const next = earliest(reading);
    const cursor = reading[next];
    if (cursor?.head === undefined) break;
    const made = transcript.add(cursor.head);
    visit?.(cursor.head, made);
    append(made);
    if (!cursor.advance()) reading.splice(next, 1);
  }
  append(transcript.finish());
  return { events, diagnostics: transcript.diagnostics };
}

/** Which of several files has the oldest line to give; the first of those that are as old. */
export function earliest(cursors: readonly { readonly head: ClaudeEntry | undefined }[]): number {
  let best = 0;
  for (let i = 1; i < cursors.length; i++) {
    if ((cursors[i]?.head?.timestamp ?? '') < (cursors[best]?.head?.timestamp ?? '')) best = i;
  }
  return best;
}

/** The parts of a raw transcript; `undefined` when it is nothing of the kind. */
export function combinedClaudeTranscript(raw: unknown): CombinedTranscript | undefined {
  if (typeof raw === 'string') {
    const combined = /^\s*\{\s*"main"\s*:/.test(raw) ? asObject(parseJson(raw)) : undefined;
    return combined && typeof combined.main === 'string'
      ? combinedClaudeTranscript(combined)
      : { main: raw, subagents: [] };
  }
  const object = asObject(raw);
  const main = asText(object?.main);
  if (object === undefined || main === undefined) return undefined;
  const subagents = asList(object.subagents).flatMap((value) => {
    const subagent = asObject(value);
    const id = asName(subagent?.id);
    return subagent === undefined || id === undefined
      ? []
      : [{ id, transcript: subagent.transcript, ...(subagent.meta !== undefined && { meta: subagent.meta }) }];
  });
  return { main, subagents };
}

/** Walks the lines of a text, from one that says something to the next. */
class LineCursor {
  head: ClaudeEntry | undefined;
  readonly #transcript: ClaudeTranscript;
  readonly #thread: ClaudeThread;
  readonly #text: string;
  #position: number;

  constructor(transcript: ClaudeTranscript, thread: ClaudeThread, text: string) {
    this.#transcript = transcript;
    this.#thread = thread;
    this.#text = text;
    this.#position = text.startsWith('\uFEFF') ? 1 : 0;
  }

  /** False at the end. */
  advance(): boolean {
    const text = this.#text;
    while (this.#position < text.length) {
      const start = this.#position;
      const newline = text.indexOf('\n', start);
      const end = newline < 0 ? text.length : newline;
      this.#position = end + 1;
      const noise = newline < 0 ? undefined : noiseKind(text.slice(start, Math.min(end, start + PREFIX_LENGTH)));
      if (noise !== undefined) {
        this.#transcript.skip(this.#thread, noise);
        continue;
      }
      this.head = this.#transcript.read(this.#thread, text.slice(start, end), newline < 0);
      if (this.head !== undefined) return true;
    }
    this.head = undefined;
    return false;
  }
}
