import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { afterEach, expect, test } from 'vitest';
import type { ClaudeAgentSdk } from '../../src/agents/claude-agent/sdk-types.ts';
import { type ClaudeSessionStore, claudeAgentAdapter } from '../../src/claude-agent.ts';
import { openSession, type Session } from '../../src/session/session.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { claudeOptions } from './support/claude.ts';
import { type ModelServer, startModelServer } from './support/model-server.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { until, workPrompt } from './support/work.ts';

/** The SDK copies a session and the credentials to a temporary directory before it resumes. No such copy outlives its run. */

const cleanUps: (() => Promise<unknown> | unknown)[] = [];
const TMPDIR = process.env.TMPDIR;
afterEach(async () => {
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Suspended {
  readonly directory: string;
  readonly temporary: string;
  readonly place: { readonly url: string; readonly home: string; readonly cwd: string };
  readonly db: string;
  readonly session: Session;
  readonly server: ModelServer;
}

/** An evaluation that is suspended after its first turn, and a HOME with credentials. */
async function suspended(): Promise<Suspended> {
  const server = await startModelServer({
    main: ({ turn }) =>
      turn === 1
        ? { toolCalls: [{ name: 'mcp__holdfast__note', arguments: { text: 'a' }, id: 'toolu_note' }] }
        : 'done',
  });
  cleanUps.push(() => server.close());
  const directory = temporaryDirectory('copy');
  const [home, cwd, temporary] = [join(directory, 'home'), join(directory, 'cwd'), join(directory, 'tmp')];
  for (const path of [join(home, '.claude'), cwd, temporary]) mkdirSync(path, { recursive: true });
  writeFileSync(join(home, '.claude', '.credentials.json'), JSON.stringify({ claudeAiOauth: { accessToken: 'mine' } }));
  const place = { url: server.url, home, cwd };
  const db = join(directory, 'log.db');
  const store = await sqliteStore(db);
  cleanUps.push(() => store.close());
  const session = await openSession({ store, id: 'work' });
  const first = await claudeAgentAdapter(claudeOptions(place)).evaluate(workPrompt(directory), {
    session,
    input: '[[script:main]] go',
    maxTurns: 1,
  });
  expect(first).toMatchObject({ status: 'suspended', reason: 'TURN_LIMIT' });
  return { directory, temporary, place, db, session, server };
}

const copiesIn = (path: string): readonly string[] =>
  readdirSync(path).filter((name) => name.startsWith('claude-resume-'));

test('the next resume removes the copy of a host that was killed while the SDK made it, also with another TMPDIR', async () => {
  const { directory, temporary, place, db, session } = await suspended();
  const host: ChildProcess = spawn(
    process.execPath,
    [join(import.meta.dirname, 'support', 'claude-copy-host.ts'), JSON.stringify({ db, directory, ...place })],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, TMPDIR: temporary } },
  );
  cleanUps.push(() => host.kill('SIGKILL'));
  const exited = once(host, 'exit');
  expect(String(await Promise.race([once(host.stdout as NodeJS.ReadableStream, 'data'), exited]))).toContain('copied');
  host.kill('SIGKILL');
  await exited;
  const [copy = ''] = copiesIn(temporary);
  expect(existsSync(join(temporary, copy, '.credentials.json'))).toBe(true);
  // Another run's copy, perhaps of an unknown session.
  const other = join(temporary, 'claude-resume-other', 'projects', 'slug');
  mkdirSync(other, { recursive: true });
  writeFileSync(join(other, '0f0f0f0f-0000-4000-8000-000000000000.jsonl'), '');

  const response = await claudeAgentAdapter(claudeOptions(place)).evaluate(workPrompt(directory), {
    session,
    resume: true,
  });
  expect(response).toMatchObject({ status: 'completed', text: 'done' });
  expect(copiesIn(temporary)).toEqual(['claude-resume-other']);
});

test.for([
  ['as it is', (path: string) => path],
  ['not normalised', (path: string) => `${path}/../tmp/.`],
] as const)('a resume leaves no copy when it ends: TMPDIR %s', async ([, spelled]) => {
  const { directory, temporary, place, session } = await suspended();
  process.env.TMPDIR = spelled(temporary);
  const seen: string[] = [];
  const response = await claudeAgentAdapter({
    ...claudeOptions(place),
    // The SDK removes its copy some time after the run: this process may have ended by then.
    sdk: { ...(sdk as unknown as ClaudeAgentSdk), query: withoutCleanUp },
    onMessage: () => void seen.push(...copiesIn(temporary)),
  }).evaluate(workPrompt(directory), { session, resume: true });
  expect(response).toMatchObject({ status: 'completed', text: 'done' });
  expect(seen).not.toEqual([]);
  expect(copiesIn(temporary)).toEqual([]);
});

/** A query whose process never exits for the SDK, which therefore keeps its copy. */
const withoutCleanUp: ClaudeAgentSdk['query'] = ({ prompt, options = {} }) => {
  const { spawnClaudeCodeProcess: start } = options as unknown as {
    readonly spawnClaudeCodeProcess: (how: unknown) => ChildProcess;
  };
  const query = (sdk as unknown as ClaudeAgentSdk).query({
    prompt,
    options: {
      ...options,
      spawnClaudeCodeProcess: (how: unknown) => {
        const child = start(how);
        return new Proxy(child, {
          get: (target, name) => {
            if (name === 'exitCode' || name === 'signalCode') return null;
            if (name === 'on' || name === 'once') {
              return (event: string, listener: () => void) => {
                if (event !== 'exit' && event !== 'close') target[name](event, listener);
              };
            }
            const value: unknown = Reflect.get(target, name);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
      },
    },
  });
  return {
    // It would wait for the exit: its last message is the result.
    async *[Symbol.asyncIterator]() {
      for await (const message of query) {
        yield message;
        if (message.type === 'result') return;
      }
    },
  };
};

test('a run that is cancelled while the SDK makes its copy leaves none', async () => {
  const { directory, temporary, place, session } = await suspended();
  process.env.TMPDIR = temporary;
  const controller = new AbortController();
  const impatient: ClaudeAgentSdk = {
    ...(sdk as unknown as ClaudeAgentSdk),
    query: ({ prompt, options = {} }) => {
      const sessionStore = options.sessionStore as ClaudeSessionStore;
      const listSubkeys: ClaudeSessionStore['listSubkeys'] = async (key) => {
        controller.abort();
        return sessionStore.listSubkeys(key);
      };
      return (sdk as unknown as ClaudeAgentSdk).query({
        prompt,
        options: { ...options, sessionStore: { ...sessionStore, listSubkeys } },
      });
    },
  };
  const response = await claudeAgentAdapter({ ...claudeOptions(place), sdk: impatient }).evaluate(
    workPrompt(directory),
    { session, resume: true, signal: controller.signal },
  );
  expect(response).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
  await until(() => copiesIn(temporary).length === 0);
});

test('a configuration directory that the caller named like a copy is kept', async () => {
  const { directory, temporary, place, session } = await suspended();
  process.env.TMPDIR = temporary;
  const own = join(temporary, 'claude-resume-own');
  mkdirSync(own);
  const options = claudeOptions(place);
  const response = await claudeAgentAdapter({
    ...options,
    env: { ...options.env, CLAUDE_CONFIG_DIR: own },
    fork: false,
  }).evaluate(workPrompt(directory), { session, input: '[[script:main]] again' });
  expect(response).toMatchObject({ status: 'completed', text: 'done' });
  expect(copiesIn(temporary)).toEqual(['claude-resume-own']);
});
