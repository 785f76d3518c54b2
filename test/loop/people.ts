/**
 * Random people in one conversation: each opens its own handles and approves, denies, settles, erases and resumes at random, based on
 * the state that it read last. Effects of tools and accepted decisions are recorded outside the log.
 */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { createAdapter, definePrompt, type Prompt } from '../../src/evaluate.ts';
import {
  type CallRef,
  type ConversationMessage,
  defineTool,
  isHoldfastError,
  openSession,
  type Session,
  type SessionEvent,
  type Store,
  scriptedModel,
  type ToolContext,
  textOf,
} from '../../src/index.ts';

export const SESSION = 'people';
const TURNS = 3;

/** The state outside all processes. */
export interface Outside {
  /** Called by a tool for every effect, with the call and the run. */
  effect(context: ToolContext): void | Promise<void>;
  /** Called when a person's decision was accepted. */
  accepted(word: string): void;
}

/** The record of an effect. */
export function effectOf({ evaluationId, turn, callId, attempt }: CallRef): string {
  return `${evaluationId}/${turn}/${callId}#${attempt}`;
}

function promptOf(outside: Outside): Prompt {
  const made = (name: string, needsApproval: boolean): ReturnType<typeof defineTool> =>
    defineTool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      effect: 'once',
      needsApproval,
      async execute(_, context) {
        await outside.effect(context);
        return 'done';
      },
    }) as ReturnType<typeof defineTool>;
  const look = defineTool({
    name: 'look',
    description: 'look',
    input: z.object({ n: z.number() }),
    effect: 'read',
    execute: () => 'seen',
  });
  return definePrompt({
    ns: 'test',
    key: 'people',
    instructions: 'Do it.',
    tools: [made('deploy', true), made('pay', false), look],
  });
}

/** One person with a handle. */
export class Person {
  readonly #session: Session;
  readonly #outside: Outside;
  readonly #random: () => number;
  readonly #evaluate: () => Promise<{ readonly status: string }>;
  #seen: readonly CallRef[] = [];

  private constructor(session: Session, outside: Outside, random: () => number) {
    this.#session = session;
    this.#outside = outside;
    this.#random = random;
    const calls = ['deploy', 'pay', 'look', 'deploy'].map((name, n) => ({ name, arguments: { n } }));
    const adapter = createAdapter({
      model: scriptedModel(({ turn }) => (turn > TURNS ? 'ok' : { toolCalls: calls })),
      leaseTtlMs: 3_600_000, // a lease is taken over because its process is dead
    });
    const prompt = promptOf(outside);
    this.#evaluate = () =>
      adapter.evaluate(prompt, {
        session,
        input: 'go',
        resume: 'auto',
        ...(random() < 0.3 && { maxParallelCalls: 1 + Math.floor(random() * 2) }),
      });
  }

  static async open(store: Store, outside: Outside, random: () => number): Promise<Person> {
    return new Person(await openSession({ store, id: SESSION }), outside, random);
  }

  get #isOver(): boolean {
    return this.#session.state.record.evaluations.items.at(-1)?.status === 'completed';
  }

  /** Makes this many actions, concurrently with the others. */
  async live(acts: number): Promise<void> {
    for (let i = 0; i < acts && !this.#isOver; i++) await this.#act();
  }

  /** Makes one action. A rejection must be one of our own errors. */
  async #act(): Promise<void> {
    const random = this.#random;
    if (random() < 0.7) {
      await this.#session.refresh();
      this.#seen = this.#session.pending(); // otherwise it uses an outdated state
    }
    const call = this.#seen[Math.floor(random() * this.#seen.length)];
    try {
      if (!call || random() < 0.4) await this.#evaluate();
      else await this.#speak(call);
    } catch (error) {
      if (!isHoldfastError(error) || !REFUSALS.has(error.code)) throw error;
      await setImmediate(); // lets others run
    }
  }

  async #speak(call: CallRef): Promise<void> {
    const session = this.#session;
    const { accepted } = this.#outside;
    const name = effectOf(call);
    const words: readonly (() => Promise<void>)[] = [
      () => session.approve(call, { by: 'someone' }).then(() => accepted(`approved ${name}`)),
      () => session.deny(call, { reason: 'no' }).then(() => accepted(`denied ${name}`)),
      () => session.settle(call, { result: 'by hand' }).then(() => accepted(`settled ${name}`)),
      () => session.settle(call, { rerun: true }).then(() => accepted(`rerun ${name}`)),
      () => this.#erase(call),
    ];
    await words[Math.floor(this.#random() * words.length)]?.();
  }

  async #erase(call: CallRef): Promise<void> {
    const isAnswer = ({ role, turn }: ConversationMessage): boolean => role === 'assistant' && turn === call.turn;
    const message = this.#session.messages({ evaluationId: call.evaluationId }).find(isAnswer);
    if (!message) return;
    await this.#session.eraseMessage(message.id);
    this.#outside.accepted(`erased ${message.id}`);
  }

  /** Completes the conversation: denies or settles everything that still waits. */
  async end(): Promise<Session> {
    for (let response = await this.#evaluate(); response.status === 'suspended'; response = await this.#evaluate()) {
      for (const call of this.#session.pending()) {
        const waits = call.status === 'pending' ? !call.approval : !call.settlement;
        if (!waits || (call.settlement && 'result' in call.settlement)) continue;
        if (call.status === 'pending') await this.#session.deny(call, { reason: 'at the end' });
        else await this.#session.settle(call, { result: 'by hand' });
      }
    }
    return this.#session;
  }
}

const REFUSALS = new Set(['INVALID_ARGUMENT', 'TOOL_CALL_NOT_FOUND', 'CALL_DECIDED', 'CALL_OPEN', 'SESSION_BUSY']);

/** Differences between log and effects, and effects beyond what was permitted; empty if there are none. */
export async function lies(
  session: Session,
  { effects, words }: { readonly effects: readonly string[]; readonly words: readonly string[] },
): Promise<readonly string[]> {
  const found: string[] = [];
  const log: SessionEvent[] = [];
  for await (const event of session.events()) log.push(event);
  const refs = (type: string): readonly string[] =>
    log.filter((event) => event.type === type).map((event) => effectOf(event as unknown as CallRef));
  const withoutAttempt = (name: string): string => name.slice(0, name.lastIndexOf('#'));
  const starts = refs('tool/started');
  const reruns = log.flatMap((event) =>
    event.type === 'tool/settled' && 'rerun' in (event.how as object) ? [effectOf(event as unknown as CallRef)] : [],
  );
  for (const list of [effects, starts]) {
    const twice = list.filter((one, i) => list.indexOf(one) !== i);
    if (twice.length > 0) found.push(`more than once: ${twice}`);
  }
  for (const one of effects) if (!starts.includes(one)) found.push(`an effect without a start: ${one}`);
  for (const one of starts) {
    const [call, attempt] = [withoutAttempt(one), Number(one.slice(one.lastIndexOf('#') + 1))];
    if (attempt > 1 && !reruns.includes(`${call}#${attempt - 1}`)) found.push(`nobody allowed ${one}`);
  }
  const decided = [...refs('tool/approved'), ...refs('tool/denied')];
  if (new Set(decided).size !== decided.length) found.push(`decided about twice: ${decided}`);
  const recorded = {
    approved: refs('tool/approved'),
    denied: refs('tool/denied'),
    settled: refs('tool/settled'),
    rerun: reruns,
  };
  for (const word of words) {
    const [what = '', name = ''] = word.split(' ');
    if (what === 'erased') {
      const message = session.messages().find(({ id }) => id === name);
      if (!message || textOf(message) !== '[erased]') found.push(`not erased: ${name}`);
    } else if (!recorded[what as keyof typeof recorded].includes(name))
      found.push(`accepted and not recorded: ${word}`);
  }
  const results = new Map<string, string>();
  for (const message of session.messages()) {
    if (message.role !== 'tool') continue;
    const call = `${message.evaluationId}/${message.turn}/${message.toolCallId}`;
    const text = textOf(message);
    if (results.has(call)) found.push(`two results: ${call}`);
    results.set(call, text);
    if (message.toolName === 'look') continue;
    const acted = effects.some((one) => withoutAttempt(one) === call);
    const never = /^This call (was denied|never ran)/.test(text);
    if (never && acted) found.push(`"${text}", but ${call} acted`);
    if (text === 'done' && !acted) found.push(`${call} did nothing, and its result says done`);
    if (never === (text === 'done' || text === 'by hand')) found.push(`an unknown result: "${text}"`);
  }
  // An accepted decision determines the result of the call.
  for (const word of words) {
    const [what = '', name = ''] = word.split(' ');
    const text = results.get(withoutAttempt(name)) ?? '';
    if (what === 'denied' && !/^This call (was denied|never ran)/.test(text)) found.push(`${word}, but: "${text}"`);
    if (what === 'settled' && text !== 'by hand') found.push(`${word}, but: "${text}"`);
  }
  return found;
}
