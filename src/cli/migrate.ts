/** `holdfast migrate`: creates or updates the tables of a PostgreSQL store. */
import { parseArgs } from 'node:util';
import { HoldfastError } from '../core/errors.ts';
import { checkCount } from '../stores/check-arguments.ts';
import { migrateSchema } from '../stores/postgres/open-database.ts';
import { checkSchemaName } from '../stores/postgres/postgres-store.ts';
import type { Command } from './main.ts';

const OPTIONS = {
  schema: { type: 'string', default: 'holdfast' },
  partitions: { type: 'string' },
} as const;

export const migrate: Command = {
  usage: `holdfast migrate <url> [--schema holdfast] [--partitions n]

Creates the tables of a PostgreSQL store, or updates them to the layout of this version. Safe while processes of the old version run,
and for several callers at once. The address may also be in the environment variable DATABASE_URL.

  --schema s       the schema that holds the tables
  --partitions n   splits the log into n partitions by hash; only when the tables are created`,
  async run(args) {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const url = positionals[0] ?? process.env.DATABASE_URL;
    if (url === undefined) {
      throw new HoldfastError('INVALID_ARGUMENT', 'the address is missing; run: holdfast migrate <url>');
    }
    const { schema } = values;
    checkSchemaName(schema);
    const partitions = Number(values.partitions ?? 0);
    checkCount('partitions', partitions);
    const { from, to } = await migrateSchema(url, { schema, partitions });
    console.log(from === to ? `schema ${schema} has layout ${to} already` : `schema ${schema}: layout ${from} → ${to}`);
    return 0;
  },
};
