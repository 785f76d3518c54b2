import { isHoldfastError } from '../../core/errors.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import type { DraftKind, MessageInterrupted, Without } from '../../core/log/events.ts';
import type { MessageDelta } from '../../core/log/message-delta.ts';
import { untilAborted } from '../../models/until-aborted.ts';
import { ModelError, type ModelPart, type ModelRequest, type ModelResponse } from '../../ports/model.ts';
import type { DraftChunk } from '../../ports/store.ts';
import type { DraftPolicy } from '../../session/session.ts';
import { confirmLease, currentEvaluation, type Run, record } from '../evaluate/run.ts';
import type { DraftSource, UnnumberedChunk } from './draft-writer.ts';

/**
 * Streams one response. Deltas are emitted at once and, now and then, stored as chunks of a draft beside the log, so that another
 * process can show the response so far. The text of an attempt that was cut off becomes `message/interrupted`:
 * shown, never sent (D53).
 */
export async function streamResponse(run: Run, request: ModelRequest): Promise<ModelResponse> {
  const draft = new Draft(run, request.turn, ++run.attempts);
  let iterator: AsyncIterator<ModelPart> | undefined;
  try {
    const late = confirmLease(run);
    if (late) await late;
    iterator = run.model.stream(request)[Symbol.asyncIterator]();
    const response = await untilAborted(receive(iterator, draft), run.aborter.signal);
    run.draft = draft;
    return response;
  } catch (error) {
    await draft.interrupt(error);
    throw error;
  } finally {
    void iterator?.return?.()?.catch(() => {}); // whether it was read to its end or not: release it
  }
}

/** Listens to the end. A draft that was interrupted meanwhile takes nothing more. */
async function receive(parts: AsyncIterator<ModelPart>, draft: Draft): Promise<ModelResponse> {
  for (;;) {
    const next = await parts.next();
    if (next.done) throw new ModelError('the model stopped before its response was finished', { retryable: true });
    if (next.value.type === 'finish') return next.value.response;
    draft.add(next.value);
  }
}

/** A piece of a response. */
export type Delta = Exclude<ModelPart, { readonly type: 'finish' }>;
/** What the pieces of one block have in common. */
export type Block = Without<Delta, 'delta'>;

interface DraftBlock {
  readonly id: string;
  readonly what: DraftKind & { readonly kind: MessageDelta['kind'] };
  text: string;
  /** How much of the text was given to the store. */
  written: number;
  /** How long that is as it is stored: redaction may change its length. */
  stored: number;
}

/** One attempt at a response, as far as it has been streamed. */
export class Draft implements DraftSource {
  readonly draftId: string;
  readonly #run: Run;
  readonly #turn: number;
  readonly #attempt: number;
  readonly #conversationId: string;
  readonly #messageId: string;
  readonly #blocks = new Map<string, DraftBlock>();
  #texts = 0;
  #interrupted = false;

  constructor(run: Run, turn: number, attempt: number) {
    const evaluation = currentEvaluation(run);
    this.draftId = run.evaluationId;
    this.#run = run;
    this.#turn = turn;
    this.#attempt = attempt;
    this.#conversationId = evaluation.conversationId;
    this.#messageId = `${evaluation.id}:${evaluation.nextSequence}`;
  }

  add(part: Delta): void {
    if (part.delta === '' || this.#interrupted) return;
    const block = this.#block(part);
    const { drafts } = this.#run.session;
    if (!(drafts.hidesArguments && part.type === 'tool-input-delta')) {
      this.#run.emit?.({
        type: 'message/delta',
        ...this.#draftFields(block),
        conversationId: this.#conversationId,
        ...block.what,
        delta: part.delta,
        offset: block.text.length,
      });
    }
    block.text += part.delta;
    if (drafts.stored) this.#run.draftWriter.ask(this);
  }

  /**
   * The response is about to be recorded: returns the drafts that the append ends; nothing when none was written, as for most. A chunk that is being
   * written is waited for, so that none follows the append.
   */
  end(): Promise<readonly string[]> | undefined {
    this.#interrupted = true;
    return this.#run.draftWriter.forget(this)?.then(() => [this.draftId]);
  }

  /** The attempt was cut off: its text becomes an event, unless another process holds the lease by now. */
  async interrupt(error: unknown): Promise<void> {
    const endsDrafts = (await this.end()) ?? [];
    if (this.#blocks.size === 0 || isHoldfastError(error, 'SESSION_CONFLICT')) return;
    const policy = this.#run.session.drafts;
    const blocks = [...this.#blocks.values()].map(({ id, what, text }) => ({
      blockId: id,
      ...what,
      text: interruptedText(text, what.kind, policy),
    }));
    const what = { turn: this.#turn, attempt: this.#attempt, blocks };
    await recordInterrupted(this.#run, currentEvaluation(this.#run), what, endsDrafts);
  }

  /** A block has the id that it will have in the recorded message (D46). */
  #block(part: Delta): DraftBlock {
    const known = this.#blocks.get(part.blockId);
    if (known) return known;
    const id =
      part.type === 'tool-input-delta'
        ? `${this.#run.evaluationId}/${this.#turn}/${part.blockId}`
        : `${this.#messageId}:${this.#texts++}`;
    const toolName = part.type === 'tool-input-delta' && { toolName: part.toolName };
    const block: DraftBlock = { id, what: { kind: KINDS[part.type], ...toolName }, text: '', written: 0, stored: 0 };
    this.#blocks.set(part.blockId, block);
    return block;
  }

  #draftFields({ id: blockId }: DraftBlock): Pick<DraftChunk, 'evaluationId' | 'turn' | 'attempt' | 'blockId'> {
    return { evaluationId: this.#run.evaluationId, turn: this.#turn, attempt: this.#attempt, blockId };
  }

  /** Returns what is new of each block. */
  take(): readonly UnnumberedChunk[] {
    const chunks: UnnumberedChunk[] = [];
    for (const block of this.#blocks.values()) {
      const { text, end } = storable(block, this.#run.session.drafts);
      if (block.written === end) continue;
      block.written = end;
      chunks.push({
        ...this.#draftFields(block),
        ...block.what,
        draftId: this.draftId,
        conversationId: this.#conversationId,
        delta: text,
        offset: block.stored,
      });
      block.stored += text.length;
    }
    return chunks;
  }
}

/** What is new of a block and may be stored, and where it ends: with redaction at whitespace, so that no word is cut (D77). */
function storable(
  { text, written }: DraftBlock,
  { redactText }: DraftPolicy,
): { readonly text: string; readonly end: number } {
  const fresh = text.slice(written);
  if (!redactText) return { text: fresh, end: text.length };
  const words = wholeWords(fresh);
  const redacted = redactedText(words, redactText);
  return redacted === undefined ? { text: '', end: written } : { text: redacted, end: written + words.length };
}

/** What is recorded of a block that broke off. No `redact` knows the fields of arguments that are not whole: they are left out. */
function interruptedText(text: string, kind: DraftBlock['what']['kind'], policy: DraftPolicy): string {
  const { redactText, hidesArguments } = policy;
  const isHidden = hidesArguments && kind === 'tool-input';
  if (redactText) return redactedText(isHidden ? wholeWords(text) : text, redactText) ?? '';
  return isHidden ? '' : text;
}

/** The text up to its last whitespace: the rest may be a part of a word. */
export function wholeWords(text: string): string {
  return text.slice(0, text.search(/\s\S*$/) + 1);
}

/** The text, redacted; undefined when `redactText` throws: what cannot be redacted is not stored. */
export function redactedText(text: string, redactText: (text: string) => string): string | undefined {
  try {
    return redactText(text);
  } catch {
    return undefined;
  }
}

const KINDS = { 'text-delta': 'text', 'reasoning-delta': 'reasoning', 'tool-input-delta': 'tool-input' } as const;

/**
 * Turns the draft that a dead process left behind into an event; returns how many attempts it had made at the next turn.
 * The evaluation is the run's own, or one whose place the run takes.
 */
export async function interruptLeftDraft(run: Run, evaluation: Evaluation): Promise<number> {
  const { store, id, incarnation } = run.session;
  const all = await store.readDraft(id, { incarnation });
  if (all.length === 0) return 0;
  for (const draftId of run.callDrafts.takeOver(all)) run.staleDrafts.add(draftId);
  const chunks = all.filter((chunk) => chunk.draftId === evaluation.id);
  if (chunks.length === 0) return 0;
  const turn = evaluation.turn + 1;
  const left = chunks.filter((chunk) => chunk.turn === turn);
  const attempt = left.at(-1)?.attempt ?? 0;
  const byId = new Map<string, MessageInterrupted['blocks'][number]>();
  for (const { blockId, kind, toolName, delta, ...chunk } of left) {
    if (chunk.attempt !== attempt) continue;
    const what = { ...(kind !== undefined && { kind }), ...(toolName !== undefined && { toolName }) };
    byId.set(blockId, { blockId, ...what, text: (byId.get(blockId)?.text ?? '') + delta });
  }
  const blocks = [...byId.values()];
  if (blocks.length > 0) await recordInterrupted(run, evaluation, { turn, attempt, blocks }, [evaluation.id]);
  else run.staleDrafts.add(evaluation.id);
  return attempt;
}

async function recordInterrupted(
  run: Run,
  { id: evaluationId, conversationId }: Evaluation,
  what: {
    readonly turn: number;
    readonly attempt: number;
    readonly blocks: MessageInterrupted['blocks'];
  },
  endsDrafts: readonly string[],
): Promise<void> {
  await record(run, [{ type: 'message/interrupted', evaluationId, conversationId, ...what }], { endsDrafts });
}
