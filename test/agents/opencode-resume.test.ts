/** OpenCode after an error, in a fork and after its host was killed. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentProcessState } from '../../src/agents/agent-process.ts';
import { adapterStates } from '../../src/core/views/session-view.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../src/loop/define/define-tool.ts';
import { OPENCODE, type OpenCodeOptions, openCodeAdapter } from '../../src/opencode.ts';
import { isDead, thisProcess } from '../../src/session/process-identity.ts';
import { openSession, type Session } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { openCodeOptions } from './support/opencode.ts';
import { INPUT, place, prompt, servers } from './support/opencode-place.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { effectsIn, until, workPrompt } from './support/work.ts';

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const latest = (session: Session, adapterType: string): Record<string, unknown> =>
  session
    .select(adapterStates)
    .where((one) => one.state.adapterType === adapterType)
    .at(-1)?.state ?? {};

describe('OpenCode, when something fails or is resumed', () => {
  test('a missing program or directory is a typed error, and so is a tool with the name of a built-in one', async () => {
    const { server, home, cwd } = await place({});
    const options = openCodeOptions({ url: server.url, home, cwd });
    const evaluate = async (given: OpenCodeOptions, asked = prompt): Promise<unknown> => {
      const session = await openSession({ store: memoryStore(), id: 'one' });
      return openCodeAdapter(given).evaluate(asked, { session, input: INPUT });
    };
    await expect(evaluate({ ...options, command: 'no-such-opencode' })).rejects.toMatchObject({
      code: 'DEPENDENCY_MISSING',
      message: expect.stringContaining('no-such-opencode'),
    });
    await expect(evaluate({ ...options, cwd: join(cwd, 'gone') })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('gone'),
    });
    const read = defineTool({ name: 'read', description: 'Reads', input: z.object({}), execute: () => '' });
    const reading = definePrompt({ ns: 'test', key: 'read', instructions: 'Read.', tools: [read] });
    await expect(evaluate(options, reading)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('D28: a resume forks by default; an unknown session is a typed error, or a fresh start', async () => {
    const { server, home, cwd } = await place({
      main: ({ turn }) =>
        turn === 1
          ? { toolCalls: [{ name: 'holdfast_echo', arguments: { text: 'a' }, id: 'toolu_a' }] }
          : { said: 'done', hold: { name: 'answer', at: 0 } },
    });
    const session = await openSession({ store: memoryStore(), id: 'one' });
    const options = openCodeOptions({ url: server.url, home, cwd });
    const controller = new AbortController();
    const running = openCodeAdapter(options).evaluate(prompt, { session, input: INPUT, signal: controller.signal });
    await server.held('answer');
    controller.abort();
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    const original = latest(session, OPENCODE).sessionId;
    const elsewhere = openCodeOptions({ url: server.url, home: temporaryDirectory('other'), cwd });
    await expect(openCodeAdapter(elsewhere).evaluate(prompt, { session, resume: true })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    });
    expect(await openCodeAdapter(options).evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done',
    });
    expect(latest(session, OPENCODE).sessionId).not.toBe(original);
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
    expect(server.refusals).toEqual([]);
  });

  test('I2, D18: after the host is killed in a once tool, the call waits for a person, runs once, and no orphan is left', async () => {
    const { server, directory, home, cwd } = await place({
      main: ({ turn }) =>
        turn === 1
          ? { toolCalls: [{ name: 'holdfast_note', arguments: { text: 'a' }, id: 'toolu_note' }] }
          : turn === 2
            ? { toolCalls: [{ name: 'holdfast_pay', arguments: { text: 'x' }, id: 'toolu_pay' }] }
            : 'done',
    });
    const db = join(directory, 'log.db');
    const store = await sqliteStore(db);
    const session = await openSession({ store, id: 'work' });
    const host = spawn(
      process.execPath,
      [
        join(import.meta.dirname, 'support', 'opencode-host.ts'),
        JSON.stringify({ db, directory, url: server.url, home, cwd, input: INPUT }),
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    try {
      const exited = new Promise<void>((resolve) => host.once('exit', () => resolve()));
      await until(() => effectsIn(directory).includes('pay x'));
      host.kill('SIGKILL');
      await exited;
      await session.refresh();
      const orphan = latest(session, 'agent-process') as AgentProcessState;
      const adapter = openCodeAdapter(openCodeOptions({ url: server.url, home, cwd }));
      const unknown = await adapter.evaluate(workPrompt(directory), { session, resume: true });
      expect(unknown).toMatchObject({
        status: 'suspended',
        reason: 'TOOL_OUTCOME_UNKNOWN',
        pending: [{ callId: 'toolu_pay' }],
      });
      const { pid, startedAt } = orphan;
      expect(isDead({ ...thisProcess(), pid, startedAt })).toBe(true);
      for (const call of unknown.pending) await session.settle(call, { result: 'a person looked: paid' });
      expect(await adapter.evaluate(workPrompt(directory), { session, resume: true })).toMatchObject({
        status: 'completed',
        text: 'done',
      });
      expect(effectsIn(directory)).toEqual(['note a', 'pay x']);
      const last = server.requests.at(-1);
      expect(last?.results.get('toolu_note')).toEqual({ text: 'noted a', isError: false });
      expect(JSON.stringify(last?.body)).toContain('a person looked: paid');
      expect(server.refusals).toEqual([]);
    } finally {
      host.kill('SIGKILL');
      await store.close();
    }
  });
});
