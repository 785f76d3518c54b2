import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import {
  clearToolResults,
  compose,
  type History,
  keepImportant,
  observe,
  passthrough,
  pin,
  slidingWindow,
  summarize,
  tokenBudget,
  truncateToolResults,
} from '../../src/history.ts';
import { defineTool, openSession, scriptedModel } from '../../src/index.ts';
import { Life, World } from '../loop/mortal.ts';

const TURNS = 8;
const LEASE_MS = 30_000;
const managers: readonly { readonly name: string; readonly make: () => History }[] = [
  { name: 'passthrough', make: () => passthrough() },
  { name: 'slidingWindow', make: () => slidingWindow({ size: 3 }) },
  { name: 'slidingWindow with low', make: () => slidingWindow({ size: 4, low: 2 }) },
  { name: 'truncateToolResults', make: () => truncateToolResults({ maxLength: 24, suffix: '…' }) },
  { name: 'clearToolResults', make: () => clearToolResults({ size: 3, low: 1 }) },
  { name: 'tokenBudget', make: () => tokenBudget({ max: 120 }) },
  { name: 'keepImportant', make: () => keepImportant({ size: 3, low: 2, score: (group) => group.length }) },
  { name: 'summarize', make: () => summarize({ size: 3, low: 1 }) },
  { name: 'summarize ahead', make: () => summarize({ size: 4, low: 3, ahead: 2 }) },
  { name: 'pin', make: () => compose(pin({ tools: ['work'], last: 2 }), slidingWindow({ size: 2 })) },
  { name: 'observe', make: () => observe(slidingWindow({ size: 3, low: 1 }), () => {}) },
  { name: 'compose', make: () => compose(truncateToolResults({ maxLength: 30 }), summarize({ size: 4, low: 2 })) },
];

/** One process of the agent, until it has finished or was killed; `asked` is called with every request. */
async function live(
  life: Life,
  history: History,
  asked: (turn: number, said: string) => void,
): Promise<'died' | 'done'> {
  const work = defineTool({
    name: 'work',
    description: 'Works',
    input: z.object({ turn: z.number() }),
    effect: 'idempotent',
    execute: async ({ turn }) => `worked on ${turn} and said a few words about it`,
  });
  const prompt = definePrompt({ ns: 'crash', key: 'history', instructions: 'Work.', tools: [work] });
  const model = scriptedModel(({ turn, messages, prompt: { ns } }) => {
    const said = JSON.stringify(messages.map(({ role, content }) => [role, content]));
    if (ns === 'holdfast') return `a summary of ${said.length} characters`;
    asked(turn, said);
    return turn > TURNS ? 'done' : { text: `turn ${turn}`, toolCalls: [{ name: 'work', arguments: { turn } }] };
  });
  const run = async (): Promise<'done'> => {
    const session = await openSession({ store: life.store, id: 'one', clock: life.clock });
    const adapter = createAdapter({ model, leaseTtlMs: LEASE_MS });
    const { status } = await adapter.evaluate(prompt, { session, input: 'Go.', resume: 'auto', history });
    expect(status).toBe('completed');
    return 'done';
  };
  return Promise.race([run(), life.died]);
}

describe.for(managers)('I3: with $name', ({ make }) => {
  test('a run with a crash at any write sends the same requests as an uninterrupted run', async () => {
    const expected = new Map<number, string>();
    const whole = new Life(new World());
    await live(whole, make(), (turn, said) => expected.set(turn, said));
    expect(expected.size).toBe(TURNS + 1);
    expect(whole.passed).toBeGreaterThan(2 * TURNS);
    for (let crashAt = 1; crashAt <= whole.passed; crashAt++) {
      const world = new World();
      const asked = new Map<number, string>();
      const onResponse = (turn: number, said: string): void => {
        expect(said).toBe(asked.get(turn) ?? said); // a repeated request is the same
        asked.set(turn, said);
      };
      expect(await live(new Life(world, crashAt), make(), onResponse)).toBe('died');
      world.clock.advance(LEASE_MS + 1); // the killed process's lease expires
      expect(await live(new Life(world), make(), onResponse)).toBe('done');
      expect(asked).toEqual(expected);
    }
  });
});
