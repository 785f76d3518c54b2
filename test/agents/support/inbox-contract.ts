import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { StatefulAdapter, StatefulOptions } from '../../../src/agents/stateful-adapter.ts';
import { textOf } from '../../../src/core/log/messages.ts';
import { checkCoherence } from '../../../src/history/coherence/coherence.ts';
import { definePrompt } from '../../../src/loop/define/define-prompt.ts';
import { defineTool } from '../../../src/loop/define/define-tool.ts';
import type { Store } from '../../../src/ports/store.ts';
import { openSession, type Session } from '../../../src/session/session.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { POINTS, randomFrom, SEED, spread } from '../../support/random.ts';
import { type AgentScript, type ModelServer, startModelServer } from './model-server.ts';
import { temporaryDirectory } from './temporary.ts';
import { effectsIn, launch, releasePath, until, workPrompt } from './work.ts';

/** The behaviour of every agent with its own loop for the inbox (D61), tested with the real agent and a local model. */

interface Place {
  readonly url: string;
  readonly home: string;
  readonly cwd: string;
}

export interface InboxAgent {
  readonly name: 'claude' | 'opencode';
  readonly adapter: (place: Place, options?: StatefulOptions) => StatefulAdapter;
  /** The agent's names of a tool of ours, and of its shell. */
  readonly ours: (name: string) => string;
  readonly shell: string;
}

interface World extends Place {
  readonly server: ModelServer;
  readonly store: Store;
  readonly session: Session;
  /** Another handle of the same session, as another process would have. */
  readonly sender: Session;
  readonly adapter: StatefulAdapter;
  other(options: StatefulOptions, cwd?: string): StatefulAdapter;
}

const FIRST = '[[script:main]] the first text';
const SECOND = 'the second text';
const STEER = 'the steering text';

export function inboxContract(agent: InboxAgent): void {
  const servers: ModelServer[] = [];
  const started: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
    for (const server of servers.splice(0)) await server.close();
  });

  async function world(main: AgentScript): Promise<World> {
    const server = await startModelServer({ main });
    servers.push(server);
    const directory = temporaryDirectory('inbox');
    const [home, cwd] = [join(directory, 'home'), join(directory, 'cwd')];
    for (const path of [home, cwd]) mkdirSync(path);
    const store = memoryStore();
    const place = { url: server.url, home, cwd };
    return {
      ...place,
      server,
      store,
      session: await openSession({ store, id: 'one' }),
      sender: await openSession({ store, id: 'one' }),
      adapter: agent.adapter(place),
      other: (options, where = cwd) => agent.adapter({ ...place, cwd: where }, options),
    };
  }

  const call = (name: string, id: string, input: unknown = {}): { name: string; arguments: unknown; id: string } => ({
    name: agent.ours(name),
    arguments: input,
    id,
  });
  const shellCall = { name: agent.shell, arguments: { command: 'echo hi', description: 'x' }, id: 'toolu_shell' };
  const plain = definePrompt({ ns: 'test', key: 'inbox', instructions: 'You help.' });
  /** A tool whose behaviour the test sets. */
  const doing = (execute: (signal: AbortSignal) => unknown) =>
    definePrompt({
      ns: 'test',
      key: 'inbox',
      instructions: 'You help.',
      tools: [
        defineTool({
          name: 'act',
          description: 'Acts',
          input: z.object({}),
          effect: 'idempotent',
          execute: async (_, { signal }) => {
            await execute(signal);
            return 'acted';
          },
        }),
      ],
    });

  describe('follow-ups', () => {
    test("D61: each input starts an evaluation that continues the agent's session; a repeated id starts none", async () => {
      const { server, session, sender, adapter } = await world(({ turn }) => `answer ${turn}`);
      await sender.send(FIRST, { id: 'm1' });
      await sender.send(SECOND, { id: 'm2' });
      expect(await adapter.run(plain, { session })).toMatchObject({
        status: 'idle',
        responses: [
          { status: 'completed', text: 'answer 1', adapterState: { complete: true } },
          { status: 'completed', text: 'answer 2' },
        ],
      });
      await sender.send(SECOND, { id: 'm2' });
      expect(await adapter.run(plain, { session })).toMatchObject({ status: 'idle', responses: [] });
      expect(timesSent(server, FIRST, SECOND, 'answer 1')).toEqual([1, 1, 1]);
      expect(session.state.record.evaluations.items.toArray().map(({ status }) => status)).toEqual([
        'completed',
        'completed',
      ]);
      expect(server.refusals).toEqual([]);
    });

    test("D61, D73: a message after a cancellation supersedes the evaluation, and the agent's session gets the results of the stopped calls", async () => {
      const { server, session, sender, adapter } = await world(({ turn }) =>
        turn === 1 ? { text: 'I begin.', toolCalls: [call('act', 'toolu_act')] } : 'answered',
      );
      const prompt = doing(async (signal) => {
        await sender.cancel();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      });
      await sender.send(FIRST);
      expect(await adapter.run(prompt, { session })).toMatchObject({
        status: 'suspended',
        responses: [{ reason: 'CANCELLED' }],
      });
      expect(await adapter.run(prompt, { session })).toMatchObject({ status: 'suspended' });
      await sender.send(SECOND);
      expect(await adapter.run(prompt, { session })).toMatchObject({
        status: 'idle',
        responses: [{ status: 'completed', text: 'answered' }],
      });
      expect(timesSent(server, FIRST, SECOND, 'I begin.')).toEqual([1, 1, 1]);
      expect(JSON.stringify(server.requests.at(-1)?.sent)).toContain('The user stopped this');
      expect(session.state.record.evaluations.items.toArray().map(({ status }) => status)).toEqual([
        'superseded',
        'completed',
      ]);
      expect(server.refusals).toEqual([]);
    });

    test('D61: after a cancellation within a response the agent gets the cancelled prompt once and the next message once', async () => {
      const { server, session, sender, adapter } = await world(({ body }) =>
        JSON.stringify(body).includes(SECOND)
          ? 'answered'
          : { said: 'I was about to say', hold: { name: 'answer', at: 4 } },
      );
      await sender.send(FIRST);
      const running = adapter.run(plain, { session });
      await server.held('answer');
      await sender.cancel();
      expect(await running).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
      await sender.send(SECOND);
      expect(await adapter.run(plain, { session })).toMatchObject({ responses: [{ status: 'completed' }] });
      expect(timesSent(server, FIRST, SECOND)).toEqual([1, 1]);
    });

    test("D61: an evaluation that was cancelled before the agent started loses neither its prompt nor the agent's session", async () => {
      const { server, session, sender, adapter } = await world(({ turn }) => `answer ${turn}`);
      await sender.send(FIRST);
      await adapter.run(plain, { session });
      await sender.send('never begun');
      const controller = new AbortController();
      const stopped = await adapter.run(plain, {
        session,
        signal: controller.signal,
        onEvent: ({ type }) => type === 'evaluation/started' && controller.abort(),
      });
      expect(stopped).toMatchObject({ status: 'suspended', responses: [{ reason: 'CANCELLED' }] });
      await sender.send(SECOND);
      expect(await adapter.run(plain, { session })).toMatchObject({ responses: [{ text: 'answer 2' }] });
      expect(timesSent(server, FIRST, 'answer 1', 'never begun', SECOND)).toEqual([1, 1, 1, 1]);
      await sender.send('the last text'); // messages that were sent together are recognised
      await adapter.run(plain, { session });
      expect(timesSent(server, FIRST, 'never begun', SECOND, 'the last text')).toEqual([1, 1, 1, 1]);
    });

    test('D29: a state that may not be resumed is a typed error; with restart the evaluation continues in a new session', async () => {
      const ran: string[] = [];
      const prompt = doing(() => ran.push('act'));
      const { server, session, sender, adapter, other, home } = await world(({ body }) =>
        JSON.stringify(body).includes('acted') ? 'answered' : { toolCalls: [call('act', 'toolu_act')] },
      );
      await sender.send(FIRST);
      const first = await adapter.run(prompt, { session, maxTurns: 1 });
      expect(first).toMatchObject({ status: 'suspended', responses: [{ reason: 'TURN_LIMIT' }] });
      const elsewhere = join(home, 'elsewhere');
      mkdirSync(elsewhere);
      await expect(other({}, elsewhere).run(prompt, { session })).rejects.toMatchObject({
        code: 'ADAPTER_STATE_INVALID',
      });
      const result = await other({ onInvalid: 'restart' }, elsewhere).run(prompt, { session });
      expect(result).toMatchObject({
        status: 'idle',
        responses: [
          {
            status: 'completed',
            text: 'answered',
            evaluationId: first.responses[0]?.evaluationId,
            adapterState: { workspacePath: elsewhere },
          },
        ],
      });
      expect(ran).toEqual(['act']); // the call is not repeated
      expect(timesSent(server, FIRST)).toEqual([1]);
      expect(JSON.stringify(server.requests.at(-1)?.sent)).toContain('acted');
    });
  });

  describe('steers', () => {
    test('D61: a steer that was sent while tools run is sent to the agent after their results and before the next request, once', async () => {
      const { server, session, sender, adapter } = await world(({ turn }) =>
        turn === 1 ? { toolCalls: [call('act', 'toolu_act'), shellCall] } : `answer ${turn}`,
      );
      const prompt = doing(() => sender.send(STEER, { id: 's1', mode: 'steer' }));
      await sender.send(FIRST);
      expect(await adapter.run(prompt, { session })).toMatchObject({
        status: 'idle',
        responses: [{ status: 'completed', text: 'answer 2', turns: 2 }],
      });
      expect(session.messages().map(({ role }) => role)).toEqual([
        'system',
        'user',
        'assistant',
        'tool',
        'tool',
        'user',
        'assistant',
      ]);
      expect(session.messages()[5]).toMatchObject({ content: [{ text: STEER }] });
      expect(timesSent(server, FIRST, STEER)).toEqual([1, 1]);
      expect(session.queue()).toEqual([]);
      expect(checkCoherence(session.messages()).violations).toEqual([]);
      await sender.send(SECOND);
      expect(await adapter.run(prompt, { session })).toMatchObject({
        status: 'idle',
        responses: [{ text: 'answer 3' }],
      });
      expect(timesSent(server, FIRST, STEER, SECOND)).toEqual([1, 1, 1]);
      expect(server.refusals).toEqual([]);
    });

    test('D61: a steer during the final response is run next', async () => {
      const sent: Promise<unknown>[] = [];
      const { server, session, sender, adapter } = await world(({ turn }) => {
        if (turn === 1) sent.push(sender.send(STEER, { id: 's1', mode: 'steer' }));
        return `answer ${turn}`;
      });
      await sender.send(FIRST);
      expect(await adapter.run(plain, { session })).toMatchObject({
        status: 'idle',
        responses: [{ text: 'answer 1' }, { text: 'answer 2' }],
      });
      await Promise.all(sent);
      expect(timesSent(server, FIRST, STEER)).toEqual([1, 1]);
    });

    test('D61: a steer to an evaluation that waits for approval is sent to the agent once the call has its result', async () => {
      const prompt = definePrompt({ ns: 'test', key: 'launching', instructions: 'Launch.', tools: [launch] });
      const { server, session, sender, adapter } = await world(({ turn }) =>
        turn === 1 ? { toolCalls: [call('launch', 'toolu_launch')] } : 'answered',
      );
      await sender.send(FIRST);
      const waiting = await adapter.run(prompt, { session });
      expect(waiting).toMatchObject({ status: 'suspended', responses: [{ reason: 'APPROVAL_REQUIRED' }] });
      expect(await sender.send(STEER, { mode: 'steer' })).toMatchObject({ waitsFor: 'APPROVAL_REQUIRED' });
      for (const pending of waiting.responses[0]?.pending ?? []) await session.approve(pending);
      expect(await adapter.run(prompt, { session })).toMatchObject({
        status: 'idle',
        responses: [{ text: 'answered' }],
      });
      expect(session.messages().map(({ role }) => role)).toEqual([
        'system',
        'user',
        'assistant',
        'tool',
        'user',
        'assistant',
      ]);
      expect(timesSent(server, FIRST, STEER)).toEqual([1, 1]);
    });
  });

  describe('a killed host', () => {
    const step = (id: string) => call('step', id, { text: 'x' });
    const note = call('note', 'toolu_note', { text: 'n' });
    const kills = [
      {
        when: 'before it has seen a steer and a follow-up',
        script: ({ turn }) => (turn === 1 ? { toolCalls: [step('toolu_step')] } : `answer ${turn}`),
        releases: false,
      },
      {
        when: 'while the request that has the steer is answered',
        script: ({ turn }) =>
          turn === 1
            ? { toolCalls: [step('toolu_step')] }
            : turn === 2
              ? { said: 'answer 2', hold: { name: 'held', at: 0 } }
              : `answer ${turn}`,
        releases: true,
      },
      {
        when: 'after the turn that had the steer',
        script: ({ turn }) =>
          turn === 1
            ? { toolCalls: [step('toolu_step')] }
            : turn === 2
              ? { toolCalls: [note] }
              : turn === 3
                ? { said: 'answer 3', hold: { name: 'held', at: 0 } }
                : `answer ${turn}`,
        releases: true,
      },
    ] satisfies readonly { when: string; script: AgentScript; releases: boolean }[];
    // The kill matrix has every moment of a turn: here one is enough, unless `POINTS=all`.
    test.for(POINTS === 'all' ? kills : spread(kills, 1, randomFrom(SEED)))(
      'D61: $when: the agent receives each input once, in order',
      async ({ script, releases }) => {
        const server = await startModelServer({ main: script });
        servers.push(server);
        const directory = temporaryDirectory('inbox');
        const [home, cwd] = [join(directory, 'home'), join(directory, 'cwd')];
        for (const path of [home, cwd]) mkdirSync(path);
        const db = join(directory, 'log.db');
        const store = await sqliteStore(db);
        try {
          const session = await openSession({ store, id: 'work' });
          const place = { url: server.url, home, cwd };
          await session.send(FIRST);
          const given = JSON.stringify({ agent: agent.name, db, directory, ...place });
          const host = spawn(process.execPath, [join(import.meta.dirname, 'run-host.ts'), given], {
            stdio: ['ignore', 'ignore', 'inherit'],
          });
          started.push(host);
          const exited = new Promise<void>((resolve) => host.once('exit', () => resolve()));
          const gone = exited.then(() => Promise.reject(new Error('the host ended before it was to be killed')));
          gone.catch(() => {});
          await Promise.race([until(() => effectsIn(directory).includes('step x')), gone]);
          await session.send(STEER, { mode: 'steer' });
          await session.send(SECOND);
          if (releases) {
            writeFileSync(releasePath(directory), '');
            await Promise.race([server.held('held'), gone]);
          }
          host.kill('SIGKILL');
          await exited;
          const prompt = workPrompt(directory);
          const result = await agent.adapter(place).run(prompt, { session });
          expect(result).toMatchObject({
            status: 'idle',
            responses: [{ status: 'completed' }, { status: 'completed' }],
          });
          expect(timesSent(server, FIRST, STEER, SECOND)).toEqual([1, 1, 1]);
          const messages = session.messages();
          const texts = messages.map((message) => textOf(message));
          const steer = texts.indexOf(STEER);
          expect(texts.lastIndexOf(STEER)).toBe(steer);
          expect(messages[steer - 1]).toMatchObject({ role: 'tool' });
          expect(texts.filter((text) => text === SECOND)).toHaveLength(1);
          expect(session.queue()).toEqual([]);
          expect(effectsIn(directory).filter((line) => line === 'step x')).toHaveLength(1);
          expect(effectsIn(directory).filter((line) => line === 'note n').length).toBeLessThan(2);
          expect(server.refusals).toEqual([]);
        } finally {
          await store.close();
        }
      },
    );
  });
}

/** How many times the newest request contains each of these texts. */
function timesSent(server: ModelServer, ...texts: readonly string[]): readonly number[] {
  const said = JSON.stringify(server.requests.at(-1)?.sent.messages);
  return texts.map((text) => said.split(text).length - 1);
}
