/** `agent.run` in a process that kills itself at the nth point: `agent-run-child.ts <database> <effects> <crashAt>`. Prints the responses. */
import { appendFileSync, writeSync } from 'node:fs';
import { z } from 'zod';
import { createAgent, defineTool, openSession, scriptedModel, textOf } from '../../../src/index.ts';
import { sqliteStore } from '../../../src/sqlite.ts';
import { crashPoints, modelWithCrashPoints, storeWithCrashPoints } from '../../../src/testing/crash-points.ts';

const [database = '', effects = '', crashAt = ''] = process.argv.slice(2);
const points = crashPoints(crashAt === '' ? {} : { crashAt: Number(crashAt) });
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({}),
  effect: 'idempotent',
  execute: (_, { idempotencyKey }) => {
    points.pass('before pay');
    appendFileSync(effects, `${idempotencyKey}\n`, { flush: true });
    points.pass('after pay');
    return 'paid';
  },
});
const agent = createAgent({
  name: 'payer',
  instructions: 'Pay.',
  tools: [pay],
  model: modelWithCrashPoints(
    scriptedModel(({ turn, messages }) =>
      turn === 1
        ? { toolCalls: [{ name: 'pay', arguments: {} }] }
        : `Done: ${textOf(messages.findLast(({ role }) => role === 'user') as never)}`,
    ),
    points,
  ),
});
const base = await sqliteStore(database);
const store = storeWithCrashPoints(base, points);
const session = await openSession({ store, id: 'session' });
const responses = [];
for (const id of ['m1', 'm2']) responses.push(await agent.run(session, `Pay ${id}.`, { id }));
writeSync(1, JSON.stringify({ responses, points: points.passed.length }));
await base.close();
