import { messageOf } from '../../core/errors.ts';
import { endedEvaluation, findCall, hasResult } from '../../core/fold/evaluations.ts';
import { frozen } from '../../core/frozen.ts';
import { type CallRef, callKey } from '../../core/log/messages.ts';
import {
  type CallProgress,
  decodeProgress,
  encodeProgress,
  MAX_PROGRESS_LENGTH,
  type ProgressPiece,
  type ProgressReport,
  ProgressView,
  type ToolProgress,
} from '../../core/log/progress.ts';
import type { DraftChunk } from '../../ports/store.ts';
import type { AnySession } from '../../session/session.ts';
import type { EvaluationEvent } from '../evaluate/provider-adapter.ts';
import type { DraftSource, DraftWriter, UnnumberedChunk } from '../request/draft-writer.ts';
import { redactedText, wholeWords } from '../request/stream-response.ts';

/**
 * Returns what an open call has reported with `ctx.progress`, from whichever process; undefined when it reported nothing or has its
 * result. It shows a person who settles an unknown outcome how far the call got.
 */
export async function readCallProgress(session: AnySession, call: CallRef): Promise<CallProgress | undefined> {
  const { store, id, incarnation } = session;
  const chunks = await store.readDraft(id, { draftId: callKey(call), incarnation });
  const view = new ProgressView();
  let found = false;
  for (const { delta, n } of chunks) {
    const piece = decodeProgress(delta);
    if (piece && view.add(piece, { n, length: delta.length })) found = true;
  }
  return found ? view.progress : undefined;
}

/** The call that reports, and the conversation it belongs to. */
export interface ReportingCall extends CallRef {
  readonly name: string;
  readonly conversationId: string;
  readonly attempt: number;
  /** A run of `reconcile` or `compensate`. */
  readonly continues: boolean;
}

/** What drafts of calls need of the evaluation that runs them. */
export interface ProgressSurroundings {
  readonly session: AnySession;
  readonly emit: ((event: EvaluationEvent) => void) | undefined;
  readonly draftWriter: DraftWriter;
}

/** The progress of all calls that one evaluation and its children run. A call that reports nothing has no entry here. */
export class CallDrafts {
  readonly #around: ProgressSurroundings;
  readonly #open = new Map<string, ProgressDraft>();
  /** Drafts that an earlier process left, by the evaluation of their call. */
  readonly #left = new Map<string, string>();

  constructor(around: ProgressSurroundings) {
    this.#around = around;
  }

  /** Begins to report for one run of a tool's function. */
  begin(call: ReportingCall): (report: string | ProgressReport) => void {
    const key = callKey(call);
    const draft = this.#open.get(key) ?? new ProgressDraft(this.#around, call);
    this.#open.set(key, draft);
    draft.begin(call, this.#around.draftWriter.nextRun());
    return (report) => draft.add(report);
  }

  /**
   * The call's result is about to be recorded: returns the draft that the append ends; undefined when none was written, as for most
   * calls. It waits for a chunk that is being written, so that none follows the append.
   */
  end(call: CallRef): Promise<readonly string[]> | undefined {
    if (this.#open.size === 0 && this.#left.size === 0) return undefined;
    const key = callKey(call);
    const writing = this.#open.get(key)?.end();
    return writing || this.#left.has(key) ? Promise.resolve(writing).then(() => [key]) : undefined;
  }

  /** The call's result is recorded. */
  forget(call: CallRef): void {
    const key = callKey(call);
    this.#open.delete(key);
    this.#left.delete(key);
  }

  /** Takes over drafts that an earlier process left; returns those of calls that have ended. */
  takeOver(chunks: readonly DraftChunk[]): readonly string[] {
    const { evaluations } = this.#around.session.state.record;
    const ended = new Set<string>();
    for (const { kind, draftId, evaluationId, turn } of chunks) {
      if (kind !== 'progress' || this.#open.has(draftId)) continue;
      const callId = draftId.slice(`${evaluationId}/${turn}/`.length);
      if (this.#isOpen({ evaluationId, turn, callId })) this.#left.set(draftId, evaluationId);
      else if (evaluations.has(evaluationId)) ended.add(draftId);
    }
    return [...ended];
  }

  /** The drafts that were left under an evaluation that another one replaces: its own calls', and those of its children. */
  leftUnder(evaluationId: string): readonly string[] {
    const { evaluations } = this.#around.session.state.record;
    const isUnder = (id: string | undefined): boolean =>
      id !== undefined && (id === evaluationId || isUnder(evaluations.get(id)?.parent?.evaluationId));
    return [...this.#left].filter(([, id]) => isUnder(id)).map(([draftId]) => draftId);
  }

  /** The evaluation ends: writes what calls without a result have reported since the last write. */
  async close(): Promise<void> {
    const open = [...this.#open.values()].filter(({ call }) => this.#isOpen(call));
    for (const draft of open) draft.close();
    await this.#around.draftWriter.write(open);
  }

  #isOpen(call: CallRef): boolean {
    const { evaluations } = this.#around.session.state.record;
    const now = findCall(evaluations, call);
    return now !== undefined && !hasResult(now) && !endedEvaluation(evaluations, call.evaluationId);
  }
}

/** The longest text of one chunk: stores drop whole chunks, and a short one must not push out a very long one. */
const MAX_CHUNK_TEXT = 4096;

/** What one call has reported and is not in the store yet. */
class ProgressDraft implements DraftSource {
  readonly call: ReportingCall;
  readonly draftId: string;
  readonly #around: ProgressSurroundings;
  #live: Pick<ToolProgress, 'attempt' | 'run' | 'continues'> = { attempt: 0, run: '0.0' };
  /** The length of what this run has reported. */
  #reported = 0;
  /** Of that, what was stored or dropped. */
  #stored = 0;
  #text = '';
  #state: Pick<CallProgress, 'percent' | 'data'> = {};
  #changed = false;
  /** The text begins within a word whose beginning was dropped: redaction would not recognise it. */
  #midWord = false;
  #warned = false;
  #ended = false;

  constructor(around: ProgressSurroundings, call: ReportingCall) {
    this.#around = around;
    this.call = call;
    this.draftId = callKey(call);
  }

  begin({ attempt, continues }: ReportingCall, run: string): void {
    this.#ended = false;
    if (continues && this.#reported > 0) return; // in this process: the same text continues
    this.#live = { attempt, run, ...(continues && { continues: true }) };
    this.#reported = 0;
    this.#stored = 0;
    this.#text = '';
    this.#state = {};
    this.#changed = false;
    this.#midWord = false;
  }

  add(given: string | ProgressReport): void {
    if (this.#ended) return;
    const checked = checkReport(given);
    if (!checked.ok) {
      this.#warn(checked.problem);
      return;
    }
    const { text, ...state } = checked.report;
    if (text === '' && state.percent === undefined && state.data === undefined) return;
    const newest = text.slice(-MAX_PROGRESS_LENGTH);
    const { evaluationId, conversationId, turn, callId, name: toolName } = this.call;
    this.#around.emit?.({
      type: 'tool/progress',
      ...{ evaluationId, conversationId, turn, callId, toolName },
      ...this.#live,
      offset: this.#reported + text.length - newest.length,
      text: newest,
      ...state,
    });
    this.#reported += text.length;
    if (!this.#around.session.drafts.stored) return;
    this.#state = { ...this.#state, ...state };
    this.#changed = true;
    this.#keep(text);
    this.#around.draftWriter.ask(this);
  }

  /** No more is reported. */
  close(): void {
    this.#ended = true;
  }

  /** No more is written. Returns the write that is under way, or the last one; undefined when there was none. */
  end(): Promise<void> | undefined {
    this.close();
    return this.#around.draftWriter.forget(this);
  }

  /** Keeps the newest text until it is written. It is cut at twice the bound, so that short reports do not copy it each time. */
  #keep(text: string): void {
    this.#text += text;
    if (this.#midWord) this.#dropCutWord();
    if (this.#text.length > 2 * MAX_PROGRESS_LENGTH) this.#cut();
  }

  #cut(): void {
    const excess = this.#text.length - MAX_PROGRESS_LENGTH;
    if (excess <= 0) return;
    const isHalf = /^[\uDC00-\uDFFF]/.test(this.#text.slice(excess, excess + 1));
    this.#drop(isHalf ? excess + 1 : excess);
    if (this.#around.session.drafts.redactText) this.#dropCutWord();
  }

  #dropCutWord(): void {
    const space = this.#text.search(/\s/);
    this.#midWord = space < 0;
    this.#drop(this.#midWord ? this.#text.length : space);
  }

  #drop(length: number): void {
    this.#text = this.#text.slice(length);
    this.#stored += length;
  }

  take(): readonly UnnumberedChunk[] {
    if (!this.#changed) return [];
    this.#cut();
    this.#changed = false;
    return this.#chunks(this.#takeText());
  }

  /** The text that may be stored: with redaction whole words, redacted (D77). */
  #takeText(): string {
    const { redactText } = this.#around.session.drafts;
    const words = redactText ? wholeWords(this.#text) : this.#text;
    this.#text = this.#text.slice(words.length);
    return redactText ? (redactedText(words, redactText) ?? '') : words;
  }

  /** The text in pieces; the last one carries percent and data. */
  #chunks(text: string): readonly UnnumberedChunk[] {
    const { evaluationId, conversationId, turn, name: toolName } = this.call;
    const { attempt, ...live } = this.#live;
    const chunks: UnnumberedChunk[] = [];
    let from = 0;
    do {
      const part = text.slice(from, from + MAX_CHUNK_TEXT);
      from += MAX_CHUNK_TEXT;
      const state = from >= text.length ? this.#storedState() : {};
      const piece: ProgressPiece = { ...live, offset: this.#stored, ...state, text: part };
      this.#stored += part.length;
      chunks.push({
        ...{ evaluationId, conversationId, turn, attempt, toolName },
        kind: 'progress',
        draftId: this.draftId,
        blockId: this.draftId,
        delta: encodeProgress(piece),
      });
    } while (from < text.length);
    return chunks;
  }

  /** `redactText` takes text: with redaction, data is not stored (D77). */
  #storedState(): Pick<CallProgress, 'percent' | 'data'> {
    const { data: _, ...percent } = this.#state;
    return this.#around.session.drafts.redactText ? percent : this.#state;
  }

  /** Reports the call's first invalid report as a process warning: progress must not break the tool. */
  #warn(problem: string): void {
    if (this.#warned) return;
    this.#warned = true;
    process.emitWarning(`ctx.progress of "${this.call.name}" was ignored: ${problem}`, 'HoldfastWarning');
  }
}

/** The longest `data`, as JSON: every write of the call's draft repeats it. */
const MAX_DATA_LENGTH = 16 * 1024;

type Checked = { readonly ok: true; readonly report: CallProgress } | { readonly ok: false; readonly problem: string };

/** A report as plain data of its own, or what is wrong with it. Never throws. */
function checkReport(given: unknown): Checked {
  if (typeof given === 'string') return { ok: true, report: { text: given } };
  try {
    return checkFields(given);
  } catch (error) {
    return { ok: false, problem: `its data is not JSON (${messageOf(error)})` };
  }
}

function checkFields(given: unknown): Checked {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { ok: false, problem: 'give a text or { text?, percent?, data? }' };
  }
  const { text = '', percent, data } = given as Readonly<Record<string, unknown>>;
  if (typeof text !== 'string') return { ok: false, problem: `text is a ${typeof text}; give a string` };
  if (percent !== undefined && !Number.isFinite(percent)) {
    return { ok: false, problem: `percent is ${String(percent)}; give a number from 0 to 100` };
  }
  const json = data === undefined ? undefined : JSON.stringify(data);
  if (data !== undefined && json === undefined) {
    return { ok: false, problem: `its data is a ${typeof data}; give plain JSON` };
  }
  if (json !== undefined && json.length > MAX_DATA_LENGTH) {
    const problem = `its data has ${json.length} characters as JSON, and at most ${MAX_DATA_LENGTH} are taken; stream text instead`;
    return { ok: false, problem };
  }
  const report: CallProgress = {
    text,
    ...(percent !== undefined && { percent: Math.min(100, Math.max(0, Number(percent))) }),
    ...(json !== undefined && { data: frozen(JSON.parse(json) as unknown) }),
  };
  return { ok: true, report };
}
