import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { onTestFinished } from 'vitest';

export const ROOT: string = join(import.meta.dirname, '..', '..');

/** npm's own script, whose path npm passes to every script. */
const NPM = process.env.npm_execpath;

/** The program and the arguments that run npm, for `execFile`. */
export function npm(...args: string[]): [program: string, args: string[]] {
  if (NPM === undefined) throw new Error('run these tests with npm run test:runtimes');
  return [process.execPath, [NPM, ...args]];
}

/** A directory that is removed after the test. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-runtime-')));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A program's output and exit code. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** An empty machine: an empty HOME, and on the path one Node, npm and a shell. */
export interface BareMachine {
  run(cwd: string, program: 'node' | 'npm' | 'npx' | 'sh', ...args: string[]): Promise<Ended>;
}

export function bareMachine(node: string): BareMachine {
  const home = temporaryDirectory();
  const bin = join(temporaryDirectory(), 'bin');
  mkdirSync(bin);
  const [, [npmScript = '']] = npm();
  symlinkSync(node, join(bin, 'node'));
  symlinkSync(npmScript, join(bin, 'npm'));
  symlinkSync(npmScript.replace('npm-cli', 'npx-cli'), join(bin, 'npx'));
  symlinkSync('/bin/sh', join(bin, 'sh'));
  // The only setting that a machine may need to reach its registry.
  const { NODE_EXTRA_CA_CERTS } = process.env;
  const env = { HOME: home, PATH: bin, CI: 'true', ...(NODE_EXTRA_CA_CERTS !== undefined && { NODE_EXTRA_CA_CERTS }) };
  return { run: (cwd, program, ...args) => run(join(bin, program), args, cwd, env) };
}

/** Runs tests of the fast tier on another Node, first on the path as for a user. */
export function runTests(node: string, ...files: string[]): Promise<Ended> {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const bin = join(node, '..');
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    VITEST: undefined,
    NODE_OPTIONS: undefined,
    POINTS: process.env.POINTS ?? '1', // of each scenario of the crash matrix
  };
  return run(node, [vitest, 'run', '--project', 'fast', '--reporter=dot', ...files], ROOT, env);
}

function run(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject).on('close', (code) => resolve({ code, output }));
  });
}
