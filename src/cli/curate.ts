/** `holdfast curate`: shows what a history manager would have sent for a stored conversation. */
import { parseArgs } from 'node:util';
import { HoldfastError } from '../core/errors.ts';
import type { HistoryManager } from '../history/history-manager.ts';
import { formatReplays } from '../history/inspect/curation-report.ts';
import { replayCuration } from '../history/inspect/replay-curation.ts';
import { clearToolResults } from '../history/managers/clear-tool-results.ts';
import { compose } from '../history/managers/compose.ts';
import { passthrough } from '../history/managers/passthrough.ts';
import { slidingWindow } from '../history/managers/sliding-window.ts';
import { tokenBudget } from '../history/managers/token-budget.ts';
import { truncateToolResults } from '../history/managers/truncate-tool-results.ts';
import { openSession } from '../session/session.ts';
import { sqliteStore } from '../stores/sqlite/sqlite-store.ts';
import type { Command } from './main.ts';
import { printable } from './printable.ts';

const OPTIONS = {
  db: { type: 'string', default: 'agent.db' },
  window: { type: 'string' },
  low: { type: 'string' },
  budget: { type: 'string' },
  truncate: { type: 'string' },
  clear: { type: 'string' },
  rows: { type: 'string', default: '12' },
} as const;

export const curate: Command = {
  usage: `holdfast curate <session> [--db agent.db] [--window 50 [--low 25]] [--budget 8000] [--truncate 1000] [--clear 10] [--rows 12]

Replays a recorded conversation under a history manager and prints for each request its messages, its tokens, and the share that a
provider's prompt cache could have reused, compared with sending everything. It only reads the database.

  --window n     slidingWindow of n groups; with --low m it moves in steps, down to m
  --budget n     tokenBudget of n tokens
  --truncate n   truncateToolResults to n characters
  --clear n      clearToolResults except the newest n
  --rows n       the number of requests to list`,
  async run(args) {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const [sessionId] = positionals;
    if (sessionId === undefined)
      throw new HoldfastError('INVALID_ARGUMENT', 'the session is missing; run: holdfast curate <session>');
    const managers = [passthrough(), chosen(values)];
    const rows = count('rows', values.rows);
    const store = await sqliteStore(values.db, { readOnly: true });
    try {
      const session = await openSession({ store, id: sessionId, readOnly: true });
      const replays = managers.map((manager) => replayCuration(session, manager));
      const width = Math.min(80, (process.stdout.columns ?? 80) - 30);
      console.log(printable(formatReplays(replays, { rows, width })));
      return 0;
    } finally {
      await store.close();
    }
  },
};

type Values = { readonly [Name in keyof typeof OPTIONS]?: string | undefined };

/** Builds the manager that the options describe, in the usual order: shorten, then select. */
function chosen({ window, low, budget, truncate, clear }: Values): HistoryManager {
  const managers: HistoryManager[] = [];
  if (truncate !== undefined) managers.push(truncateToolResults({ maxLength: count('truncate', truncate) }));
  if (clear !== undefined) managers.push(clearToolResults({ size: count('clear', clear) }));
  if (window !== undefined) {
    managers.push(
      slidingWindow({ size: count('window', window), ...(low !== undefined && { low: count('low', low) }) }),
    );
  }
  if (budget !== undefined) managers.push(tokenBudget({ max: count('budget', budget) }));
  const [first] = managers;
  if (!first) return slidingWindow({ size: 50, low: 25 });
  return managers.length === 1 ? first : compose(...managers);
}

function count(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new HoldfastError('INVALID_ARGUMENT', `--${name} takes a whole number, not "${text}"`);
  return Number(text);
}
