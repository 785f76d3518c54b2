/**
 * Workers under chaos: several worker processes run the sessions of one store while processes are killed, stopped for longer than their
 * lease and woken, and, if the backend can, connections are cut and the database is restarted. In the end every conversation must
 * equal an undisturbed one.
 *
 *     send, steer, approve ─▶ store ◀─ workers ◀─ kill, stop, add, cut, restart
 *                               └▶ all sessions idle ─▶ drain the workers ─▶ verify
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import {
  isHoldfastError,
  memoryStore,
  openSession,
  type Session,
  type SessionInfo,
  type Store,
  textOf,
} from '../../../src/index.ts';
import { createWorker } from '../../../src/worker.ts';
import { normalized } from '../../chaos/normalized.ts';
import { effectsIn } from '../../chaos/outside.ts';
import { bundleScript } from '../../support/bundle.ts';
import { randomFrom } from '../../support/random.ts';
import { ACTING_CALLS, chaosAgent, isSteer, ONCE_TOOLS } from './agent.ts';

export interface Backend {
  /** What a worker process is started with. */
  readonly args: readonly string[];
  /** The store of this process, which sends and approves. */
  readonly store: Store;
  /** What can be done to the database, by name. */
  readonly disturbances?: Readonly<Record<string, () => Promise<unknown>>>;
}

export interface ChaosOptions {
  readonly backend: Backend;
  readonly effects: string;
  readonly seed: number;
  readonly sessions: number;
  readonly workers: number;
  readonly leaseMs: number;
  /** Milliseconds between two disturbances, at most. */
  readonly everyMs: number;
  readonly onProgress?: (line: string) => void;
}

export interface ChaosReport {
  readonly sessions: number;
  readonly inputs: number;
  readonly steers: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Appends of workers that had lost their lease: the store rejected each. */
  readonly zombies: number;
  readonly takeovers: number;
  readonly effects: number;
  readonly late: number;
  readonly seconds: number;
  readonly wrong: readonly string[];
}

const CHATS = 2;
const SENDERS = 8;
/** How long nothing may be appended before the test counts as hung. */
const HUNG_MS = 180_000;

/** The conversation of an undisturbed session, without steers. */
export async function undisturbed(): Promise<readonly unknown[]> {
  const store = memoryStore();
  const outside = { act: () => {}, hasActed: () => false };
  const worker = createWorker({ store, agents: chaosAgent(outside), pollMs: 50 });
  worker.start();
  const session = await openSession({ store, id: 's' });
  for (const [id, text] of inputsOf()) await session.send(text, { id });
  for (; !isIdle(session); await session.refresh()) {
    await approveAll(session);
    await setTimeout(10);
  }
  await worker.stop();
  return comparable(session);
}

function inputsOf(): readonly (readonly [id: string, text: string])[] {
  return [['task', 'task'], ...Array.from({ length: CHATS }, (_, i) => [`chat-${i}`, `chat ${i}`] as const)];
}

function isIdle({ summary }: Session): boolean {
  return summary?.status === 'completed' && summary.work === undefined && summary.queued === undefined;
}

async function approveAll(session: Session): Promise<void> {
  for (const call of session.pending()) {
    if (call.status === 'pending' && call.approvalRequest && !call.approval)
      await session.approve(call, { by: 'the approver' });
  }
}

/** Conversations without steers and what only a late steer began: where a steer is placed depends on timing. */
function comparable(session: Session): readonly unknown[] {
  const { evaluations } = session.state.record;
  const isLate = (id: string): boolean => {
    const first = session.messages({ evaluationId: id }).find(({ role }) => role === 'user');
    return first !== undefined && isSteer(first);
  };
  const own = evaluations.items.filter(({ id }) => !isLate(id));
  const parts = normalized(session).map(
    (text) => JSON.parse(String(text)) as { messages: { role: string; content: unknown }[] },
  );
  const kept = parts.filter(({ messages }) => !isSteer((messages.find(({ role }) => role === 'user') ?? {}) as never));
  if (kept.length !== own.length) throw new Error('a conversation has no first message');
  return kept.map(({ messages, ...rest }) =>
    JSON.stringify({ ...rest, messages: messages.filter((message) => !isSteer(message as never)) }),
  );
}

export async function workerChaos(options: ChaosOptions): Promise<ChaosReport> {
  const script = await bundleScript(join(import.meta.dirname, 'process.ts'), { external: ['pg', 'pg-boss'] });
  const run = new Chaos(options, await undisturbed(), script.path);
  try {
    return await run.run();
  } finally {
    run.killAll();
    script.remove();
  }
}

class Chaos {
  readonly #options: ChaosOptions;
  readonly #expected: readonly unknown[];
  readonly #script: string;
  readonly #random: () => number;
  readonly #processes = new Set<ChildProcess>();
  readonly #counts: Record<string, number> = { kill: 0, stop: 0, add: 0 };
  readonly #steers = new Map<string, number>();
  readonly #wrong: string[] = [];
  readonly #began = performance.now();
  readonly #firstDeck = Promise.withResolvers<void>();
  #zombies = 0;
  #isOver = false;
  #hasSentAll = false;

  constructor(options: ChaosOptions, expected: readonly unknown[], script: string) {
    this.#options = options;
    this.#script = script;
    this.#expected = expected;
    this.#random = randomFrom(options.seed);
  }

  async run(): Promise<ChaosReport> {
    const { sessions, workers } = this.#options;
    const ids = Array.from({ length: sessions }, (_, i) => `s${i}`);
    await Promise.all(Array.from({ length: workers }, () => this.#start()));
    const disturbing = this.#disturb();
    const sending = this.#sendAll(ids).then(() => {
      this.#hasSentAll = true;
    });
    await this.#untilIdle(ids);
    this.#isOver = true;
    this.#firstDeck.resolve();
    await Promise.all([disturbing, sending]);
    await this.#drain();
    return this.#verify(ids);
  }

  killAll(): void {
    for (const child of this.#processes) child.kill('SIGKILL');
  }

  async #start(): Promise<void> {
    const { backend, effects, leaseMs } = this.#options;
    const child = spawn(process.execPath, ['--no-warnings', this.#script, ...backend.args, effects, String(leaseMs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#processes.add(child);
    let hasStarted = false;
    child.once('exit', (code, signal) => {
      this.#processes.delete(child);
      const isEnded = code === 0 || signal === 'SIGKILL' || (signal === 'SIGTERM' && !hasStarted);
      // It could not reach the database when it started: a supervisor starts it again.
      if (!isEnded && !hasStarted && !this.#isOver) void this.#start();
      else if (!isEnded && hasStarted) this.#wrong.push(`a worker ended with ${code ?? signal}`);
    });
    const isReady = new Promise<void>((resolve) => {
      createInterface(child.stdout).on('line', (line) => {
        const [verb = ''] = line.split(' ');
        if (verb === 'ready') hasStarted = true;
        if (verb === 'ready') resolve();
        else if (verb === 'zombie') this.#zombies++;
        else if (verb === 'wrong') this.#wrong.push(line);
        else this.#counts[verb] = (this.#counts[verb] ?? 0) + 1;
      });
    });
    await Promise.race([isReady, once(child, 'exit')]);
  }

  /** Draws from a shuffled deck, so that each kind of disturbance happens; the last inputs are sent when the first deck is used up. */
  async #disturb(): Promise<void> {
    const { everyMs, backend, workers } = this.#options;
    const kinds = ['kill', 'kill', 'stop', 'add', ...Object.keys(backend.disturbances ?? {})];
    let deck = this.#shuffled(kinds);
    while (!this.#isOver) {
      await setTimeout(this.#random() * everyMs);
      if (this.#isOver) return;
      const drawn = deck.pop() ?? 'kill';
      const kind = drawn === 'add' && this.#processes.size > workers + 2 ? 'stop' : drawn;
      this.#count(kind);
      await this.#disturbances[kind]?.();
      if (deck.length > 0) continue;
      this.#firstDeck.resolve();
      deck = this.#shuffled(kinds);
    }
  }

  get #disturbances(): Readonly<Record<string, () => unknown>> {
    return {
      kill: () => {
        this.#pick()?.kill('SIGKILL');
        void this.#start();
      },
      stop: () => {
        const child = this.#pick();
        child?.kill('SIGSTOP');
        void setTimeout(this.#options.leaseMs * (0.5 + 2 * this.#random())).then(() => child?.kill('SIGCONT'));
      },
      add: () => void this.#start(),
      ...this.#options.backend.disturbances,
    };
  }

  #shuffled(kinds: readonly string[]): string[] {
    return kinds
      .map((kind) => ({ kind, at: this.#random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ kind }) => kind);
  }

  #count(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
  }

  #pick(): ChildProcess | undefined {
    const all = [...this.#processes];
    return all[Math.floor(this.#random() * all.length)];
  }

  async #sendAll(ids: readonly string[]): Promise<void> {
    const sendTo = async (session: string, id: string, text: string): Promise<void> => {
      await this.#persist(session, (open) => open.send(text, { id }));
      if (this.#random() >= 0.4) return;
      const n = this.#steers.get(session) ?? 0;
      this.#steers.set(session, n + 1);
      await this.#persist(session, (open) => open.send(`steer ${n}`, { id: `steer-${n}`, mode: 'steer' }));
    };
    for (const [n, [id, text]] of inputsOf().entries()) {
      if (n === inputsOf().length - 1) await this.#firstDeck.promise;
      for (let i = 0; i < ids.length; i += SENDERS)
        await Promise.all(ids.slice(i, i + SENDERS).map((session) => sendTo(session, id, text)));
    }
  }

  /** Does something in a session, again when the database could not be reached. */
  async #persist<T>(id: string, work: (session: Session) => Promise<T>): Promise<T> {
    for (;;) {
      let session: Session | undefined;
      try {
        session = await openSession({ store: this.#options.backend.store, id });
        return await work(session);
      } catch (error) {
        // Another process was faster, or the database is gone for the moment.
        const isPassing = isHoldfastError(error) && /^STORE_|TOOL_CALL_NOT_FOUND|SESSION_CONFLICT/.test(error.code);
        if (!isPassing) throw error;
        await setTimeout(50);
      } finally {
        await session?.close().catch(() => {});
      }
    }
  }

  async #list(): Promise<readonly SessionInfo[]> {
    try {
      return (await this.#options.backend.store.listSessions({ limit: 1000 })).sessions;
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      return []; // the database is gone for the moment
    }
  }

  async #untilIdle(ids: readonly string[]): Promise<void> {
    const left = new Set(ids);
    let lastEvent = performance.now();
    let events = 0;
    let lastLine = performance.now();
    while (left.size > 0) {
      const listed = await this.#list();
      const count = listed.reduce((sum, { seq }) => sum + seq, 0);
      if (count > events) [events, lastEvent] = [count, performance.now()];
      for (const { id, status, work, suspended } of listed) {
        if (suspended) this.#wrong.push(`${id} was given up: ${suspended.error.message}`);
        if (!left.has(id) || work !== undefined || (status !== 'suspended' && status !== 'completed')) continue;
        await this.#persist(id, async (session) => {
          await approveAll(session);
          const inputs = session.state.record.inbox.items.length;
          if (this.#hasSentAll && inputs >= inputsOf().length + (this.#steers.get(id) ?? 0) && isIdle(session)) {
            left.delete(id);
          }
        });
      }
      if (this.#wrong.length > 0) return;
      if (performance.now() - lastLine > 5000) {
        lastLine = performance.now();
        this.#options.onProgress?.(
          `${left.size} sessions left, ${JSON.stringify(this.#counts)}, ${this.#zombies} zombie appends`,
        );
      }
      if (performance.now() - lastEvent > HUNG_MS) {
        const one = (await this.#list()).find(({ id }) => left.has(id));
        this.#wrong.push(`${left.size} sessions do not end, such as ${JSON.stringify(one)}`);
        return;
      }
      await setTimeout(50);
    }
  }

  async #drain(): Promise<void> {
    const ended = [...this.#processes].map((child) => {
      const exit = once(child, 'exit');
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      return exit;
    });
    await Promise.race([Promise.all(ended), setTimeout(60_000).then(() => this.#wrong.push('workers do not drain'))]);
  }

  async #verify(ids: readonly string[]): Promise<ChaosReport> {
    const { acted, late, lines } = effectsIn(this.#options.effects);
    let takeovers = 0;
    let inputs = 0;
    for (const id of this.#wrong.length > 0 ? [] : ids) {
      await this.#persist(id, async (session) => {
        const got = comparable(session);
        if (JSON.stringify(got) !== JSON.stringify(this.#expected))
          this.#wrong.push(`${id} came to ${JSON.stringify(got.filter((one) => !this.#expected.includes(one)))}`);
        const said = session
          .messages()
          .filter(({ role }) => role === 'user')
          .map(textOf);
        const steers = Array.from({ length: this.#steers.get(id) ?? 0 }, (_, n) => `steer ${n}`);
        for (const text of [...inputsOf().map(([, one]) => one), ...steers]) {
          inputs++;
          const times = said.filter((one) => one === text).length;
          if (times !== 1) this.#wrong.push(`${id} has "${text}" ${times} times`);
        }
        takeovers += session.state.record.evaluations.items
          .map(({ attempt = 1 }) => attempt - 1)
          .reduce((a, b) => a + b, 0);
      });
      const own = [...acted].filter(([key]) => key.startsWith(`${id}/`));
      for (const [tool, count] of Object.entries(ACTING_CALLS)) {
        const calls = own.filter(([, one]) => one.tool === tool).length;
        if (calls !== count) this.#wrong.push(`${calls} calls of ${tool} in ${id} acted, not ${count}`);
      }
      for (const [key, { tool, attempts }] of own)
        if (ONCE_TOOLS.includes(tool) && attempts.length !== 1)
          this.#wrong.push(`${key} acted in attempts ${attempts}`);
    }
    return {
      sessions: ids.length,
      inputs,
      steers: [...this.#steers.values()].reduce((a, b) => a + b, 0),
      counts: this.#counts,
      zombies: this.#zombies,
      takeovers,
      effects: lines,
      late,
      seconds: Math.round((performance.now() - this.#began) / 1000),
      wrong: this.#wrong,
    };
  }
}

export function reportOf(report: ChaosReport): string {
  const { sessions, inputs, steers, counts, zombies, takeovers, effects, late, seconds, wrong } = report;
  const did = Object.entries(counts)
    .map(([what, count]) => `${count} × ${what}`)
    .join(', ');
  return [
    `${sessions} sessions, ${inputs} inputs (${steers} steers) in ${seconds} s: ${did}`,
    `${takeovers} resumes, ${zombies} appends of zombies rejected, ${effects} lines of effects, ${late} effects too late and rejected outside`,
    wrong.length === 0 ? 'every conversation equals the undisturbed one' : `WRONG:\n${wrong.join('\n')}`,
  ].join('\n');
}
