/** An adapter whose agent has state of its own: captured, found after a crash, resumed from, compared and composed. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AdapterStateSnapshot } from '../../src/core/log/adapter-state.ts';
import {
  type AdapterState,
  composeAdapterStates,
  createAdapter,
  defineAdapterState,
  definePrompt,
  diffAdapterStates,
  type EvaluateOptions,
  type EvaluationResponse,
  findCompositeState,
  findResumableState,
  type Prompt,
  recoverSession,
  type StatefulAdapter,
} from '../../src/evaluate.ts';
import { type AnySession, adapterStates, memoryStore, openSession, scriptedModel } from '../../src/index.ts';

const NOTEBOOK = 'notebook';
const notebookState = defineAdapterState({
  adapterType: NOTEBOOK,
  schema: z.object({
    adapterType: z.literal(NOTEBOOK),
    notebookId: z.string(),
    evaluationId: z.string(),
    promptNs: z.string(),
    promptKey: z.string(),
    messageCount: z.number(),
    complete: z.boolean(),
  }),
  resumable: (state) => state.notebookId !== '' && !state.complete,
});

/** An agent that writes a notebook outside the log. Its adapter captures the notebook's id at the start and at the end. */
function notebookAdapter(notebooks: Map<string, string[]>, dies = false): StatefulAdapter {
  const model = createAdapter({ model: scriptedModel(['Written.']) });

  async function capture(session: AnySession, notebookId: string, complete: boolean): Promise<AdapterStateSnapshot> {
    const evaluation = session.latestEvaluation();
    if (!evaluation) throw new Error('nothing to capture');
    const { id: evaluationId, promptNs, promptKey, nextSequence: messageCount } = evaluation;
    const fields = { notebookId, evaluationId, promptNs, promptKey, messageCount, complete };
    const state = notebookState.parse({ adapterType: NOTEBOOK, ...fields });
    const id = `${notebookId}:${messageCount}:${complete}`;
    const resumable = notebookState.resumable(state);
    const snapshot = { id, evaluationId, state, resumable, capturedAt: new Date().toISOString() };
    await session.append([{ type: 'adapter/captured', snapshot }]);
    return snapshot;
  }

  async function evaluate<Output>(
    prompt: Prompt<Output>,
    { session, resume, ...rest }: EvaluateOptions = {},
  ): Promise<EvaluationResponse<Output>> {
    if (!session) throw new Error('a notebook needs a session');
    const from =
      typeof resume === 'object' && 'adapterState' in resume ? notebookState.parse(resume.adapterState) : undefined;
    const notebookId = from?.notebookId ?? `notebook-${notebooks.size + 1}`;
    notebooks.set(notebookId, [...(notebooks.get(notebookId) ?? []), from ? 'continued' : 'begun']);
    let captured: Promise<unknown> | undefined;
    const response = await model.evaluate(prompt, {
      ...rest,
      session,
      resume: from ? { evaluationId: from.evaluationId } : (resume ?? false),
      signal: AbortSignal.any(dies ? [AbortSignal.abort()] : []),
      onEvent: (event) => {
        if (event.type === 'evaluation/started')
          captured = Promise.resolve().then(() => capture(session, notebookId, false));
      },
    });
    await captured;
    if (response.status !== 'completed') return response;
    const { state } = await capture(session, notebookId, true);
    return { ...response, adapterState: state };
  }

  return {
    adapterType: NOTEBOOK,
    evaluate,
    stream: () => {
      throw new Error('a notebook does not stream');
    },
    run: () => {
      throw new Error('a notebook is evaluated');
    },
    capture: async () => undefined,
  };
}

const prompt = definePrompt({ ns: 'books', key: 'write', instructions: 'Write.' });

test("after a crash another worker restores the session and continues the agent's own session", async () => {
  const notebooks = new Map<string, string[]>();
  const first = await openSession({ store: memoryStore(), id: 'job' });
  await notebookAdapter(notebooks, true).evaluate(prompt, { session: first, input: 'Begin.' });
  const saved = JSON.stringify(first.snapshot());
  expect(findResumableState(first, NOTEBOOK)).toMatchObject({ notebookId: 'notebook-1', complete: false });
  expect(findResumableState(first, 'other')).toBeUndefined();

  const store = memoryStore();
  const adapter = notebookAdapter(notebooks);
  const response = await recoverSession({ adapter, prompt, store, sessionId: 'job', snapshot: saved });
  expect(response).toMatchObject({ status: 'completed', text: 'Written.' });
  expect(response.adapterState).toMatchObject({ notebookId: 'notebook-1', complete: true });
  expect([...notebooks]).toEqual([['notebook-1', ['begun', 'continued']]]);
});

test('without a resumable state the session starts fresh, and a completed one is never resumed (D26)', async () => {
  const notebooks = new Map<string, string[]>();
  const store = memoryStore();
  const adapter = notebookAdapter(notebooks);
  const options = { adapter, prompt, store, sessionId: 'job', input: 'Begin.' };
  expect(await recoverSession(options)).toMatchObject({ status: 'completed' });
  const session = await openSession({ store, id: 'job' });
  expect(session.select(adapterStates).all()).toHaveLength(2);
  expect(findResumableState(session, NOTEBOOK)).toBeUndefined();
  expect(notebooks.size).toBe(1);
});

test('an adapter that stores everything in the log is recovered from the log', async () => {
  const store = memoryStore();
  const adapter = createAdapter({ model: scriptedModel(['Done.']) });
  const first = await openSession({ store, id: 'job' });
  await adapter.evaluate(prompt, { session: first, input: 'Begin.', signal: AbortSignal.abort() });
  const { id } = first.latestEvaluation() ?? {};
  const response = await recoverSession({ adapter, prompt, store, sessionId: 'job', input: 'Begin.' });
  expect(response).toMatchObject({ status: 'completed', evaluationId: id, text: 'Done.' });
});

test('two captures are compared field by field, and a state that contains a conversation is rejected', async () => {
  const notebooks = new Map<string, string[]>();
  const session = await openSession({ store: memoryStore(), id: 'job' });
  await notebookAdapter(notebooks).evaluate(prompt, { session, input: 'Begin.' });
  const [before, after] = session.select(adapterStates).all();
  const { changes, sameAdapter } = diffAdapterStates(before as AdapterStateSnapshot, after as AdapterStateSnapshot);
  expect(sameAdapter).toBe(true);
  expect(changes.map(({ field }) => field)).toContain('complete');
  const huge: AdapterState = { ...(after as AdapterStateSnapshot).state, notebookId: 'x'.repeat(20_000) };
  expect(() => notebookState.parse(huge)).toThrow(expect.objectContaining({ code: 'ADAPTER_STATE_INVALID' }));
});

test('the states of several adapters of one session form one composite', async () => {
  const session = await openSession({ store: memoryStore(), id: 'job' });
  await notebookAdapter(new Map(), true).evaluate(prompt, { session, input: 'Begin.' });
  const painter = { adapterType: 'painter', canvas: 'c1' };
  const snapshot = { id: 'p1', evaluationId: 'ev_painter', state: painter, resumable: true, capturedAt: '' };
  await session.dispatch({ type: 'adapter/captured', snapshot });
  const notebook = findResumableState(session, NOTEBOOK) as AdapterState;
  expect(findCompositeState(session)).toEqual(composeAdapterStates([notebook, painter]));
});
