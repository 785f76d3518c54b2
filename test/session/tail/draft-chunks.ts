/** A writer of drafts, and readers that follow its session. */
import { encodeProgress } from '../../../src/core/log/progress.ts';
import { type AnySession, openSession, type Store, type TailItem } from '../../../src/index.ts';
import type { DraftChunk } from '../../../src/ports/store.ts';
import { started } from '../../transcripts/own-log-builders.ts';

/** Writes drafts like the holder of a lease. */
export class Writer {
  readonly #store: Store;
  #fence = 0;
  #n = 0;
  readonly #lengths = new Map<string, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  async begin(): Promise<this> {
    const holder = { id: `writer-${this.#fence}`, host: 'here', pid: 1, startedAt: '0' };
    if (this.#fence > 0) await this.#store.releaseLease('s', this.#fence);
    const { lease } = await this.#store.acquireLease('s', { holder, ttlMs: 60_000 });
    this.#fence = lease.fence;
    this.#n = 0;
    return this;
  }

  /** A piece of the response of evaluation `ev`. */
  text(delta: string, more: Partial<DraftChunk> = {}): Promise<void> {
    const blockId = more.blockId ?? 'ev:1:0';
    const offset = this.#lengths.get(blockId) ?? 0;
    this.#lengths.set(blockId, offset + delta.length);
    return this.#write({ draftId: 'ev', blockId, kind: 'text', delta, offset, ...more });
  }

  progress(text: string, offset: number, run = '1.1', more: Partial<DraftChunk> = {}): Promise<void> {
    const delta = encodeProgress({ run, offset, text });
    return this.#write({ draftId: 'ev/1/c1', blockId: 'ev/1/c1', kind: 'progress', toolName: 'run', delta, ...more });
  }

  async #write(chunk: Pick<DraftChunk, 'draftId' | 'blockId' | 'delta'> & Partial<DraftChunk>): Promise<void> {
    const { seq: after, incarnation } = await this.#store.head('s');
    const place = { evaluationId: 'ev', turn: 1, attempt: 1, fence: this.#fence, n: ++this.#n, after };
    await this.#store.appendDraft('s', [{ ...place, ...chunk }], { fence: this.#fence, incarnation });
  }
}

export const message = (
  text: string,
  role: 'user' | 'assistant' = 'assistant',
): { readonly type: string } & Record<string, unknown> => ({
  type: 'message/recorded',
  message: {
    ...{
      id: `ev:${role === 'user' ? 0 : 1}`,
      evaluationId: 'ev',
      conversationId: 'main',
      turn: role === 'user' ? 0 : 1,
    },
    ...{ sequence: role === 'user' ? 0 : 1, promptNs: 'test', promptKey: 'p', createdAt: '2026-01-01T00:00:00.000Z' },
    ...{ role, content: [{ type: 'text', text }] },
  },
});

export async function opened(store: Store): Promise<{ readonly session: AnySession; readonly writer: Writer }> {
  const session = await openSession({ store, id: 's' });
  const { at: _, ...begun } = { at: '', ...started() } as { readonly at: string; readonly type: string };
  await session.append([begun, message('Go', 'user')]);
  return { session, writer: await new Writer(store).begin() };
}

/** An item as a short text. */
export function words({ cursor, event }: TailItem): string {
  if ('seq' in event) return `${cursor} ${event.type}`;
  if (event.type === 'message/delta') return `${cursor} ${event.delta}@${event.offset}`;
  if (event.type === 'tool/progress') return `${cursor} ${event.text.slice(0, 10)}@${event.offset}`;
  return `${cursor} ${event.type}`;
}

/** A tail that is read item by item. */
export function following(
  session: AnySession,
  options: { readonly after?: string; readonly signal?: AbortSignal } = {},
) {
  const iterator = session.events({ live: true, drafts: true, ...options })[Symbol.asyncIterator]();
  return {
    iterator,
    async next(count: number): Promise<readonly string[]> {
      const read: string[] = [];
      for (let i = 0; i < count; i++) {
        const { done, value } = await iterator.next();
        if (done) break;
        read.push(words(value));
      }
      return read;
    },
  };
}
