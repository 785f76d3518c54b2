/**
 * The scenarios of the crash matrix: small agents that act outside their process. Each is driven as a program would, so that the same
 * call starts it and resumes it after a crash.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { createAdapter, definePrompt, fileCheckpoints, MainLoop } from '../../src/evaluate.ts';
import { compose, slidingWindow, summarize, truncateToolResults } from '../../src/history.ts';
import { defineTool, type ScriptedTurn, textOf } from '../../src/index.ts';
import { PEOPLE_SCENARIOS } from './people-scenarios.ts';
import {
  call,
  checkSummaries,
  input,
  model,
  payInSteps,
  reconcile,
  request,
  type Scenario,
  settleByProgress,
  summaryGate,
  tool,
  withCrashPoints,
} from './scenario-parts.ts';
import { TIMER_SCENARIOS } from './timer-scenarios.ts';

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
      world.meanwhile('tool/started', (session) => session.cancel({ by: 'Ann', reason: 'wait' }));
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
  ...PEOPLE_SCENARIOS,
  ...TIMER_SCENARIOS,
];
