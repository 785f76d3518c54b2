import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CancelOptions } from '../../src/core/views/session-decisions.ts';
import type { EvaluationResponse } from '../../src/evaluate.ts';
import {
  type Model,
  memoryStore,
  openSession,
  type Session,
  type SessionEvent,
  type Store,
  scriptedModel,
} from '../../src/index.ts';
import { inputHash, paramsHash } from '../../src/loop/evaluate/evaluation-identity.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { agent, call, deferred, eventTypes, tool } from './agent.ts';

/** D73: an event stops an evaluation, from any handle and any process. */

const NEVER = new Promise<never>(() => {});

/** A model whose first response stops after one delta, until it is aborted; later ones are complete. */
function stuckModel(): { readonly model: Model; readonly spoke: Promise<void> } {
  const spoke = deferred();
  let parts = 0;
  const model = scriptedModel(() => 'half of it', {
    beforePart() {
      if (++parts !== 2) return undefined;
      spoke.resolve();
      return NEVER;
    },
  });
  return { model, spoke: spoke.promise };
}

/** A tool whose first run lasts until its signal aborts. */
function stuckTool(): {
  readonly work: ReturnType<typeof tool>;
  readonly began: Promise<void>;
  readonly aborted: () => number;
} {
  const began = deferred();
  let runs = 0;
  let aborted = 0;
  const work = tool(
    'work',
    (_, { signal }) => {
      if (++runs > 1) return 'done';
      signal.addEventListener('abort', () => void aborted++);
      began.resolve();
      return NEVER;
    },
    { effect: 'idempotent' },
  );
  return { work, began: began.promise, aborted: () => aborted };
}

/** The events of these types, in log order. */
async function logged(session: Session, ...types: readonly string[]): Promise<readonly SessionEvent[]> {
  await session.refresh();
  const events: SessionEvent[] = [];
  for await (const event of session.events({ types })) events.push(event);
  return events;
}

const another = (store: Store): Promise<Session> => openSession({ store, id: 'session' });

describe('a request from another handle', () => {
  test('aborts the model request, records the partial response, and suspends with CANCELLED', async () => {
    const { model, spoke } = stuckModel();
    const { evaluate, session, store } = await agent({ script: model });
    const running = evaluate();
    await spoke;
    await (await another(store)).cancel({ by: 'ada', reason: 'wrong file' });
    const message = 'it was cancelled by ada (wrong file); resume it to continue';
    const { evaluationId, ...response } = await running;
    expect(response).toMatchObject({ status: 'suspended', reason: 'CANCELLED', message, pending: [] });
    expect(await logged(session, 'evaluation/cancel-requested', 'message/interrupted', 'evaluation/suspended')).toEqual(
      [
        expect.objectContaining({ type: 'evaluation/cancel-requested', evaluationId, by: 'ada', reason: 'wrong file' }),
        expect.objectContaining({ blocks: [expect.objectContaining({ text: 'half ' })] }),
        expect.objectContaining({ reason: 'CANCELLED', message }),
      ],
    );
  });

  test('does not stop a later resume or a later evaluation', async () => {
    const { model, spoke } = stuckModel();
    const { evaluate, session, store } = await agent({ script: model });
    const running = evaluate();
    await spoke;
    await (await another(store)).cancel();
    const { evaluationId } = await running;
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', evaluationId, text: 'half of it' });
    expect(session.state.record.evaluations.get(evaluationId)?.cancelRequest).toBeUndefined();
    expect(await evaluate({ input: 'More.' })).toMatchObject({ status: 'completed' });
  });

  test("is overruled by resume: true, and not by 'auto'", async () => {
    const { model, spoke } = stuckModel();
    const { evaluate, session, store, requests } = await agent({ script: model });
    const running = evaluate({ resume: 'auto' });
    await spoke;
    await (await another(store)).cancel({ by: 'ada' });
    const { evaluationId } = await running;
    const { seq } = session;
    const stays = { status: 'suspended', reason: 'CANCELLED', evaluationId };
    expect(await evaluate({ resume: 'auto' })).toMatchObject(stays);
    expect({ seq: session.seq, requests: requests.length }).toEqual({ seq, requests: 1 });
    expect(await evaluate({ resume: 'auto', input: 'Something else.' })).toMatchObject({ status: 'completed' });
    expect(session.state.record.evaluations.get(evaluationId)?.status).toBe('superseded');
  });

  test('aborts the signal of a tool; the resume runs the tool again', async () => {
    const { work, began, aborted } = stuckTool();
    const { evaluate, store, results } = await agent({ script: [{ toolCalls: [call('work')] }, 'ok'], tools: [work] });
    const running = evaluate();
    await began;
    await (await another(store)).cancel();
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(aborted()).toBe(1);
    expect(results()).toEqual({});
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
  });

  test.for(['the parent', 'the child'] as const)(
    'stops a running child conversation, with the request for %s',
    async (named) => {
      const { evaluate, session, store, spoke } = await parentAndChild();
      const running = evaluate();
      await spoke;
      const [parent, child] = session.state.record.evaluations.items.toArray();
      const evaluationId = (named === 'the child' ? child : parent)?.id ?? '';
      await (await another(store)).cancel({ evaluationId });
      expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED', evaluationId: parent?.id });
      const ends = await logged(session, 'evaluation/suspended');
      expect(ends).toMatchObject([
        { evaluationId: child?.id, reason: 'CANCELLED' },
        { evaluationId: parent?.id, reason: 'CANCELLED' },
      ]);
      expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'half of it' });
      expect(session.state.record.evaluations.items.toArray()).toHaveLength(2);
    },
  );

  test('twice at once suspends the evaluation once', async () => {
    const { model, spoke } = stuckModel();
    const { evaluate, session, store } = await agent({ script: model });
    const running = evaluate();
    await spoke;
    const others = await Promise.all([another(store), another(store)]);
    await Promise.all(others.map((other, n) => other.cancel({ by: `person ${n}` })));
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(await logged(session, 'evaluation/suspended')).toHaveLength(1);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
  });

  test('that precedes the append of a response stops the calls of that response', async () => {
    const store = memoryStore();
    let runs = 0;
    const work = tool('work', () => `run ${++runs}`);
    const script = [{ toolCalls: [call('work')] }, 'ok'];
    const { evaluate, session } = await agent({
      script,
      tools: [work],
      store: meanwhile(store, 'evaluation/resumed', async () => (await another(store)).cancel()),
    });
    const stopped = await evaluate({ signal: AbortSignal.abort() });
    expect(stopped).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    // The request comes before the resume event, whose process had not read it.
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    const types = await eventTypes(session);
    expect(types.indexOf('evaluation/cancel-requested')).toBeLessThan(types.indexOf('evaluation/resumed'));
    expect(runs).toBe(0);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
    expect(runs).toBe(1);
  });
});

/** An agent whose tool runs a child conversation that stops in the middle of its first response. */
async function parentAndChild(store: Store = memoryStore()) {
  const { model, spoke } = stuckModel();
  const child = await agent({ script: model, store, key: 'child' });
  const ask = tool('ask', async (_, context) => (await context.evaluate(child.prompt, { input: 'go' })).text, {
    effect: 'idempotent',
  });
  const parents = { stream: (request: Parameters<Model['stream']>[0]) => script(request).stream(request) };
  const calls = scriptedModel([{ toolCalls: [call('ask')] }, 'half of it']);
  const script = ({ prompt }: Parameters<Model['stream']>[0]): Model => (prompt.key === 'child' ? model : calls);
  const parent = await agent({ script: { ...calls, ...parents }, store, tools: [ask] });
  return { ...parent, spoke };
}

/** A store that calls a function right before the first append that has an event of this type. */
function meanwhile(store: Store, type: string, act: () => Promise<void>): Store {
  let acted = false;
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== 'append') return value.bind(target);
      return async (...args: Parameters<Store['append']>) => {
        if (!acted && args[1].some((event) => event.type === type)) {
          acted = true;
          await act();
        }
        return target.append(...args);
      };
    },
  });
}

describe('an evaluation that no process runs', () => {
  test.for(['auto', true] as const)('carries out the request first, when resumed with %s', async (resume) => {
    const { evaluate, session, prompt, requests } = await agent({ script: ['ok'] });
    await session.append([
      {
        type: 'evaluation/started',
        evaluationId: 'e1',
        conversationId: 'main',
        promptNs: prompt.ns,
        promptKey: prompt.key,
        promptHash: prompt.hash,
        inputHash: inputHash({ input: 'Please.' }),
        paramsHash: paramsHash({}),
      },
    ]);
    await session.cancel({ by: 'ada' });
    expect(session.summary).toMatchObject({ status: 'running', work: 'evaluation' }); // a runner will record the suspension
    const stopped = { status: 'suspended', reason: 'CANCELLED', evaluationId: 'e1' };
    expect(await evaluate({ resume })).toMatchObject(stopped);
    expect(requests).toEqual([]);
    expect(await eventTypes(session)).toEqual([
      'evaluation/started',
      'evaluation/cancel-requested',
      'evaluation/suspended',
    ]);
    expect(session.summary?.work).toBeUndefined();
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', evaluationId: 'e1' });
  });

  test('and waits for approval is continued only by an explicit resume', async () => {
    const deploy = tool('deploy', () => 'deployed', { needsApproval: true });
    const { evaluate, session, store } = await agent({
      script: [{ toolCalls: [call('deploy')] }, 'ok'],
      tools: [deploy],
    });
    const { pending, evaluationId } = await evaluate();
    await (await another(store)).cancel({ by: 'ada' });
    await session.refresh();
    const { evaluations } = session.state.record;
    expect(evaluations.get(evaluationId)).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    for (const one of pending) await session.approve(one);
    expect(session.summary).toMatchObject({ status: 'suspended' });
    expect(session.summary?.work).toBeUndefined();
    expect(await evaluate({ resume: 'auto' })).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok', evaluationId });
  });

  test('and was cancelled right before it waited for approval is cancelled', async () => {
    const store = memoryStore();
    const deploy = tool('deploy', () => 'deployed', { needsApproval: true });
    const { evaluate, session } = await agent({
      script: [{ toolCalls: [call('deploy')] }, 'ok'],
      tools: [deploy],
      store: meanwhile(store, 'evaluation/suspended', async () => (await another(store)).cancel()),
    });
    const { reason, evaluationId, pending } = await evaluate();
    expect({ reason, waiting: pending.length }).toEqual({ reason: 'CANCELLED', waiting: 1 });
    expect(session.state.record.evaluations.get(evaluationId)?.reason).toBe('CANCELLED');
  });

  test('is cancelled in a session that its snapshot was restored into, and can be resumed there', async () => {
    const { model, spoke } = stuckModel();
    const { evaluate, session, store } = await agent({ script: model });
    const running = evaluate();
    await spoke;
    await (await another(store)).cancel();
    await running;
    const copy = await agent({ script: ['ok'], id: 'copy' });
    await copy.session.restore(session.snapshot());
    expect(await copy.evaluate({ resume: 'auto' })).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    expect(await copy.evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
  });
});

describe('a request that cannot be carried out is rejected, and nothing is appended', () => {
  const NOT_FOUND = 'CONVERSATION_NOT_FOUND';
  test.for([
    ['no evaluation is open', {}, NOT_FOUND],
    ['the evaluation has ended', { evaluationId: 'e1' }, NOT_FOUND],
    ['the evaluation does not exist', { evaluationId: 'e2' }, NOT_FOUND],
    ['the id is a name of every object', { evaluationId: '__proto__' }, NOT_FOUND],
    ['the id is no string', { evaluationId: 1 }, 'INVALID_ARGUMENT'],
    ['the reason is no string', { reason: { toString: () => 'x' } }, 'INVALID_ARGUMENT'],
    ['by is no string', { by: null }, 'INVALID_ARGUMENT'],
    ['an option does not exist', { evaluation: 'e1' }, 'INVALID_ARGUMENT'],
    ['the options are none', null, 'INVALID_ARGUMENT'],
  ] as const)('%s', async ([, options, code]) => {
    const { evaluate, session } = await agent({ script: ['ok'] });
    await evaluate({ evaluationId: 'e1' });
    const { seq } = session;
    await expect(session.cancel(options as CancelOptions)).rejects.toMatchObject({ code });
    expect(session.seq).toBe(seq);
  });

  test('a long reason is recorded in full and shown in part', async () => {
    const { model, spoke } = stuckModel();
    const { evaluate, session, store } = await agent({ script: model });
    const running = evaluate();
    await spoke;
    await (await another(store)).cancel({ reason: 'x'.repeat(100_000) });
    expect((await running).message?.length).toBeLessThan(1_000);
    expect(await logged(session, 'evaluation/cancel-requested')).toMatchObject([{ reason: 'x'.repeat(100_000) }]);
  });
});

describe('a request from another process', { timeout: 60_000 }, () => {
  async function database(): Promise<{ readonly path: string; readonly store: Store }> {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-cancel-'));
    const path = join(directory, 'store.db');
    const store = await sqliteStore(path);
    onTestFinished(async () => {
      await store.close();
      rmSync(directory, { recursive: true });
    });
    return { path, store };
  }

  const cancelFrom = async (path: string, options: CancelOptions): Promise<void> => {
    const program = join(import.meta.dirname, 'cancel-process.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [program, path, 'session', JSON.stringify(options)]);
    expect(stdout).toBe('requested\n');
  };

  async function cancelled(path: string, running: Promise<EvaluationResponse<unknown>>): Promise<void> {
    await cancelFrom(path, { by: 'another process' });
    const message = 'it was cancelled by another process; resume it to continue';
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED', message });
  }

  test('stops a streaming response', async () => {
    const { path, store } = await database();
    const { model, spoke } = stuckModel();
    const { evaluate, adapter, prompt, session } = await agent({ script: model, store });
    const running = adapter.evaluate(prompt, { session, input: 'Please.' }); // without a listener of its own
    await spoke;
    await cancelled(path, running);
    expect(await logged(session, 'message/interrupted')).toMatchObject([{ blocks: [{ text: 'half ' }] }]);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'half of it' });
  });

  test('stops a tool', async () => {
    const { path, store } = await database();
    const { work, began, aborted } = stuckTool();
    const script = [{ toolCalls: [call('work')] }, 'ok'];
    const { evaluate } = await agent({ script, tools: [work], store });
    const running = evaluate();
    await began;
    await cancelled(path, running);
    expect(aborted()).toBe(1);
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed', text: 'ok' });
  });

  test('stops a child conversation with its parent', async () => {
    const { path, store } = await database();
    const { evaluate, session, spoke } = await parentAndChild(store);
    const running = evaluate();
    await spoke;
    await cancelled(path, running);
    const open = session.state.record.evaluations.items.toArray();
    expect(open.map(({ status, reason }) => `${status} ${reason}`)).toEqual(Array(2).fill('suspended CANCELLED'));
    expect(await evaluate({ resume: true })).toMatchObject({ status: 'completed' });
  });
});
