import { messageOf } from '../../../core/errors.ts';
import type { IntegrityReport } from '../../../ports/store.ts';
import type { Database } from '../driver.ts';
import { RECENT } from '../rows/event-table.ts';

interface Query {
  /** Selects one row for each problem, with the fields that `describe` shows. */
  readonly sql: string;
  readonly describe: (row: Readonly<Record<string, string | number>>) => string;
}

/** Sessions with the seq of their last event; without forks that are being copied. */
const SESSIONS = `(SELECT key, id, indexed_seq, max(sessions.seq, coalesce(recent.seq, 0)) AS seq
  FROM sessions LEFT JOIN ${RECENT} AS recent USING (key) WHERE building_until IS NULL)`;

const QUERIES: readonly Query[] = [
  {
    sql: `SELECT s.id AS id, s.seq AS seq, count(e.seq) AS events, count(DISTINCT e.seq) AS different,
                 coalesce(max(e.seq), 0) AS last
          FROM ${SESSIONS} s LEFT JOIN events e ON e.key = s.key
          GROUP BY s.key HAVING events <> s.seq OR different <> s.seq OR last <> s.seq`,
    describe: ({ id, seq, events, different, last }) =>
      `session ${id} should have the events 1 to ${seq}; it has ${events}, ${different} of them different, up to ${last}`,
  },
  {
    sql: `SELECT key, count(*) AS events FROM events
          WHERE key NOT IN (SELECT key FROM sessions UNION SELECT key FROM doomed) GROUP BY key`,
    describe: ({ key, events }) => `${events} events belong to session number ${key}, which is not there`,
  },
  {
    sql: `SELECT count(*) AS events FROM events e
          WHERE e.position <= (SELECT value FROM counters WHERE name = 'placed') AND NOT EXISTS
            (SELECT 1 FROM places p WHERE p.id = ((e.key << 32) | e.seq) AND p.position = e.position)
          HAVING events > 0`,
    describe: ({ events }) =>
      `${events} events have no place or a wrong one, and are not found when their session is read`,
  },
  {
    sql: `SELECT count(*) AS places FROM places p WHERE NOT EXISTS
            (SELECT 1 FROM events e WHERE e.position = p.position AND p.id = ((e.key << 32) | e.seq))
          HAVING places > 0`,
    describe: ({ places }) => `${places} places lead to no event`,
  },
  {
    sql: `SELECT s.id AS id, e.seq AS seq FROM events e JOIN sessions s USING (key)
          WHERE NOT json_valid(e.data) OR json_type(e.data) <> 'object'`,
    describe: ({ id, seq }) => `event ${seq} of session ${id} is not a JSON object`,
  },
  {
    sql: 'SELECT s.id AS id FROM sessions s JOIN events e USING (key) WHERE e.seq = 1 AND e.append_id IS NULL',
    describe: ({ id }) => `the first event of session ${id} does not begin an append`,
  },
  {
    sql: `SELECT id, indexed_seq, seq FROM ${SESSIONS} WHERE indexed_seq > seq`,
    describe: ({ id, indexed_seq, seq }) => `session ${id} is indexed up to ${indexed_seq} but ends at ${seq}`,
  },
  {
    sql: `SELECT s.id AS id FROM summaries JOIN ${SESSIONS} s USING (key)
          WHERE NOT json_valid(summaries.data) OR summaries.seq > s.seq`,
    describe: ({ id }) => `the summary of session ${id} is not what its events add up to`,
  },
  {
    sql: `SELECT s.id AS id, r.hash AS hash FROM event_contents r JOIN sessions s USING (key)
          WHERE NOT EXISTS (SELECT 1 FROM contents c WHERE c.hash = r.hash)`,
    describe: ({ id, hash }) => `session ${id} refers to content ${hash}, which is missing`,
  },
];

/** Looks at every page and every log. Reads only; a damaged file is a finding, not an error. */
export function checkIntegrity(database: Database): IntegrityReport {
  const problems: string[] = [];
  const look = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      problems.push(`the file cannot be read: ${messageOf(error)}`);
      return undefined;
    }
  };
  look(() => {
    const findings = database.prepareValue<[], string>('PRAGMA integrity_check').all();
    problems.push(...findings.filter((finding) => finding !== 'ok'));
  });
  for (const { sql, describe } of QUERIES) {
    look(() => problems.push(...database.prepare<[], Record<string, string | number>>(sql).all().map(describe)));
  }
  const count = (sql: string): number => look(() => Number(database.prepareValue<[], number>(sql).get())) ?? 0;
  const sessions = count(`SELECT count(*) FROM ${SESSIONS} WHERE seq > 0`);
  // What is being removed or copied cannot be read, and is not counted.
  const events = count(
    'SELECT count(*) FROM events WHERE key IN (SELECT key FROM sessions WHERE building_until IS NULL)',
  );
  return { ok: problems.length === 0, problems, sessions, events };
}
