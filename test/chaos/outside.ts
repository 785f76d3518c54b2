/**
 * The world outside the processes: one file to which every effect appends a line with O_APPEND, so that the order of the lines is
 * the order in which the effects happened.
 *
 *     act <key> <attempt> <tool>    the effect of a call; void when its attempt was cancelled before
 *     cancel <key> <attempt>        no process may carry out this attempt any more; void when it acted before
 *
 * A process that is stopped between its last check of the lease and its effect acts late, whatever the library does. A real
 * provider rejects such an effect when it was cancelled meanwhile, and so does this one.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { ToolContext } from '../../src/index.ts';

type Call = Pick<ToolContext, 'idempotencyKey' | 'attempt'>;

export interface Outside {
  act(call: Call, tool: string): void;
  /** Whether an attempt has acted. One that has not never will. */
  hasActed(call: Call): boolean;
}

export function outsideFile(path: string): Outside {
  const write = (verb: string, { idempotencyKey, attempt }: Call, tool = ''): void =>
    appendFileSync(path, `${verb} ${idempotencyKey} ${attempt} ${tool}\n`);
  return {
    act: (call, tool) => write('act', call, tool),
    hasActed(call) {
      write('cancel', call);
      return effectsIn(path).acted.get(call.idempotencyKey)?.attempts.includes(call.attempt) ?? false;
    },
  };
}

/** The effects of one call. */
export interface Acted {
  readonly tool: string;
  /** The attempt of each effect: one for a `once` tool. */
  readonly attempts: readonly number[];
}

export interface Effects {
  /** By idempotency key. */
  readonly acted: ReadonlyMap<string, Acted>;
  /** Effects of attempts that were cancelled before. */
  readonly late: number;
  readonly lines: number;
}

export function effectsIn(path: string): Effects {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  const acted = new Map<string, Acted>();
  const cancelled = new Set<string>();
  let late = 0;
  for (const line of lines) {
    const [verb, key = '', number, tool = ''] = line.split(' ');
    const attempt = Number(number);
    const attempts: readonly number[] = acted.get(key)?.attempts ?? [];
    if (verb === 'cancel') {
      if (!attempts.includes(attempt)) cancelled.add(`${key} ${attempt}`);
    } else if (cancelled.has(`${key} ${attempt}`)) late++;
    else acted.set(key, { tool, attempts: [...attempts, attempt] });
  }
  return { acted, late, lines: lines.length };
}
