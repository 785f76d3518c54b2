/** A Codex session in memory: the texts of its rollouts, as `loadTranscript` returns them. */
import { asList, asName, asObject, asText, parseJson } from '../json-access.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import type { ThreadCursor } from './convert-threads.ts';
import { parseRolloutLine, type RolloutLine } from './rollout-line.ts';
import { type RolloutMeta, rolloutMeta } from './rollout-meta.ts';
import { planSession, type RolloutInfo, type Segment, type SessionPlan } from './session-plan.ts';
import type { CodexTranscript, OpenedRollout, ThreadInfo } from './transcript.ts';

interface RolloutText extends RolloutInfo {
  readonly text: string;
  readonly isTorn: boolean;
}

/** A file in memory. */
interface NamedText {
  readonly id: string;
  readonly text: string;
  /** It was compressed and ended early. */
  readonly isTorn: boolean;
}

/** How far into a file its `session_meta` is looked for: a damaged file may have lost its first lines. */
const HEAD_LINES = 5;

/** The plan of a session in memory; `undefined` when the value is none. */
export function planRaw(raw: RawTranscript): SessionPlan<RolloutText> | undefined {
  const texts = textsOf(raw);
  if (texts === undefined) return undefined;
  return planSession(rolloutOf(texts.main), texts.others.map(rolloutOf));
}

/** The cursors of a planned session, the main thread's first. */
export function openRaw(transcript: CodexTranscript, plan: SessionPlan<RolloutText>): readonly ThreadCursor[] {
  const main = plan.main.at(-1)?.rollout;
  const cursor = (segments: readonly Segment<RolloutText>[], info: ThreadInfo): ThreadCursor =>
    new TextCursor(
      transcript,
      info,
      segments.map((segment) => {
        const { text, isTorn } = segment.rollout;
        return { text, isTorn, opened: transcript.open(segment, info.isSubagent) };
      }),
    );
  return [
    cursor(plan.main, { name: 'main', meta: main?.meta, isSubagent: false, isOptional: false }),
    ...plan.subagents.map(({ rollout, isOptional }) =>
      cursor([{ rollout, endOrdinal: undefined }], {
        name: rollout.rolloutId,
        meta: rollout.meta,
        isSubagent: true,
        isOptional,
      }),
    ),
  ];
}

/** The texts of a raw transcript: a rollout's, or a combined one as a value or as JSON. */
function textsOf(raw: unknown): { readonly main: NamedText; readonly others: readonly NamedText[] } | undefined {
  if (typeof raw === 'string') {
    const combined = /^\s*\{\s*"main"\s*:/.test(raw) ? asObject(parseJson(raw)) : undefined;
    return typeof combined?.main === 'string'
      ? textsOf(combined)
      : { main: { id: 'main', text: raw, isTorn: false }, others: [] };
  }
  const object = asObject(raw);
  const main = asText(object?.main);
  if (main === undefined) return undefined;
  const others = asList(object?.subagents).flatMap((value) => {
    const id = asName(asObject(value)?.id);
    const text = asText(asObject(value)?.transcript);
    return id === undefined || text === undefined ? [] : [{ id, text, isTorn: asObject(value)?.isTorn === true }];
  });
  return { main: { id: 'main', text: main, isTorn: object?.isTorn === true }, others };
}

function rolloutOf({ id, text, isTorn }: NamedText): RolloutText {
  const meta = metaOf(text);
  return { rolloutId: id === 'main' ? (meta?.threadId ?? id) : id, meta, text, isTorn };
}

function metaOf(text: string): RolloutMeta | undefined {
  let start = 0;
  for (let lines = 0; lines < HEAD_LINES && start < text.length; lines++) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const parsed = parseRolloutLine(text.slice(start, end).replace(/^\uFEFF/, ''));
    const meta = parsed?.lines.find(({ type }) => type === 'session_meta');
    if (meta) return rolloutMeta(meta.payload);
    start = end + 1;
  }
  return undefined;
}

interface TextPart {
  readonly text: string;
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
  #position = 0;
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
    for (; this.#part < this.#parts.length; this.#part++, this.#position = 0) {
      const { text, isTorn, opened } = this.#parts[this.#part] as TextPart;
      if (this.#position === 0 && text.startsWith('\uFEFF')) this.#position = 1;
      while (this.#position < text.length && !opened.isDone) {
        // Only at \n: a line may hold other characters that some readers take for the end of a line.
        const newline = text.indexOf('\n', this.#position);
        const end = newline < 0 ? text.length : newline;
        const line = text.slice(this.#position, end);
        this.#position = end + 1;
        [this.head, ...this.#glued] = this.#transcript.read(opened, line, newline < 0);
        if (this.head !== undefined) return true;
      }
      if (isTorn && !opened.isDone) this.#transcript.reportTorn(opened);
    }
    this.head = undefined;
    return false;
  }
}
