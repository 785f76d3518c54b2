/**
 * Random participants of one conversation (D61): each sends, steers, withdraws, cancels, resumes, abandons, decides and runs at random,
 * based on the state that it read last, and runs the session after every action that may create work.
 */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { InputMode } from '../../src/core/log/events.ts';
import { planRun, type RunStep } from '../../src/core/plan/run-plan.ts';
import { createAdapter, definePrompt, type Prompt, type ProviderAdapter, type RunResult } from '../../src/evaluate.ts';
import {
  type AnySession,
  type CallRef,
  defineTool,
  type InputContent,
  isHoldfastError,
  type ModelRequest,
  openSession,
  type ScriptedTurn,
  type Store,
  scriptedModel,
} from '../../src/index.ts';
import { type Note, violationsIn } from './inbox-model.ts';

export const SESSION = 'inbox';
/** Some inputs are longer, so that their content is external. */
const MAX_INLINE = 200;
const MAX_TURNS = 4;

/** The state outside all processes. */
export interface Outside {
  note(note: Note): void;
  /** Called at each point where time may pass, or the process may be killed. */
  pause(): Promise<void>;
}

const CODES = new Set([
  'INVALID_ARGUMENT',
  'TOOL_CALL_NOT_FOUND',
  'CALL_DECIDED',
  'CONVERSATION_NOT_FOUND',
  'SESSION_BUSY',
  'INPUT_NOT_FOUND',
]);

export class Participant {
  readonly #name: string;
  readonly #session: AnySession;
  readonly #outside: Outside;
  readonly #random: () => number;
  readonly #adapter: ProviderAdapter;
  readonly #prompt: Prompt;
  readonly #sent: { readonly id: string; readonly content: InputContent; readonly mode: InputMode }[] = [];

  private constructor(name: string, session: AnySession, outside: Outside, random: () => number) {
    this.#name = name;
    this.#session = session;
    this.#outside = outside;
    this.#random = random;
    this.#adapter = createAdapter({
      model: scriptedModel((request) => this.#respond(request), { beforePart: () => outside.pause() }),
      maxModelRetries: 0,
      leaseTtlMs: 3_600_000, // a lease is taken over because its process is dead
    });
    this.#prompt = definePrompt({
      ns: 'test',
      key: 'inbox',
      instructions: 'Chat.',
      tools: [
        this.#tool('pay', { effect: 'once' }),
        this.#tool('deploy', { effect: 'once', needsApproval: true }),
        this.#tool('steer', { effect: 'once' }, (context) =>
          this.#send('steer', `${SESSION}-${context.idempotencyKey}`),
        ),
      ],
    });
  }

  static async open(name: string, store: Store, outside: Outside, random: () => number): Promise<Participant> {
    const session = await openSession({ store, id: SESSION, maxInlineLength: MAX_INLINE });
    return new Participant(name, session, outside, random);
  }

  #tool(
    name: string,
    how: { readonly effect: 'once'; readonly needsApproval?: boolean },
    act: (context: { readonly idempotencyKey: string }) => Promise<void> = async () => {},
  ): ReturnType<typeof defineTool> {
    return defineTool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      ...how,
      execute: async (_, context) => {
        await this.#outside.pause();
        const { evaluationId, turn, callId, attempt } = context;
        this.#outside.note({ note: 'effect', call: `${evaluationId}/${turn}/${callId}#${attempt}` });
        await act(context);
        await this.#outside.pause();
        return 'done';
      },
    }) as ReturnType<typeof defineTool>;
  }

  #respond({ turn, messages }: ModelRequest): ScriptedTurn {
    this.#outside.note({ note: 'request', violations: violationsIn(messages) });
    const chance = this.#random();
    if (chance < 0.06) return { error: { status: 500 } };
    if (turn > MAX_TURNS || chance < 0.45) return 'ok';
    const names = ['pay', 'deploy', 'steer'].filter(() => this.#random() < 0.5);
    if (names.length === 0) return 'ok';
    return { toolCalls: names.map((name, n) => ({ name, arguments: { n }, id: `${name}-${turn}` })) };
  }

  /** Makes this many actions concurrently with the others, then runs the remaining work. */
  async live(acts: number): Promise<void> {
    for (let i = 0; i < acts; i++) await this.#act();
    await this.run();
  }

  async #act(): Promise<void> {
    const acts: readonly [weight: number, act: () => Promise<unknown>][] = [
      [4, () => this.#send('next')],
      [3, () => this.#send('steer')],
      [1, () => this.#sendAgain()],
      [2, () => this.#withdraw()],
      [2, () => this.#session.cancel()],
      [1, () => this.#session.resume()],
      [1, () => this.#session.abandon()],
      [3, () => this.#decide()],
      [1, () => this.#session.refresh()],
    ];
    const all = acts.flatMap(([weight, one]) => Array.from({ length: weight }, () => one));
    const act = all[Math.floor(this.#random() * all.length)];
    try {
      await act?.();
    } catch (error) {
      if (!isHoldfastError(error) || !CODES.has(error.code)) throw error;
    }
    this.#checkWork();
    await this.#outside.pause();
    if (this.#random() < 0.8) await this.run();
    this.#checkWork();
  }

  async #send(mode: InputMode, id = `${this.#name}-${this.#sent.length}`): Promise<void> {
    const length = this.#random() < 0.2 ? MAX_INLINE : 0;
    const content: InputContent = [{ type: 'text', text: `the text of ${id}${'.'.repeat(length)}` }];
    if (!id.startsWith(SESSION)) this.#sent.push({ id, content, mode });
    const { seq } = await this.#session.send(content, { id, mode });
    this.#outside.note({ note: 'sent', id, content, seq });
  }

  /** Sends the same input again: it is queued only once. */
  async #sendAgain(): Promise<void> {
    const one = this.#sent[Math.floor(this.#random() * this.#sent.length)];
    if (!one) return;
    const { id, content, mode } = one;
    const { seq } = await this.#session.send(content, { id, mode });
    this.#outside.note({ note: 'sent', id, content, seq });
  }

  async #withdraw(): Promise<void> {
    const { items } = this.#session.state.record.inbox.items;
    const recent = items.slice(-4);
    const item = recent[Math.floor(this.#random() * recent.length)];
    if (!item) return;
    this.#outside.note({ note: 'withdrawn', id: item.id, answer: await this.#session.withdraw(item.id) });
  }

  async #decide(): Promise<void> {
    await this.#session.refresh();
    const calls = this.#session.pending();
    const call = calls[Math.floor(this.#random() * calls.length)];
    if (call) await this.#decideAbout(call, this.#random());
  }

  async #decideAbout(call: CallRef, chance: number): Promise<void> {
    if (chance < 0.5) await this.#session.approve(call);
    else if (chance < 0.7) await this.#session.deny(call, { reason: 'no' });
    else if (chance < 0.9) await this.#session.settle(call, { result: 'by hand' });
    else await this.#session.settle(call, { rerun: true });
  }

  run(): Promise<RunResult<unknown>> {
    return this.#adapter.run(this.#prompt, { session: this.#session });
  }

  /** Expects that the listed work is what a runner would do: otherwise a worker would sleep for ever, or never. */
  #checkWork(): void {
    const { state } = this.#session;
    const step = planRun(state, { now: Date.now(), tried: new Set() });
    const work = state.summary?.work;
    const expected = workOf(step);
    if (!expected.includes(work)) {
      throw new Error(`seq ${state.seq}: the summary has work ${work}, and a runner would ${step.do} (${expected})`);
    }
  }

  /** The next step of a runner. */
  async left(): Promise<{ readonly step: RunStep; readonly work: string | undefined }> {
    await this.#session.refresh();
    const { state } = this.#session;
    return { step: planRun(state, { now: Date.now(), tried: new Set() }), work: state.summary?.work };
  }

  /** Completes the conversation: nothing is left to run. */
  async end(): Promise<AnySession> {
    const session = this.#session;
    for (let result = await this.run(); result.status !== 'idle'; result = await this.run()) {
      const calls = session.pending();
      const reason = result.responses.at(-1)?.reason;
      if (result.status === 'busy') throw new Error('the session is held by a process that has ended');
      if (result.status === 'failed' || reason === 'PROVIDER_FAILED') await session.abandon();
      else if (reason === 'CANCELLED') await this.#send('next');
      else for (const call of calls) await this.#settle(call);
    }
    if (session.queue().length > 0) throw new Error('an idle session has queued inputs');
    return session;
  }

  async #settle(call: CallRef): Promise<void> {
    try {
      await this.#session.settle(call, { result: 'by hand' });
    } catch (error) {
      if (!isHoldfastError(error, 'CALL_DECIDED')) throw error;
    }
  }
}

/** The kinds of work that a step may be listed as. An evaluation that was resumed in vain may be listed or not. */
function workOf(step: RunStep): readonly (string | undefined)[] {
  if (step.do === 'begin') return ['input'];
  if (step.do !== 'resume') return [undefined];
  const { status, reason, resumeRequest } = step.evaluation;
  if (status === 'running') return ['evaluation'];
  const isTriedAgain = reason === 'PROVIDER_FAILED' && !resumeRequest;
  return isTriedAgain ? [undefined, 'decision'] : ['resume', 'decision'];
}

/** Yields to others, for a random number of turns. */
export function pausing(random: () => number): () => Promise<void> {
  return async () => {
    for (let i = Math.floor(random() * 6); i > 0; i--) await setImmediate();
  };
}
