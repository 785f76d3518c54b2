import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { AgentProcessState } from '../../../src/agents/agent-process.ts';
import { adapterStates } from '../../../src/core/views/session-view.ts';
import type { EvaluationResponse, ProviderAdapter } from '../../../src/loop/evaluate/provider-adapter.ts';
import { openSession, type Session } from '../../../src/session/session.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import { POINTS, SEED } from '../../support/random.ts';
import { type AgentScript, type ModelServer, startModelServer } from './model-server.ts';
import { temporaryDirectory } from './temporary.ts';
import { effectsIn, releasePath, until, workPrompt } from './work.ts';

/**
 * Real agents, killed (D24, D27, D57; I2, I3, I4): which process, when, and what is left of the machine; then another one resumes.
 */

type Victim = 'host' | 'child' | 'both';
export type Machine = 'same HOME' | 'HOME wiped' | 'another machine';

export interface Moment {
  readonly script: AgentScript;
  /** A subagent's script, when there is one. */
  readonly subagent?: AgentScript;
  /** Resolves when it is time to kill. */
  readonly reached: (server: ModelServer, directory: string) => Promise<void>;
  /** Calls beside the one that is killed: if calls run in parallel, they must have ended by then. */
  readonly beside?: readonly string[];
  /** A tool of ours waits until it is released: it outlives the child, but not the host. */
  readonly waits?: true;
  /** The call whose outcome is unknown after the host was killed. */
  readonly unknown?: Readonly<Partial<Record<Victim, string>>>;
  /** The effects of the tools, in total. */
  readonly effects: (victim: Victim) => readonly string[];
  /** Results that the model must have received in the end. */
  readonly results: (victim: Victim) => Readonly<Record<string, string | RegExp>>;
}

interface Place {
  readonly url: string;
  readonly home: string;
  readonly cwd: string;
}

/** An agent that can be killed. */
export interface KilledAgent {
  /** The worker in `support/` that evaluates the work with it. */
  readonly host: string;
  readonly adapter: (place: Place, machine: Machine) => ProviderAdapter;
  readonly moments: Readonly<Record<string, Moment>>;
  /** Whether a result that the killed agent did not receive is sent to the model as text, not as the result of its call. */
  readonly tellsInWords?: true;
  /** Whether it runs the calls of a response in parallel: their effects are in any order. */
  readonly isParallel?: true;
  /** The machines that it can be resumed on. */
  readonly machines: readonly Machine[];
}

const seen = (directory: string, line: string): Promise<void> => until(() => effectsIn(directory).includes(line));
const SETTLED = 'a person looked: it happened';

/** The agent's names of its tools. */
export interface ToolNames {
  /** A tool of ours. */
  readonly ours: (name: string) => string;
  readonly shell: string;
  /** The call that starts a subagent whose prompt is `prompt`. */
  readonly subagent: (prompt: string) => { readonly name: string; readonly arguments: unknown };
}

/** The moments at which every agent is killed. */
export function momentsOf({ ours, shell, subagent }: ToolNames): Readonly<Record<string, Moment>> {
  const call = (name: string, text: string, id: string): { name: string; arguments: unknown; id: string } => ({
    name: ours(name),
    arguments: { text },
    id,
  });
  const note = (text: string): ReturnType<typeof call> => call('note', text, `toolu_note_${text}`);
  return {
    'in a once tool': {
      script: ({ turn }) =>
        turn === 1 ? { toolCalls: [note('a')] } : turn === 2 ? { toolCalls: [call('pay', 'x', 'toolu_pay')] } : 'done',
      reached: (_, directory) => seen(directory, 'pay x'),
      waits: true,
      unknown: { host: 'toolu_pay', both: 'toolu_pay' },
      effects: () => ['note a', 'pay x'],
      results: (victim) => ({ toolu_note_a: 'noted a', toolu_pay: victim === 'child' ? 'paid x' : SETTLED }),
    },
    'in an idempotent tool': {
      script: ({ turn }) =>
        turn === 1
          ? {
              toolCalls: [note('a'), call('step', 'x', 'toolu_step'), note('b')],
            }
          : 'done',
      reached: (_, directory) => seen(directory, 'step x'),
      beside: ['toolu_note_a', 'toolu_note_b'],
      waits: true,
      effects: (victim) =>
        victim === 'child' ? ['note a', 'step x', 'note b'] : ['note a', 'step x', 'step x again', 'note b'],
      results: () => ({ toolu_note_a: 'noted a', toolu_step: 'stepped x', toolu_note_b: 'noted b' }),
    },
    'in its shell': {
      script: ({ turn }) =>
        turn === 1
          ? {
              toolCalls: [
                note('a'),
                {
                  name: shell,
                  arguments: { command: 'echo bash >> "$EFFECTS"; tail -f /dev/null', description: 'work' },
                  id: 'toolu_bash',
                },
              ],
            }
          : 'done',
      reached: (_, directory) => seen(directory, 'bash'),
      beside: ['toolu_note_a'],
      unknown: { host: 'toolu_bash', child: 'toolu_bash', both: 'toolu_bash' },
      effects: () => ['note a', 'bash'],
      results: () => ({ toolu_note_a: 'noted a', toolu_bash: SETTLED }),
    },
    'between tools': {
      script: ({ turn }) =>
        turn === 1
          ? { text: 'First.', toolCalls: [note('a'), note('b')] }
          : turn === 2
            ? { said: { toolCalls: [note('c')] }, hold: { name: 'between', at: 0 } }
            : 'done',
      reached: (server) => server.held('between'),
      effects: () => ['note a', 'note b', 'note c'],
      results: () => ({ toolu_note_a: 'noted a', toolu_note_b: 'noted b', toolu_note_c: 'noted c' }),
    },
    'in a subagent': {
      script: ({ turn }) =>
        turn === 1
          ? {
              toolCalls: [{ id: 'toolu_agent', ...subagent('[[script:subagent]] go') }],
            }
          : 'done',
      subagent: ({ turn }) =>
        turn === 1 ? { toolCalls: [note('s')] } : { said: 'sub done', hold: { name: 'subagent', at: 0 } },
      reached: (server) => server.held('subagent'),
      effects: () => ['note s'],
      results: () => ({ toolu_agent: /note \{"text":"s"\}: done: noted s/ }),
    },
    'while streaming': {
      script: ({ turn }) =>
        turn === 1
          ? { toolCalls: [note('a')] }
          : turn === 2
            ? { said: { text: 'I was about to say', toolCalls: [note('b')] }, hold: { name: 'streaming', at: 4 } }
            : 'done',
      reached: (server) => server.held('streaming'),
      effects: () => ['note a', 'note b'],
      results: () => ({ toolu_note_a: 'noted a', toolu_note_b: 'noted b' }),
    },
  };
}

const VICTIMS: readonly Victim[] = ['host', 'child', 'both'];
const SHORT: Readonly<Record<Machine, string>> = {
  'same HOME': 'same',
  'HOME wiped': 'wipe',
  'another machine': 'oth.',
};

/**
 * Registers a test for every moment, victim and machine, and prints the outcomes. Unless `POINTS=all`, it takes a third of them: of each two kinds, every
 * pair as often as the others.
 */
export function killMatrix(agent: KilledAgent): void {
  const { moments, machines } = agent;
  const CELLS = Object.keys(moments).flatMap((moment, row) =>
    VICTIMS.flatMap((victim, column) =>
      machines.flatMap((machine, layer) =>
        POINTS === 'all' || (row + column + layer + SEED) % VICTIMS.length === 0 ? [{ moment, victim, machine }] : [],
      ),
    ),
  );

  const started: ChildProcess[] = [];
  const outcomes = new Map<string, string>();

  afterEach(() => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
  });

  afterAll(() => {
    const rows = Object.keys(moments).map((moment) => {
      const cells = VICTIMS.flatMap((victim) =>
        machines.map((machine) => outcomes.get(`${moment}/${victim}/${machine}`) ?? ''),
      );
      return `${moment.padEnd(22)} ${cells.map((cell) => cell.padEnd(4)).join(' ')}`;
    });
    const heading = `${''.padEnd(22)} ${VICTIMS.map((victim) => `${victim} dies`.padEnd(Math.max(11, 5 * machines.length))).join('')}`;
    const ok = [...outcomes.values()].filter((outcome) => outcome === 'ok').length;
    console.log(
      [
        heading,
        `${''.padEnd(22)} ${VICTIMS.map(() => machines.map((machine) => SHORT[machine].padEnd(5)).join('')).join('')}`,
        ...rows,
        `${ok} of ${CELLS.length} cells resumed`,
      ].join('\n'),
    );
  });

  describe('a killed agent is resumed', () => {
    test.for(CELLS)('$moment, $victim is killed, $machine', async ({ moment: name, victim, machine }) => {
      const moment = moments[name] as Moment;
      const directory = temporaryDirectory('work');
      const [home, cwd] = [join(directory, 'home'), join(directory, 'cwd')];
      for (const path of [home, cwd]) mkdirSync(path);
      process.env.EFFECTS = join(directory, 'effects.log');
      const server = await startModelServer({
        main: moment.script,
        ...(moment.subagent && { subagent: moment.subagent }),
      });
      const db = join(directory, 'log.db');
      const store = await sqliteStore(db);
      const session = await openSession({ store, id: 'work' });
      const input = '[[script:main]] do it';
      outcomes.set(`${name}/${victim}/${machine}`, 'fail');
      try {
        const host = spawn(
          process.execPath,
          [join(import.meta.dirname, agent.host), JSON.stringify({ db, directory, url: server.url, home, cwd, input })],
          { stdio: ['ignore', 'pipe', 'inherit'] },
        );
        started.push(host);
        const exited = new Promise<void>((resolve) => host.once('exit', () => resolve()));
        const gone = exited.then(() => {
          throw new Error('the host ended before it was to be killed');
        });
        gone.catch(() => {});
        await Promise.race([moment.reached(server, directory), gone]);
        for (const callId of agent.isParallel ? (moment.beside ?? []) : [])
          await until(() => hasEnded(session, callId));
        const child = await agentPid(session);
        if (victim !== 'host') process.kill(-child, 'SIGKILL');
        if (victim !== 'child') host.kill('SIGKILL');
        if (moment.waits && victim === 'child') writeFileSync(releasePath(directory), '');
        await exited;

        if (machine === 'HOME wiped') rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
        const where =
          machine === 'another machine'
            ? { home: join(directory, 'home2'), cwd: join(directory, 'cwd2') }
            : { home, cwd };
        for (const path of Object.values(where)) mkdirSync(path, { recursive: true });
        const adapter = agent.adapter({ url: server.url, ...where }, machine);
        const resume = (): Promise<EvaluationResponse> =>
          adapter.evaluate(workPrompt(directory), { session, input, resume: true });
        let response = await resume();
        const unknown = moment.unknown?.[victim];
        if (unknown !== undefined) {
          expect(response).toMatchObject({
            status: 'suspended',
            reason: 'TOOL_OUTCOME_UNKNOWN',
            pending: [{ callId: unknown }],
          });
          expect(livingIn(home)).toEqual([]);
          for (const call of response.pending) await session.settle(call, { result: SETTLED });
          response = await resume();
        }

        expect(response).toMatchObject({ status: 'completed', text: 'done' });
        const inOrder = (lines: readonly string[]) => (agent.isParallel ? lines.toSorted() : lines);
        expect(inOrder(effectsIn(directory))).toEqual(inOrder(moment.effects(victim))); // no effect was repeated
        expect(server.refusals).toEqual([]); // every request was coherent
        const last = server.requests.at(-1);
        for (const [callId, wanted] of Object.entries(moment.results(victim))) {
          if (agent.tellsInWords) {
            expect(JSON.stringify(last?.body).replaceAll('\\', '')).toMatch(wanted);
            continue;
          }
          const result = last?.results.get(callId);
          expect(result?.text).toMatch(wanted);
          if (typeof wanted === 'string') expect(result).toEqual({ text: wanted, isError: false });
        }
        expect([...livingIn(home), ...livingIn(where.home)]).toEqual([]); // no orphan
        outcomes.set(`${name}/${victim}/${machine}`, 'ok');
      } finally {
        for (const pid of livingIn(home)) process.kill(Number(pid), 'SIGKILL'); // also after a failed test
        await store.close();
        await server.close();
      }
    });
  });
}

/** Processes on this machine with this directory as their home. */
function livingIn(home: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return (
        readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`HOME=${home}\0`) &&
        !/^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
      );
    } catch {
      return false;
    }
  });
}

async function hasEnded(session: Session, callId: string): Promise<boolean> {
  await session.refresh();
  return session.messages().some((message) => message.role === 'tool' && message.toolCallId === callId);
}

async function agentPid(session: Session): Promise<number> {
  await session.refresh();
  const state = session
    .select(adapterStates)
    .where((one) => one.state.adapterType === 'agent-process')
    .at(-1)?.state;
  return (state as AgentProcessState).pid;
}
