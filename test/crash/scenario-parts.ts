/** What the scenarios of the crash matrix are made of: their world, scripted models, tools and people. */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { HistorySummarized } from '../../src/core/log/events.ts';
import {
  type CheckpointHandler,
  createAdapter,
  definePrompt,
  type EvaluationResponse,
  type RunResult,
} from '../../src/evaluate.ts';
import type { HistoryManager } from '../../src/history.ts';
import {
  type AnySession,
  type AnyTool,
  type CallRef,
  defineSlice,
  defineTool,
  isHoldfastError,
  type Model,
  type ModelRequest,
  type NewEvent,
  type OpenSessionOptions,
  readCallArguments,
  readCallProgress,
  type ScriptedTurn,
  type Settlement,
  scriptedModel,
  type ToolContext,
  textOf,
} from '../../src/index.ts';
import type { FileCheckpoints } from '../../src/loop/main-loop/checkpoints.ts';
import { type CrashPoints, modelWithCrashPoints } from '../../src/testing/crash-points.ts';
import type { FakeClock } from '../../src/testing/fake-clock.ts';

/** The environment that a scenario acts on. */
export interface World {
  readonly session: AnySession;
  /** The directory of files that outlive the process. */
  readonly dir: string;
  /** Records results that are not in the session. */
  ended(session: AnySession): void;
  readonly clock: FakeClock;
  readonly points: CrashPoints;
  /** Acts outside the process, with a crash point on both sides. */
  act(context: Pick<ToolContext, 'idempotencyKey'>): void;
  /** Whether a call has acted, as seen from outside. */
  acted(idempotencyKey: string): boolean;
  /** How many calls have acted, under any key. */
  effects(): number;
  /** Records a request to the model: a turn always has the same request. */
  asked(request: ModelRequest): void;
  /** Lets another person act on a separate handle, inside the next append of an event of this type. */
  meanwhile(type: string, act: (session: AnySession) => Promise<void>): void;
  /** Records that an outcome was unknown. */
  unknown(callId: string): void;
  /** Records a tool's input. */
  given(what: string): void;
}

export interface Scenario {
  readonly name: string;
  /** Whether a call may end with an unknown outcome after a crash. */
  readonly mayBeUnknown?: true;
  /** How its session is opened. */
  readonly options?: Pick<OpenSessionOptions, 'redact'>;
  drive(world: World): Promise<void>;
}

export const steps = defineSlice({
  name: 'steps',
  initial: [] as string[],
  on: { 'step/taken': (items, event: { readonly step: string }) => [...items, event.step] },
});

export const input = z.object({ path: z.string() });

/** Longer than the matrix runs: a lease is taken over because its process is dead, never because it has expired. */
export const LEASE_MS = 24 * 3_600_000;

export type Script = readonly ScriptedTurn[] | ((turn: number, key: string, request: ModelRequest) => ScriptedTurn);

/** Resolves when a model may stream the next part of a response. */
export type Gate = (request: ModelRequest) => Promise<void>;

/** A model that streams. Drafts are written between two parts, always at the same positions, or not at all. */
export function model(
  world: World,
  script: Script,
  { drafts = true, gate }: { readonly drafts?: boolean; readonly gate?: Gate } = {},
): Model {
  const { clock, points } = world;
  const count = (name: string): number => points.passed.filter((passed) => passed === name).length;
  const scripted = scriptedModel(
    (request) => {
      world.asked(request);
      return typeof script === 'function'
        ? script(request.turn, request.prompt.key, request)
        : (script[request.turn - 1] ?? 'no more');
    },
    {
      async beforePart(_, request) {
        await gate?.(request);
        if (!drafts) return;
        clock.advance(200);
        while (count('before appendDraft') > count('after appendDraft')) await setImmediate();
      },
    },
  );
  return modelWithCrashPoints(scripted, points);
}

export function tool(
  world: World,
  name: string,
  rest: Partial<Omit<AnyTool, 'name' | 'input' | 'jsonSchema'>> = {},
): AnyTool {
  return defineTool({
    name,
    description: `Does ${name}`,
    input,
    execute: ({ path }, context) => {
      world.act(context);
      return `${name} ${path} done`;
    },
    ...rest,
  });
}

export function call(name: string, path: string): { readonly name: string; readonly arguments: unknown } {
  return { name, arguments: { path } };
}

/** One request: starts it, resumes it, or returns its recorded response. */
export async function request(
  world: World,
  options: {
    readonly tools: readonly AnyTool[];
    readonly script: Script;
    readonly output?: z.ZodType;
    readonly history?: HistoryManager;
    readonly drafts?: boolean;
    readonly gate?: Gate;
    readonly people?: { readonly approve?: Speak; readonly settle?: Speak };
  },
): Promise<void> {
  const { tools, output } = options;
  const prompt = definePrompt({
    ns: 'crash',
    key: 'main',
    instructions: 'Do it.',
    tools,
    ...(output && { output }),
  });
  const adapter = createAdapter({ model: model(world, options.script, options), leaseTtlMs: LEASE_MS });
  const evaluate: Evaluate = ({ isCancelled = false } = {}) =>
    adapter.evaluate(prompt, {
      session: world.session,
      input: 'Please.',
      resume: isCancelled ? true : 'auto',
      ...(options.history && { history: options.history }),
    });
  await untilDone(world, options.tools, evaluate, options.people);
}

/** A chat by `adapter.run`: does what the session has left (D61). */
export function chat(
  world: World,
  { tools, script }: { readonly tools: readonly AnyTool[]; readonly script: Script },
): () => Promise<RunResult<unknown>> {
  const prompt = definePrompt({ ns: 'crash', key: 'chat', instructions: 'Chat.', tools });
  const adapter = createAdapter({ model: model(world, script, { drafts: false }), leaseTtlMs: LEASE_MS });
  return () => adapter.run(prompt, { session: world.session });
}

/** Runs the chat to its end, where every input that was not withdrawn is placed. */
export async function untilIdle(world: World, run: () => Promise<RunResult<unknown>>): Promise<void> {
  const { status } = await run();
  if (status !== 'idle') throw new Error(`the run is ${status}`);
  const left = world.session.queue();
  if (left.length > 0) throw new Error(`${left.length} inputs are still queued`);
}

export async function withdrawn(session: AnySession, inputId: string): Promise<void> {
  if (!(await session.withdraw(inputId))) throw new Error(`input ${inputId} was placed, and it was withdrawn before`);
}

/** Calls `first` in the first turn of the first evaluation; otherwise repeats the last message. */
export const firstCalls =
  (first: ReturnType<typeof call>): Script =>
  (turn, _, { messages }) => {
    const users = messages.filter(({ role }) => role === 'user');
    if (turn === 1 && users.length === 1) return { toolCalls: [first] };
    return `You said: ${users.map(textOf).at(-1)}`;
  };

/** Starts or continues the request; a cancelled one is resumed explicitly (D73). */
export type Evaluate = (how?: { readonly isCancelled?: boolean }) => Promise<EvaluationResponse<unknown>>;

/** How people handle a call that waits. */
export type Speak = (world: World, pending: CallRef, tools: readonly AnyTool[]) => Promise<void>;

/** Handles waiting calls as a person would. */
export async function untilDone(
  world: World,
  tools: readonly AnyTool[],
  evaluate: Evaluate,
  people: { readonly approve?: Speak; readonly settle?: Speak } = {},
): Promise<void> {
  const { approve = approveCall, settle = settleCall } = people;
  let response = await evaluate();
  for (; response.status === 'suspended'; response = await evaluate({ isCancelled: response.reason === 'CANCELLED' })) {
    for (const pending of response.pending) {
      if (response.reason === 'APPROVAL_REQUIRED') await approve(world, pending, tools);
      else if (response.reason === 'TOOL_OUTCOME_UNKNOWN') {
        world.unknown(pending.callId);
        await settle(world, pending, tools);
      } else throw new Error(`suspended: ${response.message}`);
    }
  }
}

export const approveCall: Speak = (world, pending) => world.session.approve(pending);

export const settleCall: Speak = (world, pending, tools) =>
  world.session.settle(pending, outcomeOf(world, pending, tools));

/** The result of a call, as seen from outside. */
export function outcomeOf(world: World, pending: CallRef, tools: readonly AnyTool[]): Settlement {
  const key = `${world.session.id}/${pending.evaluationId}/${pending.turn}/${pending.callId}`;
  return world.acted(key) ? { result: `${tools[0]?.name} a done` } : { rerun: true };
}

/** Denies the call while another person approves it with other arguments: the denial comes second. */
export const denyTooLate: Speak = async (world, pending) => {
  world.meanwhile('tool/denied', (session) => session.approve(pending, { by: 'Ann', arguments: { path: 'b' } }));
  await refused(world.session.deny(pending, { reason: 'no' }), 'CALL_DECIDED');
};

/** Two people settle the call in the same way; then one of them repeats it, based on an outdated screen. */
export const settleTwice: Speak = async (world, pending, tools) => {
  const how = outcomeOf(world, pending, tools);
  world.meanwhile('tool/settled', (session) => session.settle(pending, how));
  await world.session.settle(pending, how);
  const { attempt = 1 } = pending;
  await refused(world.session.settle({ ...pending, attempt: attempt - 1 }, { rerun: true }), 'TOOL_CALL_NOT_FOUND');
};

export async function refused(said: Promise<void>, code: string): Promise<void> {
  const error: unknown = await said.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isHoldfastError(error) || error.code !== code) throw new Error(`not refused with ${code}`, { cause: error });
}

/** Checkpoints with a crash point on both sides of every write. */
export function withCrashPoints(checkpoints: FileCheckpoints<string>, points: CrashPoints): CheckpointHandler<string> {
  const around = async (name: string, write: () => Promise<void>): Promise<void> => {
    points.pass(`before ${name}`);
    await write();
    points.pass(`after ${name}`);
  };
  return {
    load: (asked) => checkpoints.load(asked),
    lock: (asked) => checkpoints.lock(asked),
    clear: (asked) => around('clear', () => checkpoints.clear(asked)),
    save: (asked, snapshot) => around('save', () => checkpoints.save(asked, snapshot)),
    complete: (asked, response) => around('complete', () => checkpoints.complete(asked, response)),
  };
}

export const reconcile =
  (world: World, name: string): NonNullable<AnyTool['reconcile']> =>
  (given: { readonly path: string }, context) =>
    world.acted(context.idempotencyKey)
      ? { happened: true, result: `${name} ${given.path} done` }
      : { happened: false };

/** Texts that no file of a store may contain at the end. */
export const SECRETS = ['rosebud-41', 'rosebud-42', 'rosebud-43'] as const;

export const [SECRET, EDITED, DELEGATED] = SECRETS;

export const redact = (event: NewEvent): NewEvent =>
  JSON.parse(SECRETS.reduce((text, secret) => text.replaceAll(secret, '[secret]'), JSON.stringify(event))) as NewEvent;

/** A tool that records its input. */
export function secretive(world: World, name: string, rest: Partial<AnyTool> = {}): AnyTool {
  return tool(world, name, {
    execute: ({ path }: { readonly path: string }, context) => {
      world.given(`${name} ${path}`);
      world.act(context);
      return `${name} ${path} done`;
    },
    ...rest,
  });
}

export const reconcileSecret =
  (world: World, name: string): NonNullable<AnyTool['reconcile']> =>
  (given: { readonly path: string }, context) => {
    world.given(`${name} ${given.path}`);
    return reconcile(world, name)(given, context);
  };

/** Approves with other arguments, after reading the exact ones. */
export const approveEdited: Speak = async ({ session, given }, pending) => {
  given(`the approver ${await readCallArguments(session, pending)}`);
  await session.approve(pending, { by: 'Ann', arguments: { path: EDITED } });
};

/** Pays, and reports before and after; each report is stored before the next step. */
export async function payInSteps({ act, clock, points, session }: World, context: ToolContext): Promise<string> {
  const stored = async (): Promise<void> => {
    clock.advance(200);
    const writes = (side: string): number => points.passed.filter((name) => name === `${side} appendDraft`).length;
    while (writes('before') > writes('after')) await setImmediate();
    const { evaluationId, turn, callId } = context;
    if (!(await readCallProgress(session, { evaluationId, turn, callId }))) throw new Error('nothing is stored');
  };
  context.progress('paying\n');
  await stored();
  act(context);
  context.progress({ text: 'paid\n', percent: 100 });
  await stored();
  return 'pay a done';
}

/** Waits until the state of the session meets a condition. */
export async function untilFolded(
  { session }: World,
  isSo: (record: AnySession['state']['record']) => boolean,
): Promise<void> {
  while (!isSo(session.state.record)) await setImmediate();
}

/** The first summary is created while the model responds, the second while a tool runs: the next request waits for it. */
export const summaryGate =
  (world: World): Gate =>
  async ({ prompt: { key }, turn }) => {
    const { summaries } = world.session.state.record;
    const results = (messages: AnySession['state']['record']['messages']): number =>
      messages.filter(({ role }) => role === 'tool').length;
    if (key === 'summary' && summaries.length === 1)
      await untilFolded(world, ({ messages }) => results(messages) === 6);
    if (key === 'main' && turn === 4) await untilFolded(world, (record) => record.summaries.length === 1);
  };

/** Every summary is in the log once, and before the end of its evaluation. */
export async function checkSummaries({ session }: World, expected: number): Promise<void> {
  const keys: string[] = [];
  let isEnded = false;
  for await (const event of session.events()) {
    if (event.type === 'evaluation/completed') isEnded = true;
    if (event.type !== 'history/summarized') continue;
    if (isEnded) throw new Error('a summary was recorded after the end');
    keys.push((event as HistorySummarized).key);
  }
  if (keys.length !== expected || new Set(keys).size !== expected) throw new Error(`the log has summaries ${keys}`);
}

/** Settles by the outside state; the reported progress never exceeds what the call did. */
export const settleByProgress: Speak = async (world, pending, tools) => {
  const outcome = outcomeOf(world, pending, tools);
  const { text = '' } = (await readCallProgress(world.session, pending)) ?? {};
  if (text.includes('paid') && 'rerun' in outcome) throw new Error(`it reported "${text}" and did not act`);
  await world.session.settle(pending, outcome);
};
