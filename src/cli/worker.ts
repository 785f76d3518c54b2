/** `holdfast worker`: runs the sessions of a store that have work. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { HoldfastError, messageOf } from '../core/errors.ts';
import { createWorker, type WorkerOptions } from '../worker/create-worker.ts';
import { serveHealth } from '../worker/health.ts';
import type { Command } from './main.ts';
import { printable, printableLine } from './printable.ts';

const OPTIONS = {
  concurrency: { type: 'string' },
  drain: { type: 'string' },
  port: { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
} as const;

export const worker: Command = {
  usage: `holdfast worker <module> [--concurrency 10] [--drain 30] [--port n [--host 127.0.0.1]]

Runs the sessions of a store that have work. The module's default export is the options of createWorker, or a function that returns
them or a promise of them. If it also exports close, that is called at the end: close your store there.

  --concurrency n   how many sessions run at a time
  --drain n         how many seconds running sessions get to end, after a signal
  --port n          serve /health, /ready and /stats

SIGTERM or SIGINT: starts nothing more, waits for what runs, and leaves the rest to the next worker. A second one ends the process.
Exit codes: 0 it was stopped by a signal, 1 it could not start or stop, 2 wrong arguments.`,
  async run(args) {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const [path] = positionals;
    if (path === undefined) {
      throw new HoldfastError('INVALID_ARGUMENT', 'the module is missing; run: holdfast worker <module>');
    }
    const concurrency = count('concurrency', values.concurrency);
    const drain = count('drain', values.drain);
    const port = count('port', values.port);
    const { options, close } = await load(path);
    const running = createWorker({
      onError: (error, { sessionId }) => console.error(lineOf(error, sessionId)),
      ...options,
      ...(concurrency !== undefined && { concurrency }),
      ...(drain !== undefined && { drainMs: drain * 1000 }),
    });
    const stopped = running.stopOn();
    const health = port === undefined ? undefined : await serveHealth(running, { port, host: values.host });
    running.start();
    console.log(`worker ${running.stats().id} is running${health ? `; its health is at ${health.url}/health` : ''}`);
    await stopped;
    const { runs, failures } = running.stats().counts;
    console.log(`worker ${running.stats().id} stopped; runs: ${runs}, failures: ${failures}`);
    await health?.close();
    await close();
    return 0;
  },
};

function lineOf(error: unknown, sessionId: string | undefined): string {
  const where = sessionId === undefined ? '' : `session ${printableLine(sessionId)}: `;
  return `holdfast worker: ${where}${printable(messageOf(error))}`;
}

/** The options that a module exports. */
async function load(
  path: string,
): Promise<{ readonly options: WorkerOptions; readonly close: () => Promise<unknown> }> {
  const module = (await import(pathToFileURL(resolve(path)).href)) as {
    readonly default?: unknown;
    readonly close?: unknown;
  };
  const given: unknown = typeof module.default === 'function' ? await module.default() : await module.default;
  if (typeof given !== 'object' || given === null) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${path} has no default export with the options of createWorker, such as { store, agents }`,
    );
  }
  const { close } = module;
  return { options: given as WorkerOptions, close: async () => (typeof close === 'function' ? close() : undefined) };
}

function count(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text !== '' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new HoldfastError('INVALID_ARGUMENT', `--${name} takes a whole number, not "${text}"`);
}
