import { messageOf } from '../../../core/errors.ts';
import type { IntegrityReport } from '../../../ports/store.ts';
import type { PostgresDatabase } from './database.ts';

interface Check {
  /** Selects one row for each problem, with the fields that `describe` shows. */
  readonly sql: string;
  readonly describe: (row: Readonly<Record<string, string | number>>) => string;
}

/** The checks; `t` quotes the name of a table. */
function checks(t: (name: string) => string): readonly Check[] {
  const sessions = `(SELECT * FROM ${t('sessions')} WHERE building_until IS NULL)`;
  return [
    {
      sql: `SELECT s.id, s.seq, count(e.seq)::int AS events, coalesce(max(e.seq), 0) AS last
            FROM ${sessions} s LEFT JOIN ${t('events')} e ON e.key = s.key
            GROUP BY s.key, s.id, s.seq HAVING count(e.seq) <> s.seq OR coalesce(max(e.seq), 0) <> s.seq`,
      describe: ({ id, seq, events, last }) =>
        `session ${id} should have the events 1 to ${seq}; it has ${events}, up to ${last}`,
    },
    {
      sql: `SELECT key::text AS key, count(*)::int AS events FROM ${t('events')} e
            WHERE NOT EXISTS (SELECT 1 FROM ${t('sessions')} s WHERE s.key = e.key)
              AND NOT EXISTS (SELECT 1 FROM ${t('doomed')} d WHERE d.key = e.key) GROUP BY key`,
      describe: ({ key, events }) => `${events} events belong to session number ${key}, which is not there`,
    },
    {
      sql: `SELECT s.id FROM ${sessions} s JOIN ${t('events')} e ON e.key = s.key AND e.seq = 1 WHERE e.append_id IS NULL`,
      describe: ({ id }) => `the first event of session ${id} does not begin an append`,
    },
    {
      sql: `SELECT s.id, e.seq FROM ${sessions} s JOIN ${t('events')} e ON e.key = s.key WHERE left(e.data, 1) <> '{' OR right(e.data, 1) <> '}'`,
      describe: ({ id, seq }) => `event ${seq} of session ${id} is not a JSON object`,
    },
    {
      sql: `SELECT id FROM ${sessions} s WHERE seq > 0 AND (summary IS NULL OR left(summary, 1) <> '{')`,
      describe: ({ id }) => `session ${id} has no summary`,
    },
    {
      sql: `SELECT DISTINCT s.id, r.hash FROM ${sessions} s JOIN ${t('event_contents')} r ON r.key = s.key
            WHERE NOT EXISTS (SELECT 1 FROM ${t('contents')} c WHERE c.key = r.key AND c.hash = r.hash)`,
      describe: ({ id, hash }) => `session ${id} refers to content ${hash}, which is missing`,
    },
    {
      sql: `SELECT s.id, c.hash FROM ${sessions} s JOIN ${t('contents')} c ON c.key = s.key
            WHERE NOT EXISTS (SELECT 1 FROM ${t('event_contents')} r WHERE r.key = c.key AND r.hash = c.hash)`,
      describe: ({ id, hash }) => `content ${hash} of session ${id} has no event that refers to it`,
    },
    {
      sql: `SELECT id, indexed_seq, seq FROM ${sessions} s WHERE indexed_seq > seq`,
      describe: ({ id, indexed_seq, seq }) => `session ${id} is indexed up to ${indexed_seq} but ends at ${seq}`,
    },
  ];
}

/** Looks for damage that the store would not notice by itself, in one snapshot of the database. */
export async function checkIntegrity(database: PostgresDatabase): Promise<IntegrityReport> {
  return database.transaction(async (sql) => {
    await sql.query({ text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY' });
    const problems: string[] = [];
    const t = (name: string): string => database.table(name);
    for (const { sql: text, describe } of checks(t)) {
      try {
        problems.push(...(await sql.query<Record<string, string | number>>({ text })).map(describe));
      } catch (error) {
        if (!/XX00[12]/.test(String((error as { readonly code?: unknown }).code))) throw error;
        return { ok: false, problems: [`the database cannot be read: ${messageOf(error)}`], sessions: 0, events: 0 };
      }
    }
    const [counts] = await sql.query<{ readonly sessions: number; readonly events: number }>({
      text: `SELECT count(*)::int AS sessions, coalesce(sum(seq), 0)::float8 AS events FROM ${t('sessions')}
             WHERE seq > 0 AND building_until IS NULL`,
    });
    const { sessions = 0, events = 0 } = counts ?? {};
    return { ok: problems.length === 0, problems, sessions, events };
  });
}
