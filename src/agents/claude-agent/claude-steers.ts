import { randomUUID } from 'node:crypto';
import { messageOf } from '../../core/errors.ts';
import type { UserMessage } from '../../core/log/messages.ts';
import type { Run } from '../../loop/evaluate/run.ts';
import { Suspension } from '../../loop/evaluate/suspension.ts';
import { pause } from '../../loop/request/pause.ts';
import { writeContent } from './claude-blocks.ts';
import type { ClaudeConversations } from './claude-conversations.ts';
import type { ClaudeMessage, ClaudeQuery } from './sdk-types.ts';

/** How long the hook waits for Claude Code to confirm a message. Versions that confirm none have read it by then. */
const CONFIRM_MS = 5_000;

/**
 * Sends steers to Claude Code between two of its requests (D61). The adapter records a steer first and sends it afterwards; Claude
 * Code's hook waits meanwhile, so the next request contains the steer.
 *
 *     results of the turn ──▶ hook ──▶ record ──▶ send ──▶ Claude Code confirms ──▶ the hook returns ──▶ next request
 *
 * After a crash the adapter compares the log with the transcript. It sends a steer that the transcript lacks as the next prompt, and
 * does not repeat one that the transcript has, as a line of type `queued_command`.
 */
export class ClaudeSteers {
  readonly #run: Run;
  /** Messages that Claude Code has not confirmed, by uuid. */
  readonly #unconfirmed = new Map<string, () => void>();

  constructor(run: Run) {
    this.#run = run;
  }

  /** Places the steers that are queued. `calls` are those of the turn. With an SDK that takes no input they stay queued. */
  async place(
    query: ClaudeQuery | undefined,
    conversations: ClaudeConversations,
    calls: readonly string[],
  ): Promise<void> {
    const recorder = conversations.main;
    if (!query?.streamInput) return;
    await this.#run.session.refresh().catch(() => {}); // a steer that is not seen now is seen next time
    if (!recorder.hasSteers()) return;
    // A call that Claude Code refused by itself had no hook that waited for it to be recorded.
    await Promise.all(calls.map((callId) => conversations.recorded(callId)));
    await recorder.resultsOf(calls);
    const steers = await recorder.placeSteers();
    if (steers.length > 0) await this.#send(query, steers);
  }

  /** Reads a message of the stream: Claude Code may confirm a steer with it. */
  take({ type, command_uuid: uuid }: ClaudeMessage): void {
    if (type === 'command_lifecycle') this.#unconfirmed.get(String(uuid))?.();
  }

  async #send(query: ClaudeQuery, steers: readonly UserMessage[]): Promise<void> {
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
      written.resolve(); // the SDK asks for the next message when it has written this one
    })();
    // It resolves when the agent has ended; if it rejects before that, the message was not written.
    query.streamInput?.(input).then(written.resolve, written.reject);
    await written.promise.catch(notSent);
    const waiting = new AbortController();
    const { session, aborter } = this.#run;
    const late = pause(session.clock, CONFIRM_MS, AbortSignal.any([waiting.signal, aborter.signal])).catch(() => {});
    await Promise.race([Promise.all(confirmed), late]);
    waiting.abort();
    for (const { uuid } of messages) this.#unconfirmed.delete(uuid);
  }
}

/** The steer is in the log, so the agent must not continue without it. A resume sends it again. */
function notSent(cause: unknown): never {
  const why = `a message could not be sent to Claude Code: ${messageOf(cause)}; resume to continue`;
  throw new Suspension('PROVIDER_FAILED', why, { cause });
}
