/** Converts a Claude Code transcript that is in memory. */
import type { ConversationEvent } from '../../conversation/events.ts';
import type { TranscriptDiagnostics } from '../diagnostics.ts';
import { DiagnosticsCollector } from '../diagnostics.ts';
import { asList, asName, asObject, asText, parseJson } from '../json-access.ts';
import type { CombinedTranscript, RawTranscript } from '../raw-transcript.ts';
import { type ClaudeCursor, convertInOrder } from './convert-in-order.ts';
import type { ClaudeEntry } from './entry.ts';
import { LineReader, type RawLine } from './line-reader.ts';
import { RESULT_START, skimResult } from './skim-line.ts';
import { ClaudeTranscript, isSideRequest, type OpenedFile } from './transcript.ts';
import { GLUED } from './transcript-line.ts';

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
  readonly #reader: LineReader;
  readonly #text: string;
  #position = 0;

  constructor(transcript: ClaudeTranscript, file: OpenedFile, text: string) {
    this.#reader = new LineReader(transcript, file);
    this.#text = text;
  }

  /** Moves to the next entry; false at the end. */
  advance(): boolean {
    const text = this.#text;
    this.head = this.#reader.takeRest();
    while (this.head === undefined && this.#position < text.length) {
      const start = this.#position;
      const newline = text.indexOf('\n', start);
      const end = newline < 0 ? text.length : newline;
      this.#position = end + 1;
      this.head = this.#reader.read(new LineOfText(text.slice(start, end), newline < 0));
    }
    return this.head !== undefined;
  }
}

class LineOfText implements RawLine {
  readonly isTorn: boolean;
  readonly #text: string;

  constructor(text: string, isTorn: boolean) {
    this.#text = text;
    this.isTorn = isTorn;
  }

  get length(): number {
    return this.#text.length;
  }

  start(length: number): string {
    return this.#text.slice(0, length);
  }

  end(length: number): string {
    return this.#text.slice(-length);
  }

  isGlued(): boolean {
    return GLUED.some((glue) => this.#text.includes(glue, 1));
  }

  skimmed(): string | undefined {
    const at = this.#text.indexOf(RESULT_START);
    const skimmed = at < 0 ? undefined : skimResult(this.#text.slice(at));
    return skimmed === undefined ? undefined : this.#text.slice(0, at) + skimmed;
  }

  text(): string {
    return this.#text;
  }
}
