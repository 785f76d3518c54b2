/**
 * The chaos test: rounds of sessions on one SQLite file, each with several runner processes, one approver and one keeper. Processes
 * are killed, and stopped for longer than their lease lasts, at random instants; each is replaced. When all sessions of a round
 * have ended, the database is compared with an undisturbed run and with what was acknowledged.
 *
 *     start ─▶ kill, stop, kill, … ─▶ all sessions done ─▶ verify ─▶ next round, until there were enough
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Store } from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import { randomFrom } from '../support/random.ts';
import { LEASE_MS } from './agent.ts';
import { undisturbed, type Verdict, verify } from './verify.ts';

const SESSIONS = 2;
const RUNNERS = 3;
const MAX_PAUSE_MS = 500;
/** How long a round may go without an acknowledgement before it counts as hung. */
const HUNG_MS = 120_000;

export interface ChaosOptions {
  /** The bundled `worker.ts`. */
  readonly worker: string;
  readonly seed: number;
  /** Whether the test has run long enough. */
  readonly isEnough: (report: ChaosReport) => boolean;
  /** Called now and then, with the counts so far. */
  readonly onProgress?: (report: ChaosReport) => void;
}

export interface ChaosReport {
  kills: number;
  stops: number;
  rounds: number;
  sessions: number;
  /** How many times a process resumed another one's evaluation. */
  takeovers: number;
  effects: number;
  /** Effects that the outside rejected: their process was stopped right before them. */
  late: number;
  forks: number;
  backups: number;
  acknowledged: number;
  readonly wrong: string[];
}

export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const report: ChaosReport = {
    kills: 0,
    stops: 0,
    rounds: 0,
    sessions: 0,
    takeovers: 0,
    effects: 0,
    late: 0,
    forks: 0,
    backups: 0,
    acknowledged: 0,
    wrong: [],
  };
  const random = randomFrom(options.seed);
  const expected = await undisturbed();
  while (!options.isEnough(report) && report.wrong.length === 0) {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-chaos-'));
    try {
      const round = new Round(directory, options, report, random);
      const store = await sqliteStore(join(directory, 'agent.db'));
      try {
        await round.run(store);
      } finally {
        await store.close();
      }
      const { sessions, lines } = round;
      if (report.wrong.length === 0)
        add(report, await verify(directory, sessions, lines, expected), sessions.length, lines.length);
    } finally {
      if (report.wrong.length === 0) rmSync(directory, { recursive: true, force: true });
      else report.wrong.push(`what is left is in ${directory}`);
    }
    options.onProgress?.(report);
  }
  return report;
}

function add(report: ChaosReport, verdict: Verdict, sessions: number, acknowledged: number): void {
  report.rounds++;
  report.sessions += sessions;
  report.acknowledged += acknowledged;
  report.takeovers += verdict.resumes;
  report.effects += verdict.effects;
  report.late += verdict.late;
  report.forks += verdict.forks;
  report.backups += verdict.backups;
  report.wrong.push(...verdict.wrong);
}

interface Worker {
  readonly process: ChildProcess;
  readonly ended: Promise<void>;
  isReady: boolean;
  isStopped: boolean;
}

class Round {
  readonly sessions: readonly string[];
  /** The output of the processes. */
  readonly lines: string[] = [];
  readonly #directory: string;
  readonly #options: ChaosOptions;
  readonly #report: ChaosReport;
  readonly #random: () => number;
  readonly #workers = new Set<Worker>();
  readonly #done = new Set<string>();
  #heard = performance.now();
  #isOver = false;

  constructor(directory: string, options: ChaosOptions, report: ChaosReport, random: () => number) {
    this.#directory = directory;
    this.#options = options;
    this.#report = report;
    this.#random = random;
    this.sessions = Array.from({ length: SESSIONS }, (_, n) => `session-${n + 1}`);
  }

  async run(store: Store): Promise<void> {
    for (const id of this.sessions) for (let n = 0; n < RUNNERS; n++) this.#keepAlive('runner', [id]);
    this.#keepAlive('approver', this.sessions);
    this.#keepAlive('keeper', this.sessions);
    while (this.#done.size < this.sessions.length && this.#report.wrong.length === 0) {
      await setTimeout(this.#random() * MAX_PAUSE_MS);
      this.#disturb(this.#random() < 0.5 ? await this.#holder(store) : undefined);
      if (performance.now() - this.#heard > HUNG_MS) this.#report.wrong.push(`hung: ${this.lines.slice(-5)}`);
    }
    this.#isOver = true;
    const ending = [...this.#workers].map((worker) => {
      worker.process.kill('SIGKILL');
      return worker.ended;
    });
    await Promise.all(ending);
  }

  /** Starts a process, and another whenever it ends, until its work is done. */
  #keepAlive(role: string, sessions: readonly string[]): void {
    const isDone = (): boolean => role === 'runner' && sessions.every((id) => this.#done.has(id));
    if (this.#isOver || isDone()) return;
    const seed = Math.floor(this.#random() * 2 ** 30);
    const child = spawn(process.execPath, [this.#options.worker, this.#directory, role, String(seed), ...sessions], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    const ended = new Promise<void>((resolve) => {
      child.on('close', (code) => {
        this.#workers.delete(worker);
        if (code !== null && code !== 0) this.#report.wrong.push(`a ${role} ended with ${code}: ${errors}`);
        this.#keepAlive(role, sessions);
        resolve();
      });
    });
    const worker: Worker = { process: child, ended, isReady: false, isStopped: false };
    this.#workers.add(worker);
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const lines = output.split('\n');
      output = lines.pop() ?? ''; // incomplete: the append may or may not be acknowledged
      for (const line of lines) this.#hear(worker, line);
    });
  }

  #hear(worker: Worker, line: string): void {
    this.#heard = performance.now();
    const [verb, id = ''] = line.split(' ');
    if (verb === 'ready') worker.isReady = true;
    else this.lines.push(line);
    if (verb === 'done') this.#done.add(id);
    if (verb === 'wrong') this.#report.wrong.push(line);
  }

  /** The process that runs one of the sessions: the others mostly wait. */
  async #holder(store: Store): Promise<number | undefined> {
    const id = this.sessions[Math.floor(this.#random() * this.sessions.length)] as string;
    return (await store.readLease(id))?.holder.pid;
  }

  /** Kills or stops a working process: this one, if it works. */
  #disturb(pid: number | undefined): void {
    const ready = [...this.#workers].filter(({ isReady, isStopped }) => isReady && !isStopped);
    const worker = ready.find((one) => one.process.pid === pid) ?? ready[Math.floor(this.#random() * ready.length)];
    if (!worker) return;
    if (this.#random() < 0.75) {
      worker.isReady = false;
      if (worker.process.kill('SIGKILL')) this.#report.kills++;
      return;
    }
    worker.isStopped = true;
    if (!worker.process.kill('SIGSTOP')) return;
    this.#report.stops++;
    const continued = setTimeout(LEASE_MS * (1.2 + this.#random()));
    void continued.then(() => {
      worker.isStopped = false;
      worker.process.kill('SIGCONT');
    });
  }
}

/** The report as text. */
export function reportOf({ wrong, ...counts }: ChaosReport): string {
  const words = Object.entries(counts).map(([name, count]) => `${name}: ${count}`);
  return [`${words.join(', ')}, wrong: ${wrong.length}`, ...wrong.map((one) => `  ${one}`)].join('\n');
}
