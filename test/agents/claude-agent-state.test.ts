/** The adapter state of the Claude Agent SDK: when it is captured, how a resume uses it, and what validation rejects. */
import { afterEach, describe, expect, test } from 'vitest';
import { latestSnapshot } from '../../src/agents/adapter-states.ts';
import { CLAUDE_AGENT, type ClaudeAgentState, claudeSessionStore } from '../../src/claude-agent.ts';
import { adapterStates } from '../../src/core/views/session-view.ts';
import { diffAdapterStates, findResumableState, recoverSession } from '../../src/evaluate.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { openSession } from '../../src/session/session.ts';
import { echo, INPUT, prompt, ran, servers, stateIn, twoTurns, type World, world } from './support/claude-world.ts';
import { temporaryDirectory } from './support/temporary.ts';

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

describe('state', () => {
  test('D24, D25: captured at the start, after each tool and at the end, each superseding the one before', async () => {
    const { session, adapter, cwd } = await world({ main: twoTurns });
    const response = await adapter().evaluate(prompt, { session, input: INPUT });
    const snapshots = session.select(adapterStates).where((one) => one.state.adapterType === CLAUDE_AGENT);
    expect(snapshots.map(({ state }) => [state.messageCount, state.complete])).toEqual([
      [2, false],
      [2, false],
      [4, false],
      [5, false],
      [6, true],
    ]);
    expect(snapshots.map(({ supersedes }) => supersedes)).toEqual([
      undefined,
      ...snapshots.slice(0, -1).map(({ id }) => id),
    ]);
    expect(new Set(snapshots.map(({ evaluationId }) => evaluationId))).toEqual(new Set([response.evaluationId]));
    expect(response.adapterState).toMatchObject({
      workspacePath: cwd,
      promptNs: 'test',
      promptKey: 'echo',
      complete: true,
    });
    const [first, last] = [snapshots.at(0), snapshots.at(-1)];
    const changed = first && last && diffAdapterStates(first, last).changes.map(({ field }) => field);
    expect(changed).toEqual(expect.arrayContaining(['complete', 'costUsd', 'lastActivityAt', 'messageCount']));
    expect(changed).not.toContain('sessionId');
  });

  test.for([
    ['on-complete', 3],
    ['on-demand', 3],
    [{ periodic: 3_600_000 }, 3],
    ['on-tool-use', 5],
  ] as const)('checkpoint strategy %j captures %d times', async ([checkpoint, count]) => {
    const { session, adapter } = await world({ main: twoTurns });
    await adapter({ checkpoint }).evaluate(prompt, { session, input: INPUT });
    expect(session.select(adapterStates).where((one) => one.state.adapterType === CLAUDE_AGENT)).toHaveLength(count);
  });

  test('on demand captures when it is called, and captureState: false never', async () => {
    const { server, session, adapter, store } = await world({
      main: () => ({ said: 'done', hold: { name: 'now', at: 1 } }),
      quick: () => 'quick',
    });
    const mine = adapter({ checkpoint: 'on-demand' });
    const controller = new AbortController();
    const running = mine.evaluate(prompt, { session, input: INPUT, signal: controller.signal });
    await server.held('now');
    expect(await mine.capture(session)).toMatchObject({ resumable: true, state: { adapterType: CLAUDE_AGENT } });
    controller.abort();
    await running;
    expect(await mine.capture(session)).toBeUndefined();
    const other = await openSession({ store, id: 'two' });
    const response = await adapter({ captureState: false }).evaluate(prompt, {
      session: other,
      input: '[[script:quick]]',
    });
    expect(response.adapterState).toBeUndefined();
    expect(latestSnapshot(other, response.evaluationId, CLAUDE_AGENT)).toBeUndefined();
  });

  test('D26: a completed evaluation is not resumable through an older snapshot', async () => {
    const { session, adapter } = await world({ main: twoTurns });
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const open = findResumableState(session, CLAUDE_AGENT);
    expect(open).toMatchObject({ complete: false });
    expect(findResumableState(session, CLAUDE_AGENT, { ns: 'test', key: 'other' })).toBeUndefined();
    expect(findResumableState(session, 'opencode')).toBeUndefined();
    await adapter().evaluate(prompt, { session, resume: true });
    expect(findResumableState(session, CLAUDE_AGENT)).toBeUndefined();
    if (!open) throw new Error('there was no state');
    await expect(adapter().evaluate(prompt, { session, resume: { adapterState: open } })).rejects.toMatchObject({
      code: 'ADAPTER_STATE_INVALID',
    });
  });

  test('D28: a fork does not change the original; fork: false appends to it', async () => {
    const { session, store, adapter } = await world({ main: twoTurns });
    const sessions = claudeSessionStore(store);
    const load = async (sessionId: string): Promise<readonly unknown[]> =>
      (await sessions.load({ projectKey: '', sessionId })) ?? [];
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const original = stateIn(session).sessionId;
    const before = await load(original);
    await adapter().evaluate(prompt, { session, resume: true });
    const fork = stateIn(session).sessionId;
    expect(fork).not.toBe(original);
    expect(await load(original)).toEqual(before);
    expect((await load(fork)).length).toBeGreaterThan(before.length);

    const other = await openSession({ store, id: 'two' });
    await adapter().evaluate(prompt, { session: other, input: INPUT, maxTurns: 1 });
    const kept = stateIn(other).sessionId;
    const lines = await load(kept);
    await adapter({ fork: false }).evaluate(prompt, { session: other, resume: true });
    expect(stateIn(other).sessionId).toBe(kept);
    const after = await load(kept);
    expect(after.slice(0, lines.length)).toEqual(lines);
    expect(after.length).toBeGreaterThan(lines.length);
  });

  test('D28: the continuation text is an option, and is recorded', async () => {
    const { server, session, adapter } = await world({ main: twoTurns });
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    await adapter({ continuation: 'On with it.' }).evaluate(prompt, { session, resume: true });
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain('On with it.');
    expect(
      session
        .messages()
        .filter((message) => message.role === 'user')
        .at(-1),
    ).toMatchObject({ content: [{ text: 'On with it.' }] });
  });

  test('D50: a new evaluation may continue the conversation of a completed one', async () => {
    const { server, session, adapter } = await world({ main: twoTurns, more: ({ turn }) => `more ${turn}` });
    await adapter().evaluate(prompt, { session, input: INPUT });
    const response = await adapter().evaluate(prompt, { session, input: '[[script:more]] and?', continues: true });
    expect(response.text).toBe('more 1');
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
    expect(server.refusals).toEqual([]);
  });

  test('autoResume continues an open evaluation, and starts a new one when there is none', async () => {
    const { session, adapter } = await world({ main: twoTurns });
    const auto = adapter({ autoResume: true });
    const first = await auto.evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const second = await auto.evaluate(prompt, { session, input: INPUT });
    expect(second).toMatchObject({ status: 'completed', evaluationId: first.evaluationId });
    const third = await auto.evaluate(prompt, { session, input: INPUT });
    expect(third.evaluationId).not.toBe(first.evaluationId);
    const fourth = await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    expect((await adapter().evaluate(prompt, { session, input: INPUT })).evaluationId).not.toBe(fourth.evaluationId);
  });

  test('recoverSession continues from the newest state, in one call', async () => {
    const { session, store, adapter } = await world({ main: twoTurns });
    const { evaluationId } = await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const response = await recoverSession({ adapter: adapter(), prompt, store, sessionId: session.id, input: INPUT });
    expect(response).toMatchObject({ status: 'completed', evaluationId, text: 'done 2' });
    const fresh = await recoverSession({ adapter: adapter(), prompt, store, sessionId: 'new', input: INPUT });
    expect(fresh).toMatchObject({ status: 'completed' });
  });

  test('a session restored elsewhere from its snapshot resumes the agent in the store', async () => {
    const { session, store, server, adapter } = await world({ main: twoTurns });
    const { evaluationId } = await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    const snapshot = JSON.stringify(session.snapshot());
    const response = await recoverSession({
      adapter: adapter(),
      prompt,
      store,
      sessionId: 'copy',
      snapshot,
      input: INPUT,
    });
    expect(response).toMatchObject({ status: 'completed', evaluationId, text: 'done 2' });
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
  });
});

describe('D29: validation', () => {
  const changed = definePrompt({ ns: 'test', key: 'echo', instructions: 'You echo loudly.', tools: [echo] });
  const other = definePrompt({ ns: 'test', key: 'other', instructions: 'You echo.', tools: [echo] });
  const suspended = async (): Promise<World & { readonly adapterState: ClaudeAgentState }> => {
    const made = await world({ main: twoTurns });
    await made.adapter().evaluate(prompt, { session: made.session, input: INPUT, maxTurns: 1 });
    return { ...made, adapterState: stateIn(made.session) };
  };
  const old = (state: ClaudeAgentState): ClaudeAgentState => ({ ...state, lastActivityAt: '2020-01-01T00:00:00.000Z' });

  test('strict rejects another workspace, a changed prompt, an old state and a complete one', async () => {
    const { session, store, adapter, adapterState } = await suspended();
    const resume = { adapterState };
    const elsewhere = temporaryDirectory('elsewhere');
    await expect(adapter({ cwd: elsewhere }).evaluate(prompt, { session, resume })).rejects.toMatchObject({
      code: 'ADAPTER_STATE_INVALID',
    });
    await expect(adapter({ cwd: elsewhere }).evaluate(prompt, { session, resume: true })).rejects.toMatchObject({
      code: 'ADAPTER_STATE_INVALID',
    });
    await expect(adapter().evaluate(changed, { session, resume })).rejects.toMatchObject({ code: 'PROMPT_MISMATCH' });
    await expect(adapter().evaluate(other, { session, resume })).rejects.toMatchObject({ code: 'PROMPT_MISMATCH' });
    await expect(adapter({ maxAge: 0 }).evaluate(prompt, { session, resume })).rejects.toMatchObject({
      code: 'SESSION_EXPIRED',
    });
    await expect(adapter({ maxAge: 0 }).evaluate(prompt, { session, resume: true })).rejects.toMatchObject({
      code: 'SESSION_EXPIRED',
    });
    const empty = await openSession({ store, id: 'two' });
    await expect(
      adapter().evaluate(prompt, { session: empty, resume: { adapterState: old(adapterState) } }),
    ).rejects.toMatchObject({ code: 'SESSION_EXPIRED' });
    await expect(
      adapter().evaluate(prompt, { session: empty, resume: { adapterState: { ...adapterState, complete: true } } }),
    ).rejects.toMatchObject({ code: 'ADAPTER_STATE_INVALID' });
    expect(await adapter().evaluate(prompt, { session, resume })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
  });

  test('relaxed accepts another workspace, a changed prompt and an old state, but no complete one; none accepts that, too', async () => {
    const { session, store, adapter, adapterState, server } = await suspended();
    const empty = await openSession({ store, id: 'two' });
    const complete = { ...adapterState, complete: true };
    await expect(
      adapter({ resumeValidation: 'relaxed' }).evaluate(prompt, { session: empty, resume: { adapterState: complete } }),
    ).rejects.toMatchObject({ code: 'ADAPTER_STATE_INVALID' });
    const none = await adapter({ resumeValidation: 'none' }).evaluate(prompt, {
      session: empty,
      resume: { adapterState: complete },
      input: 'Go on.',
    });
    expect(none).toMatchObject({ status: 'completed', text: 'done 2' });
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
    const cwd = temporaryDirectory('elsewhere');
    const relaxed = adapter({ resumeValidation: 'relaxed', cwd, maxAge: 0 });
    expect(await relaxed.evaluate(changed, { session, resume: { adapterState } })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
  });

  test("onInvalid: 'restart' starts again, and the open evaluation is superseded", async () => {
    const { session, adapter } = await suspended();
    const before = session.summary?.evaluationId;
    const response = await adapter({ maxAge: 0, onInvalid: 'restart' }).evaluate(prompt, {
      session,
      input: INPUT,
      resume: true,
    });
    expect(response).toMatchObject({ status: 'completed', text: 'done 2' });
    expect(response.evaluationId).not.toBe(before);
    expect(session.state.record.evaluations.get(before ?? '')?.status).toBe('superseded');
    expect(ran).toEqual(['a', 'b', 'a', 'b']);
  });

  test('D25: a state of another kind, a damaged one, one that is too large and one of an unknown session are rejected', async () => {
    const { session, adapter, adapterState } = await suspended();
    const refused = (state: Record<string, unknown>, code: string): Promise<void> =>
      expect(
        adapter().evaluate(prompt, { session, resume: { adapterState: { ...adapterState, ...state } } }),
      ).rejects.toMatchObject({ code });
    await refused({ adapterType: 'opencode' }, 'ADAPTER_STATE_INVALID');
    await refused({ sessionId: 7 }, 'ADAPTER_STATE_INVALID');
    await refused({ lastActivityAt: 'yesterday' }, 'ADAPTER_STATE_INVALID');
    await refused({ note: 'x'.repeat(20_000) }, 'ADAPTER_STATE_INVALID');
    await refused({ sessionId: '00000000-0000-4000-8000-000000000000' }, 'SESSION_NOT_FOUND');
  });
});
