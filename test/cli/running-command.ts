/** `holdfast …` as a process that runs until a signal ends it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

const COMMAND = join(import.meta.dirname, '..', '..', 'src', 'cli', 'holdfast.ts');
const AS_TERMINAL = join(import.meta.dirname, 'as-terminal.ts');

export interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly isTerminal?: boolean;
}

/** A command, what it has printed, and how it ended. */
export class RunningCommand {
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], { env = {}, isTerminal = false }: CommandOptions = {}) {
    const { CI: _, DISPLAY: __, WAYLAND_DISPLAY: ___, ...inherited } = process.env;
    const preload = isTerminal ? ['--import', AS_TERMINAL] : [];
    this.#process = spawn(process.execPath, [...preload, COMMAND, ...args], {
      env: { ...inherited, NO_COLOR: '1', FORCE_COLOR: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = once(this.#process, 'close').then(([code, signal]) => ({ code, signal }));
  }

  /** Resolves with the match when the command has printed it; rejects when it ends before. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const isOver = this.ended.then(() => 'over' as const);
    for (;;) {
      const found = pattern.exec(this.stdout);
      if (found) return found;
      const next = await Promise.race([once(this.#process.stdout, 'data'), isOver]);
      if (next !== 'over' || pattern.test(this.stdout)) continue;
      throw new Error(`it ended without ${pattern}:\n${this.stdout}${this.stderr}`);
    }
  }

  /** The address of Studio, as it was printed. */
  async address(): Promise<URL> {
    const [, address = ''] = await this.printed(/Studio (http\S+)/);
    return new URL(address);
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Ends it and waits. */
  async stop(): Promise<void> {
    this.kill('SIGTERM');
    await this.ended;
  }
}
