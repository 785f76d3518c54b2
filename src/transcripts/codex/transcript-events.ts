/** Converts a Codex session that is in memory. */
import type { ConversationEvent } from '../../conversation/events.ts';
import { NOT_A_TRANSCRIPT } from '../diagnostics.ts';
import { type RawTranscript, transcriptTexts } from '../raw-transcript.ts';
import { firstLines, TextLines } from '../text-lines.ts';
import type { TranscriptEvents } from '../transcript-format.ts';
import { HEAD_LINES, metaIn, type RolloutLine, rolloutMeta } from './rollouts/rollout-line.ts';
import {
  planSession,
  type RolloutInfo,
  type SessionPlan,
  type ThreadInfo,
  threadsOf,
} from './rollouts/session-plan.ts';
import { CodexTranscript, type OpenedRollout } from './transcript.ts';

/** Converts all lines of a session to events. */
export function codexTranscriptEvents(raw: RawTranscript): TranscriptEvents {
  const events: ConversationEvent[] = [];
  const plan = planRaw(raw);
  if (plan === undefined) return { events, diagnostics: NOT_A_TRANSCRIPT };
  const transcript = new CodexTranscript();
  transcript.reportPlan(plan);
  for (const step of convertThreads(transcript, openRaw(transcript, plan))) {
    if (step instanceof Promise) continue; // a text in memory yields none
    for (const event of step) events.push(event);
  }
  return { events, diagnostics: transcript.diagnostics };
}

/** The lines of the main thread, each once, with its past in other rollouts. */
export function codexMainLines(raw: RawTranscript): readonly RolloutLine[] {
  const lines: RolloutLine[] = [];
  const plan = planRaw(raw);
  const transcript = new CodexTranscript();
  const [main] = plan === undefined ? [] : openRaw(transcript, { ...plan, subagents: [] });
  while (main?.advance() === true) if (main.head) lines.push(main.head);
  return lines;
}

interface RolloutText extends RolloutInfo {
  readonly text: string;
  /** It was compressed and ended early. */
  readonly isTorn: boolean;
}

/** The plan of a session in memory; `undefined` when the value is none. */
function planRaw(raw: RawTranscript): SessionPlan<RolloutText> | undefined {
  const texts = transcriptTexts(raw);
  if (texts === undefined) return undefined;
  const others = texts.subagents.flatMap(({ id, text, isTorn }) =>
    text === undefined ? [] : [rolloutOf(id, text, isTorn)],
  );
  return planSession(rolloutOf('main', texts.main, texts.isTorn), others);
}

/** The cursors of a planned session, the main thread's first. */
function openRaw(transcript: CodexTranscript, plan: SessionPlan<RolloutText>): readonly ThreadCursor[] {
  return threadsOf(plan).map(({ info, segments }) => {
    const parts = segments.map((segment): TextPart => {
      const { text, isTorn } = segment.rollout;
      return { lines: new TextLines(text), isTorn, opened: transcript.open(segment, info.isSubagent) };
    });
    return new TextCursor(transcript, info, parts);
  });
}

function rolloutOf(id: string, text: string, isTorn: boolean): RolloutText {
  const payload = metaIn(firstLines(text, HEAD_LINES));
  const meta = payload && rolloutMeta(payload);
  return { rolloutId: id === 'main' ? (meta?.threadId ?? id) : id, meta, text, isTorn };
}

interface TextPart {
  readonly lines: TextLines;
  readonly isTorn: boolean;
  readonly opened: OpenedRollout;
}

/** Moves along the lines of texts, one after the other. */
class TextCursor implements ThreadCursor {
  readonly info: ThreadInfo;
  head: RolloutLine | undefined;
  readonly #transcript: CodexTranscript;
  readonly #parts: readonly TextPart[];
  #part = 0;
  /** Records that stand on the same line as the current one. */
  #glued: readonly RolloutLine[] = [];

  constructor(transcript: CodexTranscript, info: ThreadInfo, parts: readonly TextPart[]) {
    this.#transcript = transcript;
    this.info = info;
    this.#parts = parts;
  }

  advance(): boolean {
    [this.head, ...this.#glued] = this.#glued;
    if (this.head !== undefined) return true;
    for (; this.#part < this.#parts.length; this.#part++) {
      const { lines, isTorn, opened } = this.#parts[this.#part] as TextPart;
      while (!opened.isDone) {
        const line = lines.next();
        if (line === undefined) break;
        [this.head, ...this.#glued] = this.#transcript.read(opened, line, lines.isTorn);
        if (this.head !== undefined) return true;
      }
      if (isTorn && !opened.isDone) this.#transcript.report('torn-compression', opened);
    }
    this.head = undefined;
    return false;
  }
}

/**
 * Moves along the lines of one thread, through all rollouts that hold parts of it.
 *
 * Contract: `head` is the current line, `undefined` before the first `advance` and after the last. `advance` returns a promise only when
 * it has to read more of a file.
 */
export interface ThreadCursor {
  readonly info: ThreadInfo;
  readonly head: RolloutLine | undefined;
  advance(): boolean | Promise<boolean>;
}

/**
 * Merges the threads of a session by time and converts their lines. A subagent's thread waits until a line of its parent names the call
 * that started it, or until its parent has ended. The caller awaits each promise that is yielded before it takes the next step.
 */
export function* convertThreads(
  transcript: CodexTranscript,
  cursors: readonly ThreadCursor[],
): Generator<readonly ConversationEvent[] | Promise<boolean>> {
  const byThread = new Map(cursors.map((cursor) => [cursor.info.meta?.threadId ?? cursor.info.name, cursor]));
  const [main] = cursors;
  const parentOf = ({ info }: ThreadCursor): ThreadCursor | undefined =>
    info.isSubagent ? (byThread.get(info.meta?.parentThreadId ?? '') ?? main) : undefined;
  const reading = new Set<ThreadCursor>();
  for (const cursor of cursors) {
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head !== undefined) reading.add(cursor);
  }
  while (reading.size > 0) {
    const cursor = nextOf(transcript, reading, parentOf);
    if (cursor?.head === undefined) break;
    yield transcript.add(cursor.info, parentOf(cursor)?.info, cursor.head);
    const more = cursor.advance();
    if (typeof more !== 'boolean') yield more;
    if (cursor.head === undefined) reading.delete(cursor);
  }
  yield transcript.finish();
}

/** The cursor with the oldest line among those that need not wait; of all, when each waits for another one. */
function nextOf(
  transcript: CodexTranscript,
  reading: ReadonlySet<ThreadCursor>,
  parentOf: (cursor: ThreadCursor) => ThreadCursor | undefined,
): ThreadCursor | undefined {
  if (reading.size === 1) return reading.values().next().value;
  let best: ThreadCursor | undefined;
  let isBestReady = false;
  for (const cursor of reading) {
    const parent = parentOf(cursor);
    const isReady = parent === undefined || !reading.has(parent) || transcript.isReady(cursor.info);
    const isOlder = best === undefined || (cursor.head?.timestamp ?? '') < (best.head?.timestamp ?? '');
    if (isReady === isBestReady ? isOlder : isReady) {
      best = cursor;
      isBestReady = isReady;
    }
  }
  return best;
}
