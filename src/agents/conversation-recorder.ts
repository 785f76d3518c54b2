import { type CallState, hasResult } from '../core/fold/evaluations.ts';
import type { MessageRecorded, NewEvent, ToolEffect, Without } from '../core/log/events.ts';
import type { AssistantMessage, MediaPart, TextPart, ToolCall, UserMessage } from '../core/log/messages.ts';
import type { Usage } from '../core/log/usage.ts';
import { steersFor } from '../core/plan/run-plan.ts';
import { PlanChanged, unlessDecided, unlessResultRecorded } from '../loop/calls/call-guards.ts';
import type { ToolOutcome } from '../loop/define/tool-result.ts';
import { placeSteers } from '../loop/evaluate/place-steers.ts';
import { currentEvaluation, messageBase, nowOf, type Run, record, toolMessage } from '../loop/evaluate/run.ts';
import { type Delta, Draft } from '../loop/request/stream-response.ts';

/** An agent's response, or a piece of one. */
export interface AgentResponse {
  readonly providerMessageId: string;
  readonly content: AssistantMessage['content'];
  readonly toolCalls: readonly ToolCall[];
  readonly usage?: Usage | undefined;
  readonly model?: string | undefined;
  /** The time that the agent reports for it. */
  readonly at?: string | undefined;
}

interface Call {
  readonly turn: number;
  readonly name: string;
  inLog: boolean;
  /** It runs, since this process runs the agent. */
  started: boolean;
  done: boolean;
}

/**
 * Records one conversation of an agent in our log, in the order of the calls: one evaluation, the agent's own or a subagent's. What
 * the log has already, by the provider's message id or the call's id, is not recorded again.
 */
export class ConversationRecorder {
  readonly run: Run;
  readonly #calls = new Map<string, Call>();
  /** Resolves the promises of `nextEnd`. */
  #waiting: (() => void)[] = [];
  readonly #responses = new Set<string>();
  #sequence: number;
  #turn: number;
  #newest: string | undefined;
  /** The draft of the response that is being streamed, until it is recorded. */
  #draft: Draft | undefined;

  constructor(run: Run) {
    this.run = run;
    const evaluation = currentEvaluation(run);
    this.#sequence = evaluation.nextSequence;
    this.#turn = evaluation.turn;
    for (const message of evaluation.messages) {
      if (message.role === 'assistant') this.#note(message, { inLog: true });
      else if (message.role === 'tool') this.#done(message.toolCallId);
    }
  }

  /** Whether a response, or a piece of it, is in the log. */
  hasResponse(providerMessageId: string): boolean {
    return this.#responses.has(providerMessageId);
  }

  /** Whether the call is in the log, not merely on its way there: only then may it be acted on. */
  hasCall(callId: string): boolean {
    return this.#calls.get(callId)?.inLog ?? false;
  }

  /** Whether a call with that id was made, in the log or on its way there. */
  knowsCall(callId: string): boolean {
    return this.#calls.has(callId);
  }

  hasResult(callId: string): boolean {
    return this.#calls.get(callId)?.done ?? false;
  }

  /** Records a response; a further piece of the newest one stays in its turn. Calls that the log has are left out. */
  async recordResponse(response: AgentResponse): Promise<void> {
    const { providerMessageId, content, usage, model } = response;
    const toolCalls = response.toolCalls.filter((call) => !this.#calls.has(call.callId));
    // The usage of a response may be known only after all of it was recorded.
    const isCost = usage !== undefined && this.#newest === providerMessageId;
    if (content.length === 0 && toolCalls.length === 0 && !isCost) return;
    if (this.#newest !== providerMessageId) this.#turn++;
    const message: AssistantMessage = {
      ...this.#base(this.#turn, response.at),
      role: 'assistant',
      content,
      ...(toolCalls.length > 0 && { toolCalls }),
      providerMessageId,
    };
    this.#note(message, { inLog: false });
    const event: Without<MessageRecorded, 'seq' | 'at'> = {
      type: 'message/recorded',
      message,
      ...(usage && { usage }),
      ...(model !== undefined && { model }),
    };
    const endsDrafts = (await this.#draft?.end()) ?? [];
    await record(this.run, [event], { endsDrafts });
    for (const { callId } of toolCalls) {
      const call = this.#calls.get(callId);
      if (call) call.inLog = true;
    }
    this.#draft = undefined;
    this.run.attempts = 0;
  }

  /** Emits a piece of a response and stores it in the draft, until the response is recorded. */
  recordDelta(delta: Delta): void {
    this.#draft ??= new Draft(this.run, this.#turn + 1, ++this.run.attempts);
    this.#draft.add(delta);
  }

  /** The response was cut off: its text becomes an event, unless another process holds the lease by now. */
  async interrupt(reason?: unknown): Promise<void> {
    const draft = this.#draft;
    this.#draft = undefined;
    await draft?.interrupt(reason).catch(() => {}); // the failed append has stopped the run with its error
  }

  /** Records a message to the agent. */
  async recordUser(content: UserMessage['content'], at?: string): Promise<void> {
    await record(this.run, [{ type: 'message/recorded', message: { ...this.#base(0, at), role: 'user', content } }]);
  }

  /** Whether steers wait to be placed in this conversation. */
  hasSteers(): boolean {
    return steersFor(this.run.session.state, currentEvaluation(this.run)).length > 0;
  }

  /** Records the steers that were sent by now, after the results of the turn; returns the messages for the agent. */
  async placeSteers(): Promise<readonly UserMessage[]> {
    const before = currentEvaluation(this.run).messages.length;
    await placeSteers(this.run);
    const { messages, nextSequence } = currentEvaluation(this.run);
    this.#sequence = nextSequence;
    const placed = await this.run.session.resolve(messages.slice(before));
    return placed.filter((message) => message.role === 'user');
  }

  /** Resolves when the calls have their results in the log; calls of another conversation count as ended. */
  async resultsOf(callIds: readonly string[]): Promise<void> {
    const isOpen = (callId: string): boolean => {
      const call = this.call(callId);
      return call !== undefined && !hasResult(call);
    };
    while (callIds.some(isOpen)) await this.nextEnd();
  }

  /** Records a call's outcome, with the events that its tool dispatched. Returns false for a call that has an outcome: it keeps it. */
  async recordResult(
    callId: string,
    outcome: ToolOutcome,
    { staged = [], at }: { readonly staged?: readonly NewEvent[]; readonly at?: string | undefined } = {},
  ): Promise<boolean> {
    const call = this.#calls.get(callId);
    if (!call || call.done) return false;
    call.done = true;
    const { evaluationId } = this.run;
    const ref = { evaluationId, turn: call.turn, callId };
    const ending = this.run.callDrafts.end(ref);
    const endsDrafts = (ending && (await ending)) ?? [];
    const recorded = toolMessage(this.run, { evaluationId, callId, ...call }, outcome, this.#sequence++);
    const message = at === undefined ? recorded : { ...recorded, createdAt: at };
    const events = [...staged, { type: 'message/recorded', message }] as readonly Without<NewEvent, 'at'>[];
    try {
      const discarded = outcome.isError ? staged.length : 0;
      const guard = unlessResultRecorded(ref);
      await record(this.run, events, { discarded, guard, untilStored: true, ...(ending && { endsDrafts }) });
      this.run.callDrafts.forget(ref);
    } catch (error) {
      if (error instanceof PlanChanged) {
        this.ended();
        return false; // its message was erased, and the call closed
      }
      call.done = false; // it has none yet: another one may be recorded in its place
      throw error;
    }
    this.ended();
    return true;
  }

  /** Records that a call is about to act. Throws `PlanChanged` when a person has decided about it meanwhile. */
  async recordStart(callId: string, effect: ToolEffect): Promise<void> {
    const call = this.#calls.get(callId);
    if (!call || effect === 'read') return;
    const { evaluationId, fence } = this.run;
    const { turn, name: toolName } = call;
    call.started = true; // from now on it counts as running
    const start = { type: 'tool/started', evaluationId, turn, callId, toolName, effect, attempt: 1, fence };
    try {
      await record(this.run, [start], { guard: unlessDecided({ evaluationId, turn, callId }) });
    } catch (error) {
      call.started = false;
      throw error;
    }
  }

  /** Whether a call was started that has no result yet, other than those named. */
  isBusy(except: (name: string) => boolean): boolean {
    return [...this.#calls.values()].some(({ name, started, done }) => started && !done && !except(name));
  }

  /** Resolves when another call has ended, or the whole conversation. */
  nextEnd(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Notifies `nextEnd` that a call has ended, or the whole conversation. */
  ended(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** The log's state of a call of the newest response. */
  call(callId: string): CallState | undefined {
    return currentEvaluation(this.run).calls.find((call) => call.callId === callId);
  }

  #base(turn: number, at: string = nowOf(this.run)): ReturnType<typeof messageBase> {
    return messageBase(currentEvaluation(this.run), { sequence: this.#sequence++, turn }, at);
  }

  #note(message: AssistantMessage, { inLog }: { readonly inLog: boolean }): void {
    this.#newest = message.providerMessageId;
    if (message.providerMessageId !== undefined) this.#responses.add(message.providerMessageId);
    for (const { callId, name } of message.toolCalls ?? []) {
      if (!this.#calls.has(callId))
        this.#calls.set(callId, { turn: message.turn, name, inLog, started: false, done: false });
    }
  }

  #done(callId: string): void {
    const call = this.#calls.get(callId);
    if (call) call.done = true;
  }
}

/** Text as the content of a message. */
export function asContent(text: string): readonly (TextPart | MediaPart)[] {
  return [{ type: 'text', text }];
}
