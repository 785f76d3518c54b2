/** Converts a Claude Code transcript that is in memory. */
import type { ConversationEvent } from '../../conversation/events.ts';
import type { TranscriptDiagnostics } from '../diagnostics.ts';
import { DiagnosticsCollector } from '../diagnostics.ts';
import { asList, asName, asObject, asText, type Json, parseJson } from '../json-access.ts';
import type { CombinedTranscript, RawTranscript } from '../raw-transcript.ts';
import { type ClaudeCursor, convertInOrder } from './convert-in-order.ts';
import type { ClaudeEntry } from './entry.ts';
import { MIN_SKIMMED_LENGTH, parseSkimmed, RESULT_START, skimResult } from './skim-line.ts';
import { ClaudeTranscript, isSideRequest, type OpenedFile } from './transcript.ts';
import { GLUED, NoiseFilter, PREFIX_LENGTH, TAIL_LENGTH } from './transcript-line.ts';

/** Converts all lines of a session to events. */
export function claudeTranscriptEvents(raw: RawTranscript): {
  events: ConversationEvent[];
  diagnostics: TranscriptDiagnostics;
} {
  const events: ConversationEvent[] = [];
  const transcript = readAll(raw, new ClaudeTranscript(), (made) => {
    for (const event of made) events.push(event);
  });
  if (transcript) return { events, diagnostics: transcript.diagnostics };
  const diagnostics = new DiagnosticsCollector();
  diagnostics.problem('not-a-transcript');
  return { events, diagnostics: diagnostics.report() };
}

/** The entries of the main conversation: each once, in order, without those that a rewind superseded. */
export function claudeTranscriptEntries(raw: RawTranscript): readonly ClaudeEntry[] {
  const placed: { readonly entry: ClaudeEntry; readonly position: number }[] = [];
  const transcript = new ClaudeTranscript((entry, position) => placed.push({ entry, position }));
  readAll(raw, transcript, () => {});
  return placed.flatMap(({ entry, position }) => (transcript.isLive(position) ? [entry] : []));
}

/** Reads all lines in order and calls `visit` with the events that they become; `undefined` when `raw` is not a transcript. */
function readAll(
  raw: RawTranscript,
  transcript: ClaudeTranscript,
  visit: (events: readonly ConversationEvent[]) => void,
): ClaudeTranscript | undefined {
  const combined = combinedClaudeTranscript(raw);
  if (combined === undefined) return undefined;
  const cursors = [new LineCursor(transcript, transcript.open({}), combined.main as string)];
  for (const { id, transcript: text, meta, runId, unreadable } of combined.subagents) {
    const agentId = id.replace(/^agent-/, '');
    if (unreadable === true) transcript.reportUnreadable(id);
    if (isSideRequest(agentId) || typeof text !== 'string') continue;
    cursors.push(new LineCursor(transcript, transcript.open({ agentId, meta, runId }), text));
  }
  for (const step of convertInOrder(transcript, cursors)) {
    if (!(step instanceof Promise)) visit(step); // a text in memory yields no promises
  }
  return transcript;
}

/** The texts of a raw transcript; `undefined` when it is not one. */
function combinedClaudeTranscript(raw: unknown): CombinedTranscript | undefined {
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
    if (subagent === undefined || id === undefined) return [];
    const { transcript, meta } = subagent;
    const runId = asName(subagent.runId);
    return [
      {
        ...{ id, transcript },
        ...(meta !== undefined && { meta }),
        ...(runId !== undefined && { runId }),
        ...(subagent.unreadable === true && { unreadable: true }),
      },
    ];
  });
  return { main, subagents };
}

/** Moves along the lines of a text, from entry to entry. */
class LineCursor implements ClaudeCursor {
  head: ClaudeEntry | undefined;
  readonly #transcript: ClaudeTranscript;
  readonly #file: OpenedFile;
  readonly #text: string;
  readonly #noise = new NoiseFilter();
  #position: number;

  constructor(transcript: ClaudeTranscript, file: OpenedFile, text: string) {
    this.#transcript = transcript;
    this.#file = file;
    this.#text = text;
    this.#position = text.startsWith('\uFEFF') ? 1 : 0;
  }

  /** Moves to the next entry; false at the end. */
  advance(): boolean {
    const text = this.#text;
    this.head = this.#file.rest.shift();
    if (this.head !== undefined) return true;
    while (this.#position < text.length) {
      const start = this.#position;
      const newline = text.indexOf('\n', start);
      const end = newline < 0 ? text.length : newline;
      this.#position = end + 1;
      const prefix = newline < 0 ? '' : text.slice(start, Math.min(end, start + PREFIX_LENGTH));
      const kind = this.#noise.kindOf(prefix);
      const line = text.slice(start, end);
      if (kind !== undefined && !GLUED.some((glue) => line.includes(glue, 1))) {
        if (kind !== 'agent') {
          this.#transcript.skip(this.#file, kind.noise);
          continue;
        }
        if (this.#transcript.skipProgress(this.#file, line.slice(-TAIL_LENGTH))) continue;
      }
      const isTorn = newline < 0;
      const skimmed = isTorn || line.length < MIN_SKIMMED_LENGTH ? undefined : skimLine(line);
      this.head = skimmed
        ? this.#transcript.readSkimmed(this.#file, skimmed)
        : this.#transcript.read(this.#file, line, isTorn);
      if (this.head !== undefined) return true;
    }
    this.head = undefined;
    return false;
  }
}

/** Reads a long line without the fields that no conversion uses; `undefined` when the whole line has to be read. */
function skimLine(line: string): Json | undefined {
  const at = line.indexOf(RESULT_START);
  const skimmed = at < 0 ? undefined : skimResult(line.slice(at));
  return skimmed === undefined ? undefined : parseSkimmed(line.slice(0, at) + skimmed);
}
