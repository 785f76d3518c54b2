import type { RenewalPart } from '../../leases/renewal-thread.ts';
import { renewLeaseSql } from '../rows/lease-rows.ts';
import type { PostgresDatabase } from './database.ts';

/** How the thread connects: where `pg` was loaded from, and the options of its connection. */
export interface ThreadConnection {
  readonly pgPath: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** The part of the renewal thread that renews a lease in PostgreSQL, over a connection of its own. */
export function renewalPart(database: PostgresDatabase, { pgPath, config }: ThreadConnection): RenewalPart {
  const settings = Object.entries(process.env).filter(([name]) => name.startsWith('PG'));
  return {
    source: RENEWAL_SOURCE,
    data: { pgPath, config, renewSql: renewLeaseSql(database) },
    // `pg` reads what the address does not say from these variables.
    env: Object.fromEntries(settings.map(([name, value]) => [name, value ?? ''])),
  };
}

const RENEWAL_SOURCE: string = `
'use strict';
const { pgPath, config, renewSql } = process.getBuiltinModule('node:worker_threads').workerData;
const pg = process.getBuiltinModule('node:module').createRequire(pgPath)(process.getBuiltinModule('node:url').fileURLToPath(pgPath));

let connection;

function open() {
  connection ??= (async () => {
    const client = new pg.Client(config);
    client.on('error', close);
    await client.connect();
    return client;
  })();
  return connection;
}

function close() {
  const lost = connection;
  connection = undefined;
  lost?.then((client) => client.end()).catch(() => {});
}

let last = Promise.resolve();

/** The new term, 'lost', or undefined when the lease could not be renewed. The driver takes one statement at a time. */
function renew(lease) {
  last = last.then(() => renewNow(lease));
  return last;
}

async function renewNow({ sessionId, fence, ttlMs }) {
  try {
    const client = await open();
    // From before the request: the server grants the time after it.
    const term = { expiresAt: Date.now() + ttlMs, deadline: monotonic() + ttlMs };
    const values = [sessionId, fence, ttlMs, null];
    const { rowCount } = await client.query({ text: renewSql, values, query_timeout: Math.max(ttlMs / 3, 500) });
    return rowCount === 0 ? 'lost' : term;
  } catch {
    close(); // the next attempt connects again
    return undefined;
  }
}
`;
