import { describe, expect, test } from 'vitest';
import type { EvaluateOptions } from '../../src/evaluate.ts';
import { type Model, openSession, parseSnapshot } from '../../src/index.ts';
import { logIn } from '../session/log-of.ts';
import { type Agent, type AgentOptions, agent } from './agent.ts';

const metadata = {
  other: { safety: [{ category: 'none', score: 0.1 }], headers: { authorization: 'Bearer x1234567' } },
};
const model: Model = {
  provider: 'other',
  modelId: 'm',
  async *stream() {
    const content = [{ type: 'text', text: 'done' }] as const;
    yield { type: 'finish', response: { content, toolCalls: [], providerMetadata: metadata } };
  },
};

async function run(adapter: AgentOptions['adapter'], options: EvaluateOptions = {}): Promise<Agent> {
  const one = await agent({ script: model, ...(adapter && { adapter }) });
  await one.evaluate(options);
  return one;
}
const recorded = ({ session }: Agent): unknown => session.messages().at(-1)?.providerMetadata;

describe('provider metadata of a response (D16, D68)', () => {
  test('it is not recorded by default', async () => {
    expect(recorded(await run({}))).toBeUndefined();
    expect(recorded(await run({ recordProviderMetadata: false }))).toBeUndefined();
  });

  test('it is recorded with the message, without secrets, and is part of the turn', async () => {
    const one = await run({ recordProviderMetadata: true });
    const expected = {
      other: { safety: [{ category: 'none', score: 0.1 }], headers: { authorization: '[redacted secret-field]' } },
    };
    expect(recorded(one)).toEqual(expected);
    expect(one.session.turns()[0]?.providerPayload).toEqual(expected);
    const reopened = await openSession({ store: one.store, id: one.session.id });
    expect(reopened.turns()[0]?.providerPayload).toEqual(expected);
    const elsewhere = await openSession({ store: one.store, id: 'elsewhere' });
    await elsewhere.restore(parseSnapshot(JSON.stringify(one.session.snapshot())));
    expect(elsewhere.turns()[0]?.providerPayload).toEqual(expected);
  });

  test("the option of evaluate overrides the adapter's", async () => {
    expect(recorded(await run({}, { recordProviderMetadata: true }))).toBeDefined();
    expect(recorded(await run({ recordProviderMetadata: true }, { recordProviderMetadata: false }))).toBeUndefined();
  });

  test('an entry that exceeds the limit is replaced by its length', async () => {
    const one = await run({ recordProviderMetadata: { maxLength: 20 } });
    expect(recorded(one)).toEqual({ other: { omittedLength: expect.any(Number) } });
  });

  test('erasing the message erases its metadata', async () => {
    const one = await run({ recordProviderMetadata: true });
    expect(recorded(one)).toBeDefined();
    await one.session.eraseMessage(one.session.messages().at(-1)?.id ?? '');
    expect(recorded(one)).toBeUndefined();
    expect(JSON.stringify(await logIn(one.store, one.session.id))).not.toContain('safety');
  });
});
