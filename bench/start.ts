/** The time a process takes from its start to its end, compared with an empty Node program. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { builtPackage } from './built-package.ts';
import { atMost, info, median, type Section } from './figure.ts';

const NAME = 'start';
const ROUNDS = 41;

export const section: Section = {
  name: NAME,
  about: 'whole processes of the built package, beside an empty Node program',
  async *run() {
    const dist = builtPackage();
    const dir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
    try {
      const processes = new Processes(dir, dist);
      for (let round = 0; round <= ROUNDS; round++) processes.runEach(round);
      const { ratio, note } = processes;
      yield info(NAME, 'importing holdfast', ratio('index'), note('index'));
      yield info(NAME, 'importing holdfast/sqlite', ratio('sqlite'), note('sqlite'));
      yield info(NAME, 'importing both', ratio('both'), note('both'));
      yield atMost(NAME, 'importing both and opening a new database', ratio('open'), 2.5, note('open'));
      yield info(NAME, 'the same with NODE_COMPILE_CACHE', ratio('cached'), note('cached'));
      yield info(NAME, 'the same, and opening a session', ratio('session'), note('session'));
      yield atMost(NAME, 'holdfast --help', ratio('help'), 1.5, note('help'));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

type Name = 'empty' | 'index' | 'sqlite' | 'both' | 'open' | 'cached' | 'session' | 'help';

/** Starts every program once a round: the machine's speed drifts, the ratio within a round does not. */
class Processes {
  readonly #dir: string;
  readonly #commands: Readonly<Record<Name, readonly string[]>>;
  readonly #cached: NodeJS.ProcessEnv;
  readonly #samples = new Map<Name, number[]>();

  constructor(dir: string, dist: string) {
    this.#dir = dir;
    const entry = (name: string): string => JSON.stringify(pathToFileURL(join(dist, `${name}.js`)).href);
    const program = (name: string, ...lines: string[]): readonly string[] => {
      const file = join(dir, `${name}.mjs`);
      writeFileSync(file, lines.join('\n'));
      return [file];
    };
    const imports = [
      `import { openSession } from ${entry('index')};`,
      `import { sqliteStore } from ${entry('sqlite')};`,
    ];
    const opening = 'const store = await sqliteStore(process.argv[2]);';
    const open = program('open', ...imports, opening);
    this.#commands = {
      empty: program('empty'),
      index: program('index', `import ${entry('index')};`),
      sqlite: program('sqlite', `import ${entry('sqlite')};`),
      both: program('both', ...imports),
      open,
      cached: open,
      session: program('session', ...imports, opening, "await openSession({ store, id: 'start' });"),
      help: [join(dist, 'cli', 'holdfast.js'), '--help'],
    };
    this.#cached = { ...process.env, NODE_COMPILE_CACHE: join(dir, 'compiled') };
  }

  /** The first round is not counted: it fills the caches of the system, and that of compiled code. */
  runEach(round: number): void {
    for (const name of Object.keys(this.#commands) as Name[]) {
      const ms = this.#run(name, round);
      if (round > 0) this.#samples.set(name, [...this.#of(name), ms]);
    }
  }

  readonly ratio = (name: Name): number => {
    const empty = this.#of('empty');
    return median(this.#of(name).map((ms, i) => ms / (empty[i] ?? Number.NaN)));
  };

  readonly note = (name: Name): string =>
    `${median(this.#of(name)).toFixed(0)} ms against ${median(this.#of('empty')).toFixed(0)} ms`;

  #of(name: Name): readonly number[] {
    return this.#samples.get(name) ?? [];
  }

  #run(name: Name, round: number): number {
    const files = join(this.#dir, `${name}-${round}`);
    mkdirSync(files);
    const [script = '', ...args] = this.#commands[name];
    const env = name === 'cached' ? this.#cached : process.env;
    const began = performance.now();
    const { status, stderr } = spawnSync(
      process.execPath,
      [script, ...(args.length > 0 ? args : [join(files, 'agent.db')])],
      { env },
    );
    const ms = performance.now() - began;
    if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
    rmSync(files, { recursive: true });
    return ms;
  }
}
