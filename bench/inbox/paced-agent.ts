/** An agent that streams at a fixed speed, and what it costs. */
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { defineTool, type Model, openSession, type Store } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { timed } from '../append/workload.ts';

const TURNS = 5;
const PIECES = 20;
export const PIECES_PER_SECOND = 50;

export interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Runs the agent in a store of its own. */
export async function runPacedAgent(database: string): Promise<Cost> {
  const store = await sqliteStore(database);
  try {
    return await runPacedSession(store);
  } finally {
    await store.close();
  }
}

/** Runs the agent in an open store. */
export async function runPacedSession(store: Store): Promise<Cost> {
  const session = await openSession({ store, id: 'session' });
  const note = defineTool({
    name: 'note',
    description: 'Notes',
    input: z.object({}),
    effect: 'idempotent',
    execute: () => 'noted',
  });
  const prompt = definePrompt({ ns: 'bench', key: 'readers', instructions: 'Work.', tools: [note] });
  const adapter = createAdapter({ model: pacedModel() });
  const before = process.cpuUsage();
  const ms = await timed(() => adapter.evaluate(prompt, { session, input: 'Go.' }));
  const { user, system } = process.cpuUsage(before);
  await session.close();
  return { ms, cpuMs: (user + system) / 1000 };
}

/** Streams this many pieces a second, calls a tool after each response, and ends after some turns. */
function pacedModel(): Model {
  return {
    provider: 'bench',
    modelId: 'paced',
    async *stream({ turn }) {
      const delta = 'eight words of text that are said aloud ';
      for (let i = 0; i < PIECES; i++) {
        await setTimeout(1000 / PIECES_PER_SECOND);
        yield { type: 'text-delta', blockId: 'text', delta };
      }
      const toolCalls = turn < TURNS ? [{ callId: `call_${turn}`, name: 'note', arguments: '{}' }] : [];
      yield { type: 'finish', response: { content: [{ type: 'text', text: delta.repeat(PIECES) }], toolCalls } };
    },
  };
}
