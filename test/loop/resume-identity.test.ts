import { describe, expect, test } from 'vitest';
import { memoryStore, type NewEvent, type ScriptedTurn, type Store } from '../../src/index.ts';
import { agent, call, said, tool } from './agent.ts';

const ask = tool('ask', () => 'yes', { needsApproval: true });
/** The first evaluation of a session waits for a person after its first turn. */
const waiting: readonly ScriptedTurn[] = [{ toolCalls: [call('ask')] }, 'ok'];
const report = { script: ['the report'], instructions: 'Report on {{month}}.' };
const openReport = { script: waiting, instructions: 'Report on {{month}}.', tools: [ask] };
const month = (name: string): { readonly params: { readonly month: string } } => ({ params: { month: name } });

describe('D64: resume: "auto" compares params', () => {
  test('other params after the end start a new evaluation: another month is another report', async () => {
    const { session, evaluate, requests } = await agent(report);
    const may = await evaluate({ resume: 'auto', ...month('May') });
    const june = await evaluate({ resume: 'auto', ...month('June') });
    expect(june.evaluationId).not.toBe(may.evaluationId);
    expect(said(session, june.evaluationId)[0]).toBe('system: Report on June.');
    expect(requests).toHaveLength(2);
    expect(await evaluate({ resume: 'auto', ...month('June') })).toEqual(june);
    expect(requests).toHaveLength(2);
  });

  test('other params while it is open are PROMPT_MISMATCH, and nothing changes', async () => {
    const { session, evaluate, requests } = await agent(openReport);
    await evaluate({ resume: 'auto', ...month('May') });
    const { seq } = session;
    await expect(evaluate({ resume: 'auto', ...month('June') })).rejects.toMatchObject({
      code: 'PROMPT_MISMATCH',
      message: expect.stringMatching(/other params.*resume: true/),
    });
    expect(session.seq).toBe(seq);
    expect(requests).toHaveLength(1);
    expect(await evaluate({ resume: 'auto', ...month('May') })).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
  });

  test.for([true, 'id'] as const)('%s ignores params: a date does not break a resume (D4)', async (how) => {
    const { session, evaluate } = await agent(openReport);
    const { evaluationId } = await evaluate({ resume: 'auto', ...month('May') });
    const resume = how === 'id' ? { evaluationId } : how;
    expect(await evaluate({ resume, ...month('June') })).toMatchObject({ evaluationId, reason: 'APPROVAL_REQUIRED' });
    expect(said(session)[0]).toBe('system: Report on May.');
  });

  test('params are compared by their text, in any order', async () => {
    const { evaluate, requests } = await agent({ script: ['hi'], instructions: '{{a}} {{b}}' });
    await evaluate({ resume: 'auto', params: { a: 1, b: new Date(0) } });
    await evaluate({ resume: 'auto', params: { b: new Date(0), a: '1', c: undefined } });
    expect(requests).toHaveLength(1);
  });

  test('other input supersedes an open evaluation, with any params (D2)', async () => {
    const { session, evaluate } = await agent(openReport);
    await evaluate({ resume: 'auto', ...month('May') });
    await evaluate({ resume: 'auto', input: 'Something else.', ...month('June') });
    expect(session.state.record.evaluations.items.map(({ status }) => status)).toEqual(['superseded', 'suspended']);
  });

  test('an evaluation without recorded params is compared by its input alone', async () => {
    const store = memoryStore();
    const append = store.append.bind(store);
    store.append = (id, events, options) => append(id, events.map(withoutParams), options);
    const { evaluate, requests } = await agent({ ...openReport, store });
    await evaluate({ resume: 'auto', ...month('May') });
    const second = await agent({ ...openReport, store });
    expect(second.session.latestEvaluation()?.paramsHash).toBeUndefined();
    expect(await second.evaluate({ resume: 'auto', ...month('June') })).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
    expect(requests).toHaveLength(1);
    expect(second.requests).toEqual([]);
  });
});

function withoutParams(event: NewEvent): NewEvent {
  const { paramsHash: _, ...rest } = event as NewEvent & { readonly paramsHash?: string };
  return rest as NewEvent;
}

describe('D64: resume: "auto" while an evaluation of another prompt is open', () => {
  async function openUnder(key: string): Promise<Store> {
    const { evaluate, store } = await agent({ script: waiting, tools: [ask], key });
    await evaluate({ resume: 'auto' });
    return store;
  }

  test('a renamed prompt is PROMPT_MISMATCH that names both, instead of a second run', async () => {
    const store = await openUnder('old-name');
    const { session, evaluate, requests } = await agent({ script: waiting, tools: [ask], key: 'new-name', store });
    const { seq } = session;
    await expect(evaluate({ resume: 'auto' })).rejects.toMatchObject({
      code: 'PROMPT_MISMATCH',
      message: expect.stringMatching(/test\/old-name.*test\/new-name/),
    });
    expect(session.seq).toBe(seq);
    expect(requests).toEqual([]);
    expect(await evaluate({ resume: false })).toMatchObject({ reason: 'APPROVAL_REQUIRED' }); // explicitly new
  });

  test('an older open one is checked, too, before a new evaluation starts', async () => {
    const store = await openUnder('old-name');
    const { evaluate } = await agent({ script: ['hi'], key: 'new-name', store });
    const first = await evaluate();
    expect(await evaluate({ resume: 'auto' })).toEqual(first); // returns the recorded response
    await expect(evaluate({ resume: 'auto', input: 'More.' })).rejects.toMatchObject({ code: 'PROMPT_MISMATCH' });
  });

  test('one that has ended, was superseded or belongs to a child is not checked', async () => {
    const store = memoryStore();
    const done = await agent({ script: ['hi'], key: 'done', store });
    await done.evaluate();
    const messages = await agent({ script: ['hi'], key: 'imported', store });
    await messages.session.append([
      {
        type: 'message/recorded',
        message: {
          id: 'm1',
          evaluationId: 'imported',
          conversationId: 'main',
          sequence: 0,
          turn: 0,
          promptNs: 'elsewhere',
          promptKey: 'chat',
          createdAt: new Date(0).toISOString(),
          role: 'user',
          content: [{ type: 'text', text: 'imported' }],
        },
      },
    ]);
    const { evaluate } = await agent({ script: ['hello'], key: 'new-name', store });
    expect(await evaluate({ resume: 'auto' })).toMatchObject({ status: 'completed', text: 'hello' });
    expect(await evaluate({ resume: 'auto', input: 'More.' })).toMatchObject({ status: 'completed' });
  });
});

describe('D64: a key names one input', () => {
  test.for([
    ['completed', { script: ['hi'] }],
    ['open', { script: waiting, tools: [ask] }],
  ] as const)('the same key with other input is KEY_REUSED when it is %s', async ([, options]) => {
    const { session, evaluate, requests } = await agent(options);
    await evaluate({ resume: 'auto', key: 'm1', input: 'one' });
    const { seq } = session;
    await expect(evaluate({ resume: 'auto', key: 'm1', input: 'two' })).rejects.toMatchObject({
      code: 'KEY_REUSED',
      message: expect.stringContaining('"m1"'),
    });
    expect(session.seq).toBe(seq);
    expect(requests).toHaveLength(1);
  });

  test('a key that is not the newest returns its recorded response: a repeated message is not run twice', async () => {
    const { evaluate, requests } = await agent({ script: ['hi'] });
    const first = await evaluate({ resume: 'auto', key: 'm1', input: 'one' });
    await evaluate({ resume: 'auto', key: 'm2', input: 'two' });
    expect(await evaluate({ resume: 'auto', key: 'm1', input: 'one' })).toEqual(first);
    await expect(evaluate({ resume: 'auto', key: 'm1', input: 'two' })).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect(requests).toHaveLength(2);
  });
});

describe('D64: continues with "auto"', () => {
  test('without a key is INVALID_ARGUMENT: the second "ok" of a chat would be dropped', async () => {
    const { session, evaluate } = await agent({ script: ['hi'] });
    await expect(evaluate({ resume: 'auto', continues: true, input: 'ok' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/continues.*key/),
    });
    expect(session.seq).toBe(0);
  });

  test('with a key each "ok" is recorded once', async () => {
    const { session, evaluate, requests } = await agent({ script: ['hi'] });
    for (const key of ['m1', 'm2', 'm2']) await evaluate({ resume: 'auto', continues: true, input: 'ok', key });
    expect(requests).toHaveLength(2);
    expect(said(session).filter((line) => line === 'user: ok')).toHaveLength(2);
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  });

  test('continues: false needs no key', async () => {
    const { evaluate } = await agent({ script: ['hi'] });
    expect(await evaluate({ resume: 'auto', continues: false })).toMatchObject({ status: 'completed' });
  });
});
