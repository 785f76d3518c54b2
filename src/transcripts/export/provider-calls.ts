import { parseJson } from '../json-access.ts';
import type { ChatCall } from './chat.ts';
import type { LossReport } from './losses.ts';

const VALID_ID = /^[A-Za-z0-9_-]{1,40}$/;
const VALID_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Ids and names of calls as providers accept them: short, plain and, for ids, each used once (D11). */
export class ProviderCallIds {
  readonly #used = new Set<string>();
  readonly #losses: LossReport;

  constructor(losses: LossReport) {
    this.#losses = losses;
  }

  id(wanted: string): string {
    let id = wanted;
    if (!VALID_ID.test(id) || this.#used.has(id)) {
      id = `call_${this.#used.size + 1}`;
      for (let n = 2; this.#used.has(id); n++) id = `call_${this.#used.size + n}`;
      this.#losses.add('call id', 'changed: providers take short ids of letters and digits, each once', wanted);
    }
    this.#used.add(id);
    return id;
  }

  name(wanted: string): string {
    if (VALID_NAME.test(wanted)) return wanted;
    this.#losses.add('tool name', 'changed: providers take up to 64 letters, digits, _ and -', wanted);
    return wanted.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'tool';
  }
}

/** What stands for a result that was never recorded: providers refuse a call without one. */
export const NO_RESULT = 'No result was recorded.';

/** The arguments of a call as the object that providers insist on. */
export function objectArguments(call: ChatCall, losses: LossReport): object {
  const input = parseJson(call.arguments);
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input;
  if (call.arguments.trim() === '') return {};
  losses.add('arguments of a call', 'they are no JSON object; their text stands in a field "arguments"', call.id);
  return { arguments: call.arguments };
}
