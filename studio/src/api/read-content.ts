import { readJson, sessionPath } from './server.ts';

/** Larger contents are not read. */
const MAX_LENGTH = 30_000_000;

interface Piece {
  readonly text: string;
  readonly length: number;
  readonly next?: number;
}

/** An external content of a session: text, or base64 of media. */
export async function readContent(sessionId: string, hash: string, signal: AbortSignal): Promise<string> {
  const path = sessionPath(sessionId, 'contents', hash);
  const texts: string[] = [];
  for (let from: number | undefined = 0; from !== undefined; ) {
    const piece: Piece = await readJson<Piece>(`${path}?from=${from}`, signal);
    if (piece.length > MAX_LENGTH) throw new Error('this content is too large to be shown');
    texts.push(piece.text);
    from = piece.next;
  }
  return texts.join('');
}
