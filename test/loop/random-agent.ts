/** Random conversations, and an agent that runs them as a program would: the same call starts a run and resumes it after a crash. */
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { z } from 'zod';
import { createAdapter, definePrompt, type EvaluationResponse, type Prompt } from '../../src/evaluate.ts';
import { summarize } from '../../src/history.ts';
import {
  type AnyTool,
  type CallRef,
  type ConversationMessage,
  defineSlice,
  defineTool,
  type Evaluation,
  type ModelRequest,
  openSession,
  type ScriptedTurn,
  type Session,
  scriptedModel,
  type ToolContext,
  textOf,
  toolContent,
} from '../../src/index.ts';
import { listening } from './agent.ts';
import type { Life } from './mortal.ts';

/** The behaviour of a call, in its arguments. */
export interface CallPlan {
  readonly tool: 'look' | 'write' | 'pay' | 'send' | 'deploy' | 'delegate' | 'nosuch';
  readonly how: 'ok' | 'fail' | 'flaky' | 'hang' | 'malformed' | 'misfit';
  /** Turns of the event loop before it acts. */
  readonly delay: number;
  readonly note: boolean;
  readonly deny: boolean;
}

export interface Plan {
  readonly turns: readonly (readonly CallPlan[])[];
  /** How many times the provider fails before it responds, and whether in the middle of the response. */
  readonly failures: readonly { readonly times: number; readonly midway: boolean }[];
  /** Invalid responses before the valid one; none without a schema. */
  readonly wrongAnswers: number;
}

export interface Scenario {
  /** One per user message. */
  readonly messages: readonly Plan[];
  readonly child: Plan;
  readonly structured: boolean;
  readonly maxParallelCalls: number | undefined;
  /** Old groups become summaries, which are created in the background. */
  readonly summarizes: boolean;
}

const callPlan = (tools: readonly CallPlan['tool'][]): fc.Arbitrary<CallPlan> =>
  fc.record({
    tool: fc.constantFrom(...tools),
    how: fc.oneof(
      { weight: 6, arbitrary: fc.constant('ok' as const) },
      { weight: 5, arbitrary: fc.constantFrom('fail', 'flaky', 'hang', 'malformed', 'misfit') },
    ),
    delay: fc.nat({ max: 3 }),
    note: fc.boolean(),
    deny: fc.boolean(),
  });
const plan = (tools: readonly CallPlan['tool'][], maxTurns: number): fc.Arbitrary<Plan> =>
  fc.record({
    turns: fc.array(fc.array(callPlan(tools), { minLength: 1, maxLength: 4 }), { maxLength: maxTurns }),
    failures: fc.array(fc.record({ times: fc.nat({ max: 2 }), midway: fc.boolean() }), { maxLength: maxTurns + 1 }),
    wrongAnswers: fc.nat({ max: 2 }),
  });
const OWN = ['look', 'write', 'pay', 'send', 'deploy', 'nosuch'] as const;

export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  messages: fc.array(plan([...OWN, 'delegate'], 3), { minLength: 1, maxLength: 2 }),
  child: plan(OWN, 2),
  structured: fc.boolean(),
  maxParallelCalls: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  summarizes: fc.boolean(),
});

interface Noted {
  readonly id: string;
}
const on = { 'note/added': (items: readonly string[], event: Noted) => [...items, event.id] };
/** Successful runs, and all attempts. */
export const notes = defineSlice({ name: 'notes', initial: [] as readonly string[], rollback: true, on });
export const tries = defineSlice({ name: 'tries', initial: [] as readonly string[], rollback: false, on });

/** Runs the scenario's conversation in one process to its end; returns the state of the session. */
export async function converse(life: Life, scenario: Scenario, requests: ModelRequest[]): Promise<Session> {
  const session = await openSession({ store: life.store, id: 'random', slices: [notes, tries], clock: life.clock });
  const { main, child } = promptsOf(life, scenario);
  const planOf = (request: Pick<ModelRequest, 'prompt' | 'messages'>): Plan => {
    if (request.prompt.key === child.key) return scenario.child;
    const said = request.messages.filter(({ role }) => role === 'user').map(({ content }) => JSON.stringify(content));
    const newest = said.findLast((text) => text.includes('message ')) ?? '';
    return scenario.messages[Number(/message (\d+)/.exec(newest)?.[1])] as Plan;
  };
  const model = scriptedModel((request) =>
    isSummary(request) ? summaryOf(request) : answerOf(life, scenario, planOf(request), request),
  );
  const adapter = createAdapter({ model: listening(life.mortal(model), requests), random: () => 0.5 });
  const { maxParallelCalls, summarizes } = scenario;
  for (const i of scenario.messages.keys()) {
    const key = `m${i}`;
    const there = session.state.record.evaluations.items.toArray().find((evaluation) => evaluation.key === key);
    if (there?.status === 'completed') continue;
    const evaluate = (): Promise<EvaluationResponse<unknown>> =>
      adapter.evaluate(main, {
        session,
        input: `message ${i}`,
        key,
        continues: true,
        resume: 'auto',
        ...(maxParallelCalls !== undefined && { maxParallelCalls }),
        ...(summarizes && { history: summarize({ size: 3, low: 2, ahead: 1 }) }),
      });
    for (let response = await evaluate(); response.status === 'suspended'; response = await evaluate()) {
      if (response.pending.length === 0) throw new Error(`suspended: ${response.message}`);
      for (const pending of response.pending) await speak(life, session, pending);
    }
  }
  return session;
}

function isSummary({ prompt }: ModelRequest): boolean {
  return prompt.ns === 'holdfast';
}

/** The same summary of the same messages, in every process. */
function summaryOf({ messages }: ModelRequest): string {
  return `${messages.map(textOf).join().length} characters`;
}

/** A person's decision on a waiting call, based on the outside state. */
async function speak(life: Life, session: Session, ref: CallRef): Promise<void> {
  const evaluation = session.state.record.evaluations.get(ref.evaluationId);
  const call = evaluation?.calls.find(({ callId }) => callId === ref.callId);
  if (!call) throw new Error(`nobody knows of ${ref.callId}`);
  const input = JSON.parse(call.arguments) as Input;
  if (call.status === 'pending') return input.deny ? session.deny(ref, { reason: 'no' }) : session.approve(ref);
  const acted = life.world.acts.has(`${session.id}/${ref.evaluationId}/${ref.turn}/${ref.callId}`);
  const result =
    input.how === 'fail' ? { result: `failed ${input.id}`, isError: true } : { result: `done ${input.id}` };
  return session.settle(ref, acted ? result : { rerun: true });
}

const inputSchema = z.object({
  id: z.string(),
  how: z.enum(['ok', 'fail', 'flaky', 'hang']),
  delay: z.number(),
  note: z.boolean(),
  deny: z.boolean(),
});
type Input = z.infer<typeof inputSchema>;

function promptsOf(life: Life, scenario: Scenario): { readonly main: Prompt<unknown>; readonly child: Prompt } {
  const { acts } = life.world;
  const note = async ({ id, note: wanted }: Input, { session }: ToolContext): Promise<void> => {
    if (wanted) await session.dispatch({ type: 'note/added', id });
  };
  const outcome = ({ id, how }: Input): unknown =>
    how === 'fail' ? toolContent([{ type: 'text', text: `failed ${id}` }], { isError: true }) : `done ${id}`;
  const make = (name: string, rest: Partial<AnyTool>): AnyTool =>
    defineTool({
      name,
      description: name,
      input: inputSchema,
      async execute(input, context) {
        for (let i = 0; i < input.delay; i++) await setImmediate();
        await note(input, context);
        await life.act(context.idempotencyKey);
        if (input.how === 'hang') return new Promise(() => {});
        if (input.how === 'fail') throw new Error(`failed ${input.id}`);
        const flaky = input.how === 'flaky' && rest.effect !== 'once';
        if (flaky && (acts.get(context.idempotencyKey) ?? 0) < 3) throw new Error('not yet');
        return `done ${input.id}`;
      },
      timeoutMs: 1_000,
      retries: 2,
      ...rest,
    });
  const reconcile: NonNullable<AnyTool['reconcile']> = async (input: Input, context) => {
    if (!acts.has(context.idempotencyKey)) return { happened: false };
    await note(input, context);
    return { happened: true, result: outcome(input) };
  };
  const own = [
    make('look', { effect: 'read' }),
    make('write', { effect: 'idempotent' }),
    make('pay', { effect: 'once', reconcile }),
    make('deploy', { effect: 'once', reconcile, needsApproval: true }),
    // Its slice events are unknown when its outcome was unknown.
    { ...make('send', { effect: 'once' }), execute: silently(make('send', { effect: 'once' })) },
  ];
  const child = definePrompt({ ns: 'random', key: 'child', instructions: 'Help.', tools: own });
  const delegate = defineTool({
    name: 'delegate',
    description: 'Asks for help',
    input: inputSchema,
    effect: 'idempotent',
    async execute(input, context) {
      const { text } = await context.evaluate(child, { input: `help ${input.id}` });
      if (input.how === 'fail') throw new Error(`failed ${input.id}`);
      return text;
    },
  });
  const main = definePrompt({
    ns: 'random',
    key: 'main',
    instructions: 'Do it.',
    tools: [...own, delegate],
    ...(scenario.structured && { output: z.object({ done: z.string() }) }),
  });
  return { main, child };
}

function silently(tool: AnyTool): AnyTool['execute'] {
  return (input: Input, context) => tool.execute({ ...input, note: false }, context);
}

/** The scripted response to a request; the provider fails first, as often as planned, over all processes. */
function answerOf(life: Life, { structured }: Scenario, plan: Plan, request: ModelRequest): ScriptedTurn {
  const { turn, evaluationId, prompt } = request;
  const failure = plan.failures[turn - 1];
  const place = `${evaluationId}/${turn}`;
  const failed = life.world.failures.get(place) ?? 0;
  if (failure && failed < failure.times) {
    life.world.failures.set(place, failed + 1);
    return { error: { status: 500 }, ...(failure.midway && { text: 'I was about to say' }) };
  }
  const calls = plan.turns[turn - 1];
  if (calls) {
    return {
      ...(turn % 2 === 0 && { text: `turn ${turn}` }),
      toolCalls: calls.map(({ tool, how, ...rest }, n) => {
        const input = { id: `${turn}.${n}`, how, ...rest };
        if (how === 'malformed') return { name: tool, arguments: `${JSON.stringify({ ...input, how: 'ok' })}}` };
        return { name: tool, arguments: how === 'misfit' ? { ...input, id: n } : input };
      }),
    };
  }
  if (!structured || prompt.key === 'child') return 'All done.';
  return turn - plan.turns.length <= plan.wrongAnswers ? 'Done, I think.' : '{"done":"yes"}';
}

/** An evaluation's position in the conversation, the same in every run. */
function nameOf(session: Session, evaluation: Evaluation): string {
  const { parent, conversationId, key } = evaluation;
  const above = parent && session.state.record.evaluations.get(parent.evaluationId);
  if (!parent || !above) return `${conversationId}:${key}`;
  return `${nameOf(session, above)}/${parent.turn}/${parent.callId}/${conversationId.split('/').at(-1)}`;
}

/** The result of a conversation: messages without seq, times and ids, results in call order, and the slices. */
export function comeTo(session: Session): Record<string, unknown> {
  const { evaluations } = session.state.record;
  const conversations = evaluations.items
    .map((evaluation) => [nameOf(session, evaluation), evaluation] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { status, messages }]) => [name, { status, messages: normalized(messages.toArray()) }]);
  return {
    conversations: Object.fromEntries(conversations),
    notes: session.select(notes).all().toSorted(),
    tries: session.select(tries).all().toSorted(),
  };
}

/** The distinct requests by evaluation and turn. Any process may create a summary, and start it again. */
export function asked(session: Session, requests: readonly ModelRequest[]): Record<string, readonly string[]> {
  const all = new Map<string, Set<string>>();
  for (const { evaluationId, turn, messages } of requests.filter((request) => !isSummary(request))) {
    const evaluation = session.state.record.evaluations.get(evaluationId);
    const name = `${evaluation ? nameOf(session, evaluation) : evaluationId}@${turn}`;
    all.set(name, (all.get(name) ?? new Set()).add(JSON.stringify(normalized(messages))));
  }
  return Object.fromEntries([...all].toSorted().map(([name, said]) => [name, [...said]]));
}

/** Messages without seq, times and ids, results in call order. */
export function normalized(messages: readonly ConversationMessage[]): readonly unknown[] {
  const place = new Map<ConversationMessage, number>();
  let turn: ConversationMessage | undefined;
  let at = 0;
  for (const [i, message] of messages.entries()) {
    if (message.role === 'tool' && turn?.role === 'assistant') {
      const n = turn.toolCalls?.findIndex(({ callId }) => callId === message.toolCallId) ?? 0;
      place.set(message, at + (n + 1) / 100);
    } else {
      at = i;
      turn = message;
      place.set(message, i);
    }
  }
  return messages
    .toSorted((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0))
    .map(({ id: _, createdAt: __, evaluationId: ___, sequence: ____, conversationId: _____, ...rest }) => rest);
}
