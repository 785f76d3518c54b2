import type { HistoryCurated, SessionEvent } from '../../core/log/events.ts';
import type { Usage } from '../../core/log/usage.ts';

/**
 * What a log says about the requests of its evaluations: when each was sent, how its messages were chosen, and what its provider
 * reported. The messages themselves are in the record; `rebuildRequests` builds each request again from both.
 */

/** One request that got a response. */
export interface RecordedRequest {
  readonly evaluationId: string;
  readonly turn: number;
  /** The response: its message, and its position in the log. */
  readonly messageId: string;
  readonly seq: number;
  /** When the response was recorded. */
  readonly at: string;
  /** The time of the newest event of the evaluation before the response: the request was sent after it. */
  readonly after: string;
  readonly model?: string;
  readonly usage?: Usage;
  readonly finishReason?: string;
  /** How its messages were chosen; absent when everything was sent. */
  readonly curated?: HistoryCurated;
  /** Requests of the same turn that the provider refused as too long, oldest first. */
  readonly refused: readonly HistoryCurated[];
}

/** Collects the requests of some evaluations from a log, event by event. */
export class RequestLog {
  readonly #requests = new Map<string, RecordedRequest[]>();
  /** Summaries that requests after them may use. */
  readonly #summaries: { readonly seq: number; readonly key: string; readonly text: string }[] = [];
  readonly #erased = new Map<string, number>();
  readonly #evaluations: ReadonlySet<string>;
  /** Per evaluation: its newest time, and the choices that were recorded for its next response. */
  readonly #open = new Map<
    string,
    { newest: string; curated: HistoryCurated | undefined; refused: HistoryCurated[] }
  >();

  constructor(evaluationIds: Iterable<string>) {
    this.#evaluations = new Set(evaluationIds);
  }

  /** Takes the next event of the log. */
  push(event: SessionEvent): void {
    if (event.type === 'message/erased')
      this.#erased.set((event as { readonly messageId: string }).messageId, event.seq);
    const evaluationId = evaluationOf(event);
    if (evaluationId === undefined || !this.#evaluations.has(evaluationId)) return;
    const open = this.#open.get(evaluationId) ?? { newest: event.at, curated: undefined, refused: [] };
    this.#open.set(evaluationId, open);
    if (event.type === 'history/curated') {
      const curated = event as HistoryCurated;
      if (curated.refused) open.refused.push(curated);
      else open.curated = curated;
      return;
    }
    if (event.type === 'history/summarized') {
      const { seq, key, text } = event as { readonly seq: number; readonly key: string; readonly text: string };
      this.#summaries.push({ seq, key, text });
    }
    if (event.type === 'message/recorded' && isResponse(event)) {
      const { message, usage, model, finishReason } = event;
      const requests = this.#requests.get(evaluationId) ?? [];
      const { curated } = open;
      requests.push({
        evaluationId,
        turn: message.turn,
        messageId: message.id,
        seq: event.seq,
        at: event.at,
        after: open.newest,
        ...(model !== undefined && { model }),
        ...(usage && { usage }),
        ...(finishReason !== undefined && { finishReason }),
        ...(curated?.turn === message.turn && { curated }),
        refused: open.refused.filter(({ turn }) => turn === message.turn),
      });
      this.#requests.set(evaluationId, requests);
      open.curated = undefined;
      open.refused = [];
    }
    open.newest = event.at;
  }

  /** The requests of an evaluation, in log order. */
  requestsOf(evaluationId: string): readonly RecordedRequest[] {
    return this.#requests.get(evaluationId) ?? [];
  }

  /** The summary with a key that was recorded before a position of the log. */
  summaryBefore(seq: number): (key: string) => string | undefined {
    return (key) => this.#summaries.findLast((summary) => summary.key === key && summary.seq < seq)?.text;
  }

  /** Whether a message was erased after a position of the log: a request that was sent before cannot be built again. */
  wasErasedAfter(messageId: string, seq: number): boolean {
    return (this.#erased.get(messageId) ?? 0) > seq;
  }
}

type Recorded = Extract<SessionEvent, { readonly type: 'message/recorded' }>;

function isResponse(event: Recorded): boolean {
  return event.message.role === 'assistant' && event.message.turn > 0;
}

function evaluationOf(event: SessionEvent): string | undefined {
  if (event.type === 'message/recorded') return event.message.evaluationId;
  const { evaluationId } = event as { readonly evaluationId?: unknown };
  return typeof evaluationId === 'string' ? evaluationId : undefined;
}
