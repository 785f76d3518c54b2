/**
 * The directory that the demo's agent works in. Its files are real; mails and bookings are files, too, and represent effects that must
 * happen once.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError, type ToolContext } from 'holdfast';

const RECEIPTS: Readonly<Record<string, string>> = {
  'train.txt': 'Train to Lisbon\nEUR 84.50\n',
  'hotel.txt': 'Hotel, two nights\nEUR 210.00\n',
  'dinner.txt': 'Dinner with the customer\nEUR 63.20\n',
};
const EXECUTIONS = 'executions.log';

/** Creates a workspace with the receipts. */
export function prepareWorkspace(dir: string): void {
  for (const folder of ['outbox', 'bookings']) mkdirSync(join(dir, folder), { recursive: true });
  for (const [name, text] of Object.entries(RECEIPTS)) writeFileSync(join(dir, name), text);
}

/** How many times each call was executed, by any process. */
export function executionsIn(dir: string): ReadonlyMap<string, number> {
  const file = join(dir, EXECUTIONS);
  const counts = new Map<string, number>();
  for (const key of existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** The sent mails. */
export function mailsIn(dir: string): readonly string[] {
  return readdirSync(join(dir, 'outbox'));
}

/** A workspace, as the tools use it. */
export class Workspace {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Records that a call is executed. */
  note({ idempotencyKey }: ToolContext): void {
    appendFileSync(join(this.dir, EXECUTIONS), `${idempotencyKey}\n`);
  }

  /** The path of a file that the model names. */
  pathOf(name: string): string {
    if (!/^[\w-]+\.(?:txt|md)$/.test(name))
      throw new HoldfastError('INVALID_ARGUMENT', `"${name}" is not a file of this workspace`);
    return join(this.dir, name);
  }

  /** The file that is a call's mail, or its booking. */
  effectOf(folder: 'outbox' | 'bookings', { idempotencyKey }: ToolContext): string {
    return join(this.dir, folder, `${idempotencyKey.replace(/\W+/g, '_')}.${folder === 'outbox' ? 'eml' : 'txt'}`);
  }
}
