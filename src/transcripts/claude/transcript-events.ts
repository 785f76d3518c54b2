/** Converts a Claude Code transcript that is in memory. */
import type { ConversationEvent } from '../../conversation/events.ts';
import { NOT_A_TRANSCRIPT } from '../diagnostics.ts';
import { type RawTranscript, transcriptTexts } from '../raw-transcript.ts';
import { TextLines } from '../text-lines.ts';
import type { TranscriptEvents } from '../transcript-format.ts';
import type { ClaudeEntry } from './entry.ts';
import { convertInOrder, LineCursor, type RawLine, type RawLines } from './line-cursor.ts';
import { RESULT_START, skimResult } from './skim-line.ts';
import { ClaudeTranscript, isSideRequest } from './transcript.ts';
import { GLUED } from './transcript-line.ts';

/** Converts all lines of a session to events. */
export function claudeTranscriptEvents(raw: RawTranscript): TranscriptEvents {
  const events: ConversationEvent[] = [];
  const transcript = readAll(raw, new ClaudeTranscript(), (made) => {
    for (const event of made) events.push(event);
  });
  return { events, diagnostics: transcript?.diagnostics ?? NOT_A_TRANSCRIPT };
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
  const texts = transcriptTexts(raw);
  if (texts === undefined) return undefined;
  const cursors = [new LineCursor(transcript, transcript.open({}), linesOf(texts.main))];
  for (const { id, text, meta, runId, isUnreadable } of texts.subagents) {
    const agentId = id.replace(/^agent-/, '');
    if (isUnreadable) transcript.reportUnreadable(id);
    if (isSideRequest(agentId) || text === undefined) continue;
    cursors.push(new LineCursor(transcript, transcript.open({ agentId, meta, runId }), linesOf(text)));
  }
  for (const step of convertInOrder(transcript, cursors)) {
    if (!(step instanceof Promise)) visit(step); // a text in memory yields no promises
  }
  return transcript;
}

function linesOf(text: string): RawLines {
  const lines = new TextLines(text);
  return {
    next() {
      const line = lines.next();
      return line === undefined ? 'end' : new LineOfText(line, lines.isTorn);
    },
  };
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
