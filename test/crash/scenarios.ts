/**
 * The scenarios of the crash matrix: small agents that act outside their process. Each is driven as a program would, so that the same
 * call starts it and resumes it after a crash.
 */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { compose, type HistoryManager, slidingWindow, summarize, truncateToolResults } from '../../src/history.ts';
import {
  type AnySession,
  type AnyTool,
  approveToolCall,
  type CallRef,
  type CheckpointHandler,
  cancelEvaluation,
  createAdapter,
  definePrompt,
  defineSlice,
  defineSubagent,
  defineTool,
  denyToolCall,
  type EvaluationResponse,
  type FileCheckpoints,
  fileCheckpoints,
  getMessages,
  getPendingToolCalls,
  getQueuedInputs,
  type HistorySummarized,
  isHoldfastError,
  MainLoop,
  type Model,
  type ModelRequest,
  type NewEvent,
  type OpenSessionOptions,
  type RunResult,
  readCallArguments,
  readCallProgress,
  type ScriptedTurn,
  type Settlement,
  scriptedModel,
  settleToolCall,
  type ToolContext,
  textOf,
} from '../../src/index.ts';
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
  act(context: ToolContext): void;
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

const input = z.object({ path: z.string() });

/** Longer than the matrix runs: a lease is taken over because its process is dead, never because it has expired. */
const LEASE_MS = 24 * 3_600_000;

type Script = readonly ScriptedTurn[] | ((turn: number, key: string, request: ModelRequest) => ScriptedTurn);

/** Resolves when a model may stream the next part of a response. */
type Gate = (request: ModelRequest) => Promise<void>;

/** A model that streams. Drafts are written between two parts, always at the same positions, or not at all. */
function model(
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

function tool(world: World, name: string, rest: Partial<Omit<AnyTool, 'name' | 'input' | 'jsonSchema'>> = {}): AnyTool {
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

function call(name: string, path: string): { readonly name: string; readonly arguments: unknown } {
  return { name, arguments: { path } };
}

/** One request: starts it, resumes it, or returns its recorded response. */
async function request(
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
function chat(
  world: World,
  { tools, script }: { readonly tools: readonly AnyTool[]; readonly script: Script },
): () => Promise<RunResult<unknown>> {
  const prompt = definePrompt({ ns: 'crash', key: 'chat', instructions: 'Chat.', tools });
  const adapter = createAdapter({ model: model(world, script, { drafts: false }), leaseTtlMs: LEASE_MS });
  return () => adapter.run(prompt, { session: world.session });
}

/** Runs the chat to its end, where every input that was not withdrawn is placed. */
async function untilIdle(world: World, run: () => Promise<RunResult<unknown>>): Promise<void> {
  const { status } = await run();
  if (status !== 'idle') throw new Error(`the run is ${status}`);
  const left = getQueuedInputs(world.session);
  if (left.length > 0) throw new Error(`${left.length} inputs are still queued`);
}

async function withdrawn(session: AnySession, inputId: string): Promise<void> {
  if (!(await session.withdraw(inputId))) throw new Error(`input ${inputId} was placed, and it was withdrawn before`);
}

/** Calls `first` in the first turn of the first evaluation; otherwise repeats the last message. */
const firstCalls =
  (first: ReturnType<typeof call>): Script =>
  (turn, _, { messages }) => {
    const users = messages.filter(({ role }) => role === 'user');
    if (turn === 1 && users.length === 1) return { toolCalls: [first] };
    return `You said: ${users.map(textOf).at(-1)}`;
  };

/** Starts or continues the request; a cancelled one is resumed explicitly (D73). */
type Evaluate = (how?: { readonly isCancelled?: boolean }) => Promise<EvaluationResponse<unknown>>;

/** How people handle a call that waits. */
type Speak = (world: World, pending: CallRef, tools: readonly AnyTool[]) => Promise<void>;

/** Handles waiting calls as a person would. */
async function untilDone(
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

const approveCall: Speak = (world, pending) => approveToolCall(world.session, pending);

const settleCall: Speak = (world, pending, tools) =>
  settleToolCall(world.session, pending, outcomeOf(world, pending, tools));

/** The result of a call, as seen from outside. */
function outcomeOf(world: World, pending: CallRef, tools: readonly AnyTool[]): Settlement {
  const key = `${world.session.id}/${pending.evaluationId}/${pending.turn}/${pending.callId}`;
  return world.acted(key) ? { result: `${tools[0]?.name} a done` } : { rerun: true };
}

/** Denies the call while another person approves it with other arguments: the denial comes second. */
const denyTooLate: Speak = async (world, pending) => {
  world.meanwhile('tool/denied', (session) =>
    approveToolCall(session, pending, { by: 'Ann', arguments: { path: 'b' } }),
  );
  await refused(denyToolCall(world.session, pending, 'no'), 'INVALID_ARGUMENT');
};

/** Two people settle the call in the same way; then one of them repeats it, based on an outdated screen. */
const settleTwice: Speak = async (world, pending, tools) => {
  const how = outcomeOf(world, pending, tools);
  world.meanwhile('tool/settled', (session) => settleToolCall(session, pending, how));
  await settleToolCall(world.session, pending, how);
  const { attempt = 1 } = pending;
  await refused(
    settleToolCall(world.session, { ...pending, attempt: attempt - 1 }, { rerun: true }),
    'TOOL_CALL_NOT_FOUND',
  );
};

async function refused(said: Promise<void>, code: string): Promise<void> {
  const error: unknown = await said.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isHoldfastError(error) || error.code !== code) throw new Error(`not refused with ${code}`, { cause: error });
}

/** Checkpoints with a crash point on both sides of every write. */
function withCrashPoints(checkpoints: FileCheckpoints<string>, points: CrashPoints): CheckpointHandler<string> {
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
    complete: (asked, answer) => around('complete', () => checkpoints.complete(asked, answer)),
  };
}

const reconcile =
  (world: World, name: string): NonNullable<AnyTool['reconcile']> =>
  (given: { readonly path: string }, context) =>
    world.acted(context.idempotencyKey)
      ? { happened: true, result: `${name} ${given.path} done` }
      : { happened: false };

/** Texts that no file of a store may contain at the end. */
export const SECRETS = ['rosebud-41', 'rosebud-42', 'rosebud-43'] as const;
const [SECRET, EDITED, DELEGATED] = SECRETS;

const redact = (event: NewEvent): NewEvent =>
  JSON.parse(SECRETS.reduce((text, secret) => text.replaceAll(secret, '[secret]'), JSON.stringify(event))) as NewEvent;

/** A tool that records its input. */
function secretive(world: World, name: string, rest: Partial<AnyTool> = {}): AnyTool {
  return tool(world, name, {
    execute: ({ path }: { readonly path: string }, context) => {
      world.given(`${name} ${path}`);
      world.act(context);
      return `${name} ${path} done`;
    },
    ...rest,
  });
}

const reconcileSecret =
  (world: World, name: string): NonNullable<AnyTool['reconcile']> =>
  (given: { readonly path: string }, context) => {
    world.given(`${name} ${given.path}`);
    return reconcile(world, name)(given, context);
  };

/** Approves with other arguments, after reading the exact ones. */
const approveEdited: Speak = async ({ session, given }, pending) => {
  given(`the approver ${await readCallArguments(session, pending)}`);
  await approveToolCall(session, pending, { by: 'Ann', arguments: { path: EDITED } });
};

/** Pays, and reports before and after; each report is stored before the next step. */
async function payInSteps({ act, clock, points, session }: World, context: ToolContext): Promise<string> {
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
async function untilFolded(
  { session }: World,
  isSo: (record: AnySession['state']['record']) => boolean,
): Promise<void> {
  while (!isSo(session.state.record)) await setImmediate();
}

/** The first summary is created while the model responds, the second while a tool runs: the next request waits for it. */
const summaryGate =
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
async function checkSummaries({ session }: World, expected: number): Promise<void> {
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
const settleByProgress: Speak = async (world, pending, tools) => {
  const outcome = outcomeOf(world, pending, tools);
  const { text = '' } = (await readCallProgress(world.session, pending)) ?? {};
  if (text.includes('paid') && 'rerun' in outcome) throw new Error(`it reported "${text}" and did not act`);
  await settleToolCall(world.session, pending, outcome);
};

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'one tool',
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'write', { effect: 'idempotent' })],
        script: [{ text: 'I will.', toolCalls: [call('write', 'a')] }, 'It is done.'],
      }),
  },
  {
    name: 'three parallel tools',
    drive: (world) =>
      request(world, {
        tools: [
          tool(world, 'look', { effect: 'read' }),
          tool(world, 'write', { effect: 'idempotent' }),
          tool(world, 'send', { effect: 'once', reconcile: reconcile(world, 'send') }),
        ],
        script: [{ toolCalls: [call('look', 'a'), call('write', 'b'), call('send', 'c')] }, 'All three.'],
      }),
  },
  {
    name: 'a once tool with reconcile',
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'pay', { effect: 'once', reconcile: reconcile(world, 'pay') })],
        script: [{ text: 'Paying.', toolCalls: [call('pay', 'a')] }, 'Paid.'],
      }),
  },
  {
    name: 'a once tool without reconcile',
    mayBeUnknown: true,
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'pay', { effect: 'once' })],
        script: [{ text: 'Paying.', toolCalls: [call('pay', 'a')] }, 'Paid.'],
      }),
  },
  {
    name: 'cancelled by another person, then resumed',
    drive(world) {
      world.meanwhile('tool/started', (session) => cancelEvaluation(session, { by: 'Ann', reason: 'wait' }));
      return request(world, {
        tools: [tool(world, 'write', { effect: 'idempotent' })],
        script: [{ text: 'I will.', toolCalls: [call('write', 'a')] }, 'It is done.'],
      });
    },
  },
  {
    name: 'a once tool that reports progress',
    mayBeUnknown: true,
    drive: async (world) => {
      await request(world, {
        tools: [tool(world, 'pay', { effect: 'once', execute: (_, context) => payInSteps(world, context) })],
        script: [{ toolCalls: [call('pay', 'a')] }, 'Paid.'],
        drafts: false,
        people: { settle: settleByProgress },
      });
      const left = await world.session.store.readDraft(world.session.id);
      if (left.length > 0) throw new Error(`the store holds ${left.length} chunks of calls that have ended`);
    },
  },
  {
    name: 'a failing tool',
    drive: (world) =>
      request(world, {
        tools: [
          tool(world, 'break', {
            effect: 'idempotent',
            execute: (_, context) => {
              world.act(context);
              throw new Error('it broke');
            },
          }),
          tool(world, 'write', { effect: 'idempotent' }),
        ],
        script: [{ toolCalls: [call('break', 'a')] }, { toolCalls: [call('write', 'b')] }, 'Worked around it.'],
      }),
  },
  {
    name: 'a child conversation',
    drive: (world) => {
      const child = definePrompt({
        ns: 'crash',
        key: 'child',
        instructions: 'Research.',
        tools: [tool(world, 'look', { effect: 'idempotent' })],
      });
      const delegate = defineTool({
        name: 'delegate',
        description: 'Asks another agent',
        input,
        effect: 'idempotent',
        execute: async ({ path }, context) => (await context.evaluate(child, { input: path })).text,
      });
      return request(world, {
        tools: [delegate],
        script: (turn, key) =>
          key === 'child'
            ? (([{ toolCalls: [call('look', 'b')] }, 'Found it.'] as const)[turn - 1] ?? 'no more')
            : (([{ toolCalls: [call('delegate', 'a')] }, 'They found it.'] as const)[turn - 1] ?? 'no more'),
      });
    },
  },
  {
    name: 'children in another order on resume',
    drive: (world) => {
      const child = definePrompt({
        ns: 'crash',
        key: 'child',
        instructions: 'Research.',
        tools: [tool(world, 'look', { effect: 'idempotent' })],
      });
      const delegate = defineTool({
        name: 'delegate',
        description: 'Asks other agents',
        input,
        effect: 'idempotent',
        async execute(_, context) {
          // Once a child is in the log, the children are started in the other order.
          const isBegun = context.session.state.record.evaluations.length > 1;
          const found: Record<string, string> = {};
          for (const path of isBegun ? ['b', 'a'] : ['a', 'b']) {
            found[path] = (await context.evaluate(child, { input: path })).text;
          }
          return `a: ${found.a} b: ${found.b}`;
        },
      });
      return request(world, {
        tools: [delegate],
        drafts: false, // other scenarios cover them
        script: (turn, key, { messages }) => {
          if (key !== 'child') return turn === 1 ? { toolCalls: [call('delegate', '')] } : 'They found both.';
          const asked = messages.find(({ role }) => role === 'user');
          const path = asked ? textOf(asked) : '';
          return turn === 1 ? { toolCalls: [call('look', path)] } : `found ${path}`;
        },
      });
    },
  },
  {
    name: 'checkpoints after completion, a once tool',
    async drive(world) {
      const pay = tool(world, 'pay', { effect: 'once', reconcile: reconcile(world, 'pay') });
      const prompt = definePrompt({ ns: 'crash', key: 'main', instructions: 'Do it.', tools: [pay] });
      const script = [{ text: 'Paying.', toolCalls: [call('pay', 'a')] }, 'Paid.'];
      const loop = new MainLoop<string>({
        adapter: createAdapter({ model: model(world, script) }),
        prepare: (asked) => ({ prompt, input: asked, sessionId: 'crash' }),
        checkpoints: withCrashPoints(fileCheckpoints<string>(join(world.dir, 'checkpoints')), world.points),
        finalize: (_, __, session) => world.ended(session),
      });
      // Delivered twice: the second time it is already completed.
      for (let i = 0; i < 2; i++) {
        const { text } = await loop.execute('order-1');
        if (text !== 'Paid.') throw new Error(`it said ${text}`);
      }
      if (world.effects() !== 1) throw new Error(`paid ${world.effects()} times`);
    },
  },
  {
    name: 'a history that folds',
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'write', { effect: 'idempotent' })],
        history: compose(truncateToolResults({ maxLength: 20 }), slidingWindow({ size: 2, low: 1 })),
        script: [...'abcd'].map((path): ScriptedTurn => ({ toolCalls: [call('write', path)] })).concat('All written.'),
      }),
  },
  {
    name: 'a background summary',
    async drive(world) {
      await request(world, {
        tools: [tool(world, 'write', { effect: 'idempotent' })],
        history: summarize({ size: 4, low: 3, ahead: 1 }),
        drafts: false,
        gate: summaryGate(world),
        script: (turn, key, { messages }) => {
          if (key === 'summary') return `${messages.map(textOf).join().length} characters`;
          const path = 'abcdef'[turn - 1];
          return path ? { toolCalls: [call('write', path)] } : 'All written.';
        },
      });
      await checkSummaries(world, 2);
    },
  },
  {
    name: 'a request that is refused as too long',
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'write', { effect: 'idempotent' })],
        drafts: false,
        script: (turn, _, { messages }) => {
          if (messages.length > 8) return { error: { status: 400, code: 'context_length_exceeded' } };
          const path = 'abcd'[turn - 1];
          return path ? { toolCalls: [call('write', path)] } : 'All written.';
        },
      }),
  },
  {
    name: 'structured output',
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'look', { effect: 'read' })],
        output: z.object({ verdict: z.enum(['good', 'bad']) }),
        script: [{ toolCalls: [call('look', 'a')] }, 'It is good.', '{"verdict":"good"}'],
      }),
  },
  {
    name: 'approval',
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'deploy', { effect: 'once', needsApproval: true, reconcile: reconcile(world, 'deploy') })],
        script: [{ text: 'May I?', toolCalls: [call('deploy', 'a')] }, 'Deployed.'],
      }),
  },
  {
    name: 'redacted arguments of every effect',
    options: { redact },
    drive: (world) =>
      request(world, {
        drafts: false,
        tools: [
          secretive(world, 'look', { effect: 'read' }),
          secretive(world, 'write', { effect: 'idempotent' }),
          secretive(world, 'send', { effect: 'once', reconcile: reconcileSecret(world, 'send') }),
        ],
        script: [{ toolCalls: ['look', 'write', 'send'].map((name) => call(name, SECRET)) }, 'All three.'],
      }),
  },
  {
    name: 'redacted arguments of a once tool that are edited',
    options: { redact },
    drive: (world) =>
      request(world, {
        drafts: false,
        tools: [
          secretive(world, 'deploy', {
            effect: 'once',
            needsApproval: true,
            reconcile: reconcileSecret(world, 'deploy'),
          }),
        ],
        script: [{ toolCalls: [call('deploy', SECRET)] }, 'Deployed.'],
        people: { approve: approveEdited },
      }),
  },
  {
    name: 'redacted arguments of a subagent',
    options: { redact },
    drive: (world) => {
      const child = definePrompt({
        ns: 'crash',
        key: 'child',
        instructions: 'Research.',
        tools: [secretive(world, 'write', { effect: 'idempotent' })],
      });
      return request(world, {
        drafts: false,
        tools: [defineSubagent({ name: 'delegate', description: 'Asks another agent', prompt: child })],
        script: (turn, key) => {
          if (turn > 1) return 'Found it.';
          if (key === 'child') return { toolCalls: [call('write', SECRET)] };
          return { toolCalls: [{ name: 'delegate', arguments: { input: DELEGATED } }] };
        },
      });
    },
  },
  {
    name: 'a denial of a once tool that comes second',
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'deploy', { effect: 'once', needsApproval: true, reconcile: reconcile(world, 'deploy') })],
        script: [{ text: 'May I?', toolCalls: [call('deploy', 'a')] }, 'Deployed.'],
        people: { approve: denyTooLate },
      }),
  },
  {
    name: 'two people settle a once tool',
    mayBeUnknown: true,
    drive: (world) =>
      request(world, {
        tools: [tool(world, 'pay', { effect: 'once' })],
        script: [{ text: 'Paying.', toolCalls: [call('pay', 'a')] }, 'Paid.'],
        people: { settle: settleTwice },
      }),
  },
  {
    name: 'an open call whose message is erased',
    async drive(world) {
      const { session } = world;
      const tools = [tool(world, 'deploy', { effect: 'once', needsApproval: true })];
      const prompt = definePrompt({ ns: 'crash', key: 'main', instructions: 'Do it.', tools });
      const script = [{ text: 'The password is rosebud.', toolCalls: [call('deploy', 'a')] }, 'Then not.'];
      const adapter = createAdapter({ model: model(world, script), leaseTtlMs: LEASE_MS });
      for (;;) {
        // A person erases it before anything else continues, also after a crash.
        const told = getMessages(session).find((message) => textOf(message).includes('rosebud'));
        if (told) await session.eraseMessage(told.id);
        const response = await adapter.evaluate(prompt, { session, input: 'Please.', resume: 'auto' });
        if (response.status === 'completed') return;
      }
    },
  },
  {
    name: 'a tool that changes a slice',
    drive: (world) =>
      request(world, {
        tools: [
          tool(world, 'step', {
            effect: 'idempotent',
            execute: async ({ path }, context) => {
              await context.session.dispatch({ type: 'step/taken', step: path });
              world.act(context);
              return `now ${context.session.select(steps).all().length} steps`;
            },
          }),
        ],
        script: [{ toolCalls: [call('step', 'a')] }, { toolCalls: [call('step', 'b')] }, 'Two steps.'],
      }),
  },
  {
    name: 'a second user turn',
    async drive(world) {
      const { session } = world;
      const tools = [tool(world, 'write', { effect: 'idempotent' })];
      const prompt = definePrompt({ ns: 'crash', key: 'chat', instructions: 'Chat.', tools });
      const adapter = createAdapter({
        model: model(world, [{ toolCalls: [call('write', 'a')] }, 'Anything else?']),
        leaseTtlMs: LEASE_MS,
      });
      for (const key of ['m1', 'm2']) {
        // The same text twice: the key distinguishes the inputs (D64).
        await untilDone(world, tools, () =>
          adapter.evaluate(prompt, { session, input: 'Go on.', continues: true, resume: 'auto', key }),
        );
      }
    },
  },
  {
    name: 'a steer and a follow-up while a tool runs',
    async drive(world) {
      const { session } = world;
      const work = tool(world, 'work', {
        effect: 'idempotent',
        execute: async (_, context) => {
          await session.send('Then this.', { id: 'follow-up' });
          await session.send('Differently!', { id: 'steer', mode: 'steer' });
          world.act(context);
          return 'worked';
        },
      });
      const run = chat(world, { tools: [work], script: firstCalls(call('work', 'a')) });
      await session.send('Work.', { id: 'first' });
      await untilIdle(world, run);
    },
  },
  {
    name: 'inputs that are withdrawn, one of them as it is placed',
    async drive(world) {
      const { session } = world;
      const work = tool(world, 'work', {
        effect: 'idempotent',
        execute: async (_, context) => {
          await session.send('Never this.', { id: 'never', mode: 'steer' });
          await session.send('Then this.', { id: 'follow-up' });
          await withdrawn(session, 'never');
          world.act(context);
          return 'worked';
        },
      });
      const run = chat(world, { tools: [work], script: firstCalls(call('work', 'a')) });
      await session.send('Nor this.', { id: 'too-late' });
      await session.send('Work.', { id: 'first' });
      // Another person withdraws it while this process starts the evaluation with it.
      world.meanwhile('evaluation/started', (other) => withdrawn(other, 'too-late'));
      await untilIdle(world, run);
    },
  },
  {
    name: 'a once tool that is cancelled, then another message',
    async drive(world) {
      const { session, clock } = world;
      const pay = tool(world, 'pay', {
        effect: 'once',
        execute: async (_, context) => {
          world.act(context);
          await cancelEvaluation(session, { by: 'Ann' });
          for (;;) {
            context.signal.throwIfAborted();
            clock.advance(200);
            await setImmediate();
          }
        },
      });
      const run = chat(world, { tools: [pay], script: firstCalls(call('pay', 'a')) });
      await session.send('Pay.', { id: 'first' });
      let response = (await run()).responses.at(-1);
      // After a crash its outcome may be unknown: it runs again if it did not pay, and is cancelled here if it did.
      for (; response?.reason === 'TOOL_OUTCOME_UNKNOWN'; response = (await run()).responses.at(-1)) {
        const [pending] = response.pending;
        if (!pending) throw new Error('no call waits');
        if (world.effects() > 0) await cancelEvaluation(session);
        else await settleToolCall(session, pending, { rerun: true });
      }
      await session.send('Do not pay.', { id: 'second' });
      await untilIdle(world, run);
      if (getPendingToolCalls(session).length > 0) throw new Error('the evaluation that was superseded has open calls');
    },
  },
];
