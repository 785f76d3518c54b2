import type { DraftPosition } from '../../../src/core/log/draft-position.ts';
import type { MessageDelta } from '../../../src/core/log/message-delta.ts';
import { isBuiltInEvent, type SessionEvent, type TailItem, type ToolProgress } from '../../../src/index.ts';

/**
 * A strict reader: it stores the text of drafts without resolving overlaps, and reports every item that is lost, repeated or out of
 * order.
 */
export class StrictReader {
  readonly wrong: string[] = [];
  /** The number of pieces, by the type of their item. */
  readonly counts: Record<string, number> = {};
  #seq = 0;
  #position: DraftPosition | undefined;
  readonly #started = new Set<string>();
  /** The text of each open block, by evaluation. */
  readonly #texts = new Map<string, Map<string, { readonly turn: number; text: string }>>();
  /** The newest recorded turn of each evaluation. */
  readonly #turns = new Map<string, number>();
  readonly #progress = new Map<string, { readonly run: string; readonly end: number }>();

  read({ event, cursor }: TailItem): void {
    this.counts[event.type] = (this.counts[event.type] ?? 0) + 1;
    if ('seq' in event) this.#readEvent(event);
    else if (event.type === 'message/delta') this.#readDelta(event);
    else if (event.type === 'tool/progress') this.#readProgress(event);
    else if (event.type === 'draft/reset') {
      const { evaluationId, turn, callId } = event;
      if (callId === undefined) this.#texts.delete(evaluationId);
      else this.#progress.delete(`${evaluationId}/${turn}/${callId}`);
    } else if (event.type === 'drafts/replaced') {
      this.#texts.clear();
      this.#progress.clear();
      for (const { position: _, ...piece } of event.pieces) {
        if (piece.type === 'message/delta') this.#readDelta(piece);
        else this.#readProgress(piece);
      }
    } else this.#expect(false, `an item of type ${event.type}`);
    const [seq] = cursor.split('.');
    this.#expect(Number(seq) === this.#seq, `the cursor ${cursor} after event ${this.#seq}`);
  }

  #readEvent(event: SessionEvent): void {
    this.#expect(event.seq === this.#seq + 1, `event ${event.seq} after ${this.#seq}`);
    this.#seq = event.seq;
    if (!isBuiltInEvent(event)) return;
    if (event.type === 'evaluation/started') this.#started.add(event.evaluationId);
    if (event.type === 'message/interrupted') {
      const said = new Map(event.blocks.map(({ blockId, text }) => [blockId, text]));
      this.#end(event.evaluationId, said);
    }
    if (event.type !== 'message/recorded') return;
    const { message } = event;
    if (message.role === 'tool') this.#progress.delete(`${message.evaluationId}/${message.turn}/${message.toolCallId}`);
    if (message.role !== 'assistant') return;
    const texts = message.content.flatMap((part) => ('text' in part ? [part.text] : []));
    const said = new Map(texts.map((text, i) => [`${message.id}:${i}`, text]));
    for (const { callId, arguments: input } of message.toolCalls ?? []) {
      said.set(`${message.evaluationId}/${message.turn}/${callId}`, input);
    }
    this.#end(message.evaluationId, said);
    this.#turns.set(message.evaluationId, message.turn);
  }

  /** Checks at the end of a response: the streamed text is the beginning of the recorded one. */
  #end(evaluationId: string, said: ReadonlyMap<string, string>): void {
    for (const [blockId, { text }] of this.#texts.get(evaluationId) ?? []) {
      this.#expect(said.get(blockId)?.startsWith(text) === true, `${blockId} was read as ${JSON.stringify(text)}`);
    }
    this.#texts.delete(evaluationId);
  }

  #readDelta({ evaluationId, turn, blockId, delta, offset, position }: MessageDelta): void {
    this.#expectPiece(evaluationId, position, blockId);
    this.#expect(turn > (this.#turns.get(evaluationId) ?? 0), `a piece of ${blockId}, which is recorded`);
    const blocks = this.#texts.get(evaluationId) ?? new Map<string, { readonly turn: number; text: string }>();
    const block = blocks.get(blockId) ?? { turn, text: '' };
    this.#texts.set(evaluationId, blocks.set(blockId, block));
    this.#expect(offset === block.text.length, `${blockId} goes on at ${offset}, not ${block.text.length}`);
    block.text += delta;
  }

  #readProgress({ evaluationId, turn, callId, run, offset, text, position }: ToolProgress): void {
    const call = `${evaluationId}/${turn}/${callId}`;
    this.#expectPiece(evaluationId, position, call);
    const known = this.#progress.get(call);
    this.#expect(known?.run !== run || known.end === offset, `${call} goes on at ${offset}, not ${known?.end}`);
    this.#expect(known === undefined || known.run === run || offset === 0, `${call} begins run ${run} at ${offset}`);
    this.#progress.set(call, { run, end: offset + text.length });
  }

  #expectPiece(evaluationId: string, position: DraftPosition | undefined, what: string): void {
    this.#expect(this.#started.has(evaluationId), `a piece of ${what} before its evaluation began`);
    if (!position) return;
    const { fence, n } = this.#position ?? { fence: 0, n: 0 };
    const isLater = position.fence > fence || (position.fence === fence && position.n > n);
    this.#expect(isLater, `${what}: chunk ${position.fence}.${position.n} after ${fence}.${n}`);
    this.#position = position;
  }

  #expect(condition: boolean, otherwise: string): void {
    if (!condition) this.wrong.push(otherwise);
  }
}
