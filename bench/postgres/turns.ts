/**
 * The same agent loop on the store and on LangGraph's `PostgresSaver`: turns with one tool call and a 1 KB result, a scripted model,
 * the same server, the same run.
 */
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import pg from 'pg';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { defineTool, openSession, type ScriptedTurn, scriptedModel } from '../../src/index.ts';
import { postgresStore } from '../../src/postgres.ts';
import { timed } from '../append/workload.ts';
import { atMost, type Figure, info } from '../figure.ts';

const RESULT = 'x'.repeat(1024);
const TURNS = [50, 200, 1000] as const;

interface Cost {
  readonly msPerTurn: number;
  readonly bytes: number;
}

/** The figures of the loop. */
export async function* turns(section: string, url: string): AsyncIterable<Figure> {
  await onHoldfast(url, 50);
  await onLangGraph(url, 20);
  for (const count of TURNS) {
    const own = await onHoldfast(url, count);
    const other = await onLangGraph(url, count);
    const size = ({ bytes }: Cost): string => `${(bytes / 1e6).toFixed(2)} MB`;
    yield atMost(
      section,
      `${count} turns: time per turn / LangGraph's PostgresSaver`,
      own.msPerTurn / other.msPerTurn,
      1,
      `${own.msPerTurn.toFixed(2)} ms against ${other.msPerTurn.toFixed(2)} ms`,
    );
    yield info(
      section,
      `${count} turns: bytes in the database / PostgresSaver`,
      own.bytes / other.bytes,
      `${size(own)} against ${size(other)}`,
    );
    yield info(section, `${count} turns: bytes per turn`, own.bytes / count);
  }
}

async function onHoldfast(url: string, count: number): Promise<Cost> {
  const schema = 'holdfast_bench_loop';
  const tool = defineTool({
    name: 'look',
    description: 'Returns at once',
    input: z.object({ path: z.string() }),
    effect: 'idempotent',
    execute: () => RESULT,
  });
  const prompt = definePrompt({ ns: 'bench', key: 'loop', instructions: 'Work.', tools: [tool] });
  const model = scriptedModel(
    ({ turn }): ScriptedTurn =>
      turn > count ? 'Done.' : { toolCalls: [{ name: 'look', arguments: { path: `src/file-${turn}.ts` } }] },
  );
  return measured(url, schema, count, async () => {
    const store = await postgresStore(url, { schema, backgroundIndexing: false });
    const session = await openSession({ store, id: 'bench' });
    const ms = await timed(() =>
      createAdapter({ model }).evaluate(prompt, { session, input: 'Go.', maxTurns: count + 1 }),
    );
    await session.close();
    await store.close();
    return ms;
  });
}

async function onLangGraph(url: string, count: number): Promise<Cost> {
  const schema = 'langgraph_bench_loop';
  let turn = 0;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', (): { messages: BaseMessage[] } => {
      turn++;
      const call = { id: `call-${turn}`, name: 'look', args: { path: `src/file-${turn}.ts` } };
      return { messages: [turn > count ? new AIMessage('Done.') : new AIMessage({ content: '', tool_calls: [call] })] };
    })
    .addNode('tools', (): { messages: BaseMessage[] } => ({
      messages: [new ToolMessage({ content: RESULT, tool_call_id: `call-${turn}` })],
    }))
    .addEdge(START, 'model')
    .addConditionalEdges('model', () => (turn > count ? END : 'tools'))
    .addEdge('tools', 'model');
  return measured(url, schema, count, async () => {
    const saver = PostgresSaver.fromConnString(url, { schema });
    await saver.setup();
    const agent = graph.compile({ checkpointer: saver });
    const ms = await timed(() =>
      agent.invoke(
        { messages: [new HumanMessage('Go.')] },
        { configurable: { thread_id: 'bench' }, recursionLimit: 4 * count, durability: 'sync' },
      ),
    );
    await saver.end();
    return ms;
  });
}

/** Runs a conversation in an empty schema, and measures what it leaves there. */
async function measured(url: string, schema: string, count: number, run: () => Promise<number>): Promise<Cost> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    const ms = await run();
    const { rows } = await client.query(
      `SELECT sum(pg_total_relation_size(c.oid))::float8 AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`,
      [schema],
    );
    await client.query(`DROP SCHEMA ${schema} CASCADE`);
    return { msPerTurn: ms / count, bytes: (rows[0] as { readonly bytes: number }).bytes };
  } finally {
    await client.end();
  }
}
