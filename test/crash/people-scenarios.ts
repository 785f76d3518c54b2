/** Scenarios in which people decide, edit, erase, send and cancel. */
import { setImmediate } from 'node:timers/promises';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { createAgent, defineSubagent, textOf } from '../../src/index.ts';
import {
  approveEdited,
  call,
  chat,
  DELEGATED,
  denyTooLate,
  firstCalls,
  LEASE_MS,
  model,
  reconcile,
  reconcileSecret,
  redact,
  request,
  type Scenario,
  SECRET,
  secretive,
  settleTwice,
  steps,
  tool,
  untilDone,
  untilIdle,
  withdrawn,
} from './scenario-parts.ts';

export const PEOPLE_SCENARIOS: readonly Scenario[] = [
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
        const told = session.messages().find((message) => textOf(message).includes('rosebud'));
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
    name: 'two inputs of a chat by agent.run',
    async drive(world) {
      const agent = createAgent({
        name: 'chat',
        model: model(world, firstCalls(call('write', 'a')), { drafts: false }),
        leaseTtlMs: LEASE_MS,
        instructions: 'Chat.',
        tools: [tool(world, 'write', { effect: 'idempotent' })],
      });
      for (const [id, text, expected] of [
        ['m1', 'Write it.', 'You said: Write it.'],
        ['m2', 'Thanks.', 'You said: Thanks.'],
      ] as const) {
        const response = await agent.run(world.session, text, { id });
        if (response.text !== expected) throw new Error(`${id} is ${response.status}: ${response.text}`);
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
          await session.cancel({ by: 'Ann' });
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
        if (world.effects() > 0) await session.cancel();
        else await session.settle(pending, { rerun: true });
      }
      await session.send('Do not pay.', { id: 'second' });
      await untilIdle(world, run);
      if (session.pending().length > 0) throw new Error('the evaluation that was superseded has open calls');
    },
  },
];
