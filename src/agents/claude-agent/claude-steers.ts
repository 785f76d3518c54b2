import { randomUUID } from 'node:crypto';
import { messageOf } from '../../core/errors.ts';
import type { UserMessage } from '../../core/messages.ts';
import { pause, Suspension } from '../../loop/limits.ts';
import type { Run } from '../../loop/run.ts';
import { writeContent } from './claude-blocks.ts';
import type { ClaudeThreads } from './claude-threads.ts';
import type { ClaudeMessage, ClaudeQuery } from './sdk-types.ts';

/** How long Claude Code may take to confirm a message. An older one confirms none: it has read the message by then. */
const CONFIRM_MS = 5_000;

/**
 * Hands steers to Claude Code between two of its requests (D61). A steer is in the log first and reaches the agent afterwards; its
 * hook waits meanwhile, so that the next request has it.
 *
 *     results of the turn ──▶ hook ──▶ record ──▶ hand over ──▶ Claude Code has queued it ──▶ the hook returns ──▶ next request
 *
 * After a crash the log and the transcript are compared. A steer that the transcript lacks is what the agent is told next; one that
 * it has, as the line of a queued command, is not told again.
 */
export class ClaudeSteers {
  readonly #run: Run;
  /** Messages that Claude Code has not confirmed, by uuid. */
  readonly #unconfirmed = new Map<string, () => void>();

  constructor(run: Run) {
    this.#run = run;
  }

  /** Places the steers that were sent by now. `calls` are those of the turn. Without a way to hand them over they stay queued. */
  async place(query: ClaudeQuery | undefined, threads: ClaudeThreads, calls: readonly string[]): Promise<void> {
    const recorder = threads.main;
    if (!query?.streamInput) return;
    await this.#run.session.refresh().catch(() => {}); // a steer that is not seen now is seen next time
    if (!recorder.hasSteers()) return;
    // A call that Claude Code refused by itself had no hook that waited for it to be recorded.
    await Promise.all(calls.map((callId) => threads.recorded(callId)));
    await recorder.resultsOf(calls);
    const steers = await recorder.steers();
    if (steers.length > 0) await this.#handOver(query, steers);
  }

  /** Takes in what Claude Code tells about a message that it was handed. */
  take({ type, command_uuid: uuid }: ClaudeMessage): void {
    if (type === 'command_lifecycle') this.#unconfirmed.get(String(uuid))?.();
  }

  async #handOver(query: ClaudeQuery, steers: readonly UserMessage[]): Promise<void> {
    const messages = steers.map(({ content }) => ({
      type: 'user',
      uuid: randomUUID(),
      message: { role: 'user', content: writeContent(content) },
      parent_tool_use_id: null,
    }));
    const confirmed = messages.map(
      ({ uuid }) => new Promise<void>((resolve) => void this.#unconfirmed.set(uuid, resolve)),
    );
    const written = Promise.withResolvers<void>();
    const input = (async function* () {
      yield* messages;
      written.resolve(); // the SDK asks for more when it has written what it was given
    })();
    // It resolves when the agent has ended: a failure before that is one of the hand-over.
    query.streamInput?.(input).then(written.resolve, written.reject);
    await written.promise.catch(notHandedOver);
    const waiting = new AbortController();
    const { session, limits } = this.#run;
    const late = pause(session.clock, CONFIRM_MS, AbortSignal.any([waiting.signal, limits.signal])).catch(() => {});
    await Promise.race([Promise.all(confirmed), late]);
    waiting.abort();
    for (const { uuid } of messages) this.#unconfirmed.delete(uuid);
  }
}

/** The steer is in the log, so the agent must not go on without it: a resume tells it. */
function notHandedOver(cause: unknown): never {
  const why = `Claude Code could not be handed a message: ${messageOf(cause)}; resume to go on`;
  throw new Suspension('PROVIDER_FAILED', why, { cause });
}
