/** A Codex session in memory: the texts of its rollouts, as `loadTranscript` returns them. */
import { type RawTranscript, transcriptTexts } from '../raw-transcript.ts';
import { firstLines, TextLines } from '../text-lines.ts';
import type { ThreadCursor } from './convert-threads.ts';
import { HEAD_LINES, metaIn, type RolloutLine } from './rollouts/rollout-line.ts';
import { rolloutMeta } from './rollouts/rollout-meta.ts';
import {
  planSession,
  type RolloutInfo,
  type SessionPlan,
  type ThreadInfo,
  threadsOf,
} from './rollouts/session-plan.ts';
import type { CodexTranscript, OpenedRollout } from './transcript.ts';

interface RolloutText extends RolloutInfo {
  readonly text: string;
  /** It was compressed and ended early. */
  readonly isTorn: boolean;
}

/** The plan of a session in memory; `undefined` when the value is none. */
export function planRaw(raw: RawTranscript): SessionPlan<RolloutText> | undefined {
  const texts = transcriptTexts(raw);
  if (texts === undefined) return undefined;
  const others = texts.subagents.flatMap(({ id, text, isTorn }) =>
    text === undefined ? [] : [rolloutOf(id, text, isTorn)],
  );
  return planSession(rolloutOf('main', texts.main, texts.isTorn), others);
}

/** The cursors of a planned session, the main thread's first. */
export function openRaw(transcript: CodexTranscript, plan: SessionPlan<RolloutText>): readonly ThreadCursor[] {
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
      if (isTorn && !opened.isDone) this.#transcript.reportTorn(opened);
    }
    this.head = undefined;
    return false;
  }
}
