import type { ToolProgress } from '../core/log/progress.ts';
import type { TailEvent } from '../core/log/tail.ts';

/**
 * Where the progress of each running call ends for one reader. Stores drop old progress, so a reader may lack pieces before its cursor
 * (D62): a piece that does not continue what it has must be preceded by a reset, which only a tail of its own can know.
 */
export class ProgressEnds {
  /** Undefined after a reset: any piece may follow. */
  readonly #ends = new Map<string, { readonly run: string; readonly end: number } | undefined>();

  /** Whether the reader can be sent an event that was read for another reader at the same cursor. */
  accepts(event: TailEvent): boolean {
    if (event.type !== 'tool/progress' || 'seq' in event) return true;
    if (event.offset === 0 && !event.continues) return true;
    const name = nameOf(event, event.callId);
    const known = this.#ends.get(name);
    return known ? known.run === event.run && known.end === event.offset : this.#ends.has(name);
  }

  /** Notes an event that is sent. */
  note(event: TailEvent): void {
    if ('seq' in event) {
      const isResult = event.type === 'message/recorded' && event.message.role === 'tool';
      if (isResult) this.#ends.delete(nameOf(event.message, event.message.toolCallId));
    } else if (event.type === 'tool/progress') this.#notePiece(event);
    else if (event.type === 'draft/reset') {
      if (event.callId !== undefined) this.#ends.set(nameOf(event, event.callId), undefined);
    } else if (event.type === 'drafts/replaced') {
      this.#ends.clear();
      for (const piece of event.pieces) if (piece.type === 'tool/progress') this.#notePiece(piece);
    } else if (event.type === 'session/reset') this.#ends.clear();
  }

  #notePiece(piece: ToolProgress): void {
    const { run, offset, text } = piece;
    this.#ends.set(nameOf(piece, piece.callId), { run, end: offset + text.length });
  }
}

function nameOf(
  { evaluationId, turn }: { readonly evaluationId: string; readonly turn: number },
  callId: string,
): string {
  return `${evaluationId}/${turn}/${callId}`;
}
