import type { AppendRows } from '../../shell/backend.ts';
import type { PostgresDatabase, Statement } from '../connection/database.ts';
import { usable } from '../connection/layout.ts';
import { idHash } from '../rows/session-rows.ts';

/** An append that is ready to be sent. A key is never used again: it also names the incarnation. */
export interface ReadyAppend {
  readonly sessionId: string;
  readonly append: AppendRows<string>;
}

/** A statement with its values. */
export interface Query {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** Appends of up to so many events are sent with a value for each field; PostgreSQL need not take arrays apart. */
const FEW = 4;

/** In the order of `summaryValues`. */
const SUMMARY_COLUMNS = ['summary', 'status', 'work', 'wake_at', 'summary_version'] as const;
const TEXT_TYPES = new Set(['message/recorded', 'message/interrupted', 'source/recorded']);

/** What a summary sets in its session's row; its seq and revision are those of the append. */
function summaryValues({ append: { summary } }: ReadyAppend): readonly unknown[] {
  const { data = null, status = null, work = null, wakeAt = null, version = null } = summary ?? {};
  return [data, status, work, wakeAt, version];
}

function hasText({ append: { events } }: ReadyAppend): boolean {
  return events.some(({ type }) => TEXT_TYPES.has(type));
}

/** Whether the append is only a few events for a session that exists: most are. */
export function isPlain({ append }: ReadyAppend): boolean {
  const { expectedSeq, events, contents, putCalls, dropCalls, endsDrafts } = append;
  if (expectedSeq === 0 || events.length > FEW) return false;
  return contents.length + putCalls.length + dropCalls.length + endsDrafts.length === 0;
}

/** The statements of plain appends by database: their texts are long, and building one costs as much as sending it. */
const PLAIN = new WeakMap<PostgresDatabase, Map<string, Statement>>();

/** What a plain append has. Each combination is a statement of its own: a value that is not sent costs nothing. */
interface PlainForm {
  readonly length: number;
  readonly isFenced: boolean;
  /** Whether the caller names an incarnation. */
  readonly isNamed: boolean;
  readonly hasText: boolean;
  readonly hasSummary: boolean;
}

/**
 * One plain append: checks sequence, revision and fence, updates the session and inserts its events. It returns no rows: the number of
 * rows that it wrote says whether it was refused, and reading a returned row costs as much as the insert.
 */
export function plainAppend(database: PostgresDatabase, ready: ReadyAppend): Query {
  const { key, expectedSeq, revision, id, events, fence, incarnation, summary } = ready.append;
  const form: PlainForm = {
    length: events.length,
    isFenced: fence !== undefined,
    isNamed: incarnation !== undefined,
    hasText: hasText(ready),
    hasSummary: summary !== undefined,
  };
  const values: unknown[] = [key, expectedSeq, revision, id];
  for (const { at, type, data } of events) values.push(at, type, data);
  if (form.isFenced) values.push(fence);
  if (form.isNamed) values.push(incarnation);
  if (form.hasSummary) values.push(...summaryValues(ready));
  return { statement: plainStatement(database, form), values };
}

function plainStatement(database: PostgresDatabase, form: PlainForm): Statement {
  const { length, isFenced, isNamed, hasText, hasSummary } = form;
  const known = PLAIN.get(database) ?? new Map<string, Statement>();
  PLAIN.set(database, known);
  const flags = `${isFenced ? 'f' : ''}${isNamed ? 'i' : ''}${hasText ? 't' : ''}${hasSummary ? 's' : ''}`;
  const name = `append${length}${flags}`;
  const statement = known.get(name) ?? { name, text: plainText(database, form) };
  known.set(name, statement);
  return statement;
}

function plainText(database: PostgresDatabase, form: PlainForm): string {
  const { length, isFenced, isNamed, hasText, hasSummary } = form;
  const column = (event: number, field: number): string => `$${5 + 3 * event + field}::text`;
  const columns = (event: number): string => [0, 1, 2].map((field) => column(event, field)).join(', ');
  const at = column(length - 1, 0);
  let next = 5 + 3 * length;
  const fenced = isFenced ? ` AND fence = $${next++}::bigint` : '';
  const named = isNamed ? ` AND incarnation = $${next++}` : '';
  const set = [`seq = $2::int + ${length}`, 'last_append = $4', `updated_at = ${at}`, `updated_hour = left(${at}, 13)`];
  if (hasText) set.push('unindexed = true');
  if (hasSummary) {
    set.push(...SUMMARY_COLUMNS.map((name) => `${name} = $${next++}`));
    set.push(`summary_seq = $2::int + ${length}`, 'summary_revision = $3');
  }
  const rows = Array.from({ length }, (_, i) => `(${i + 1}, ${i === 0 ? '$4::text' : 'NULL'}, ${columns(i)})`);
  const events =
    length === 1
      ? `SELECT key, $2::int + 1, $4, ${columns(0)} FROM appended`
      : `SELECT key, $2::int + n, append_id, at, type, data
         FROM appended CROSS JOIN (VALUES ${rows.join(', ')}) AS v (n, append_id, at, type, data)`;
  return `WITH appended AS (
      UPDATE ${database.table('sessions')} SET ${set.join(', ')}
      WHERE key = $1 AND seq = $2 AND revision = $3 AND last_append IS DISTINCT FROM $4${fenced}${named} AND ${usable(database)}
      RETURNING key)
    INSERT INTO ${database.table('events')} (key, seq, append_id, at, type, data)
    ${events}`;
}

/**
 * Appends of several sessions in one statement, each with its own checks: one that is refused does not disturb the others (D51). Rows
 * are locked in the order of their keys, so that two processes cannot block each other. A session whose row another process has locked is
 * refused if there are others, which would wait for it.
 */
export function groupAppend(database: PostgresDatabase, appends: readonly ReadyAppend[]): Query {
  const each = <T>(read: (append: AppendRows<string>) => T): readonly T[] => appends.map(({ append }) => read(append));
  const summaries = appends.map(summaryValues);
  const events = appends.flatMap(({ append }, n) => append.events.map((event, i) => ({ ...event, n, i: i + 1 })));
  const values: unknown[] = [
    appends.map(({ sessionId }) => sessionId),
    each(({ expectedSeq }) => expectedSeq),
    each(({ incarnation = null }) => incarnation),
    each(({ revision }) => revision),
    each(({ id }) => id),
    each(({ fence = null }) => fence),
    each(({ key = null }) => key),
    each((append) => append.events.at(-1)?.at ?? ''),
    appends.map(hasText),
    each((append) => append.events.length),
    ...SUMMARY_COLUMNS.map((_, i) => summaries.map((row) => row[i])),
    events.map(({ n }) => n),
    events.map(({ i }) => i),
    events.map(({ at }) => at),
    events.map(({ type }) => type),
    events.map(({ data }) => data),
  ];
  const others = appends.length > 1 ? ' SKIP LOCKED' : '';
  const parts: string[] = [];
  const sources = ['SELECT n, key FROM updated'];
  let flags = '';
  /** Adds a list of values, and the statement that uses it. */
  const add = (flag: string, lists: readonly (readonly unknown[])[], part: (first: number) => string): void => {
    if (lists[0]?.length === 0) return;
    const first = values.length + 1;
    values.push(...lists);
    parts.push(part(first));
    flags += flag;
  };
  if (appends.some(({ append }) => append.expectedSeq === 0)) {
    sources.push('SELECT n, key FROM created_here');
    add('n', [appends.map(({ sessionId }) => idHash(sessionId))], (first) => createdPart(database, first));
  }
  addBelongings(database, appends, add);
  const set = [
    ...[...SUMMARY_COLUMNS.slice(0, 4).map((name) => [name, `i.${name}`]), ['summary_version', 'i.version']],
    ...[
      ['summary_seq', 'i.expected + i.count'],
      ['summary_revision', 'i.revision'],
    ],
  ].map(([name, value]) => `${name} = CASE WHEN i.summary IS NULL THEN s.${name} ELSE ${value} END`);
  const text = `WITH input AS (
      SELECT *, n - 1 AS place FROM unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::text[], $6::bigint[], $7::bigint[], $8::text[],
        $9::boolean[], $10::int[], $11::text[], $12::text[], $13::text[], $14::text[], $15::int[]) WITH ORDINALITY AS
        t (id, expected, incarnation, revision, append_id, fence, key, updated_at, has_text, count, summary, status, work, wake_at, version, n)
    ), locked AS (
      SELECT key, id, seq, incarnation, revision, fence, last_append FROM ${database.table('sessions')}
      WHERE id = ANY ($1::text[]) ORDER BY key FOR NO KEY UPDATE${others}
    ), updated AS (
      UPDATE ${database.table('sessions')} s SET seq = i.expected + i.count, last_append = i.append_id, updated_at = i.updated_at,
        updated_hour = left(i.updated_at, 13), unindexed = s.unindexed OR i.has_text, ${set.join(', ')}
      FROM input i JOIN locked l USING (id)
      WHERE s.key = l.key AND l.seq = i.expected AND l.revision = i.revision AND l.last_append IS DISTINCT FROM i.append_id
        AND (i.key IS NULL OR l.key = i.key) AND (i.incarnation IS NULL OR l.incarnation = i.incarnation)
        AND (i.fence IS NULL OR l.fence = i.fence) AND ${usable(database)}
      RETURNING i.place AS n, s.key AS key
    )${sources.length > 1 ? parts.shift() : ''}, appended AS (
      SELECT a.n, a.key, i.expected, i.append_id FROM (${sources.join(' UNION ALL ')}) a JOIN input i ON i.place = a.n
    ), inserted AS (
      INSERT INTO ${database.table('events')} (key, seq, append_id, at, type, data)
      SELECT a.key, a.expected + e.i, CASE e.i WHEN 1 THEN a.append_id END, e.at, e.type, e.data
      FROM unnest($16::int[], $17::int[], $18::text[], $19::text[], $20::text[]) AS e (n, i, at, type, data) JOIN appended a USING (n)
    )${parts.join('')}
    SELECT n::int AS n, key::text AS key FROM appended`;
  return { statement: { name: `group-${others && 's'}${flags}`, text }, values };
}

/** Creates the sessions that do not exist. The row in `lives` fails the statement when another process creates the same one. */
function createdPart(database: PostgresDatabase, first: number): string {
  return `, fresh AS (
      SELECT i.*, h.id_hash, 1 + coalesce((SELECT max(incarnation) FROM ${database.table('lives')} v WHERE v.id_hash = h.id_hash), 0) AS life
      FROM input i JOIN unnest($${first}::text[]) WITH ORDINALITY AS h (id_hash, n) ON h.n = i.n
      WHERE i.expected = 0 AND i.fence IS NULL AND ${usable(database)}
        AND NOT EXISTS (SELECT 1 FROM locked WHERE locked.id = i.id)
    ), created AS (
      INSERT INTO ${database.table('sessions')}
        (id, incarnation, seq, last_append, updated_at, updated_hour, unindexed, summary, status, work, wake_at, summary_version, summary_seq)
      SELECT id, life, count, append_id, updated_at, left(updated_at, 13), has_text, summary, status, work, wake_at, version, count
      FROM fresh WHERE incarnation IS NULL OR incarnation = life ORDER BY id
      ON CONFLICT (id) DO NOTHING
      RETURNING id, key
    ), born AS (
      INSERT INTO ${database.table('lives')} (id_hash, incarnation) SELECT id_hash, life FROM fresh JOIN created USING (id)
    ), created_here AS (
      SELECT f.place AS n, c.key FROM created c JOIN fresh f USING (id)
    )`;
}

/** What an append stores outside its events, and what ends with it. */
function addBelongings(
  database: PostgresDatabase,
  appends: readonly ReadyAppend[],
  add: (flag: string, lists: readonly (readonly unknown[])[], part: (first: number) => string) => void,
): void {
  const contents = appends.flatMap(({ append }, n) => append.contents.map((content) => ({ ...content, n })));
  add(
    'c',
    [
      contents.map(({ n }) => n),
      contents.map(({ seq }) => seq),
      contents.map(({ hash }) => hash),
      contents.map(({ text }) => text),
    ],
    (first) => `, stored AS (
      INSERT INTO ${database.table('contents')} (key, hash, text)
      SELECT a.key, c.hash, c.text FROM unnest($${first}::int[], $${first + 2}::text[], $${first + 3}::text[]) AS c (n, hash, text)
        JOIN appended a USING (n)
      ON CONFLICT DO NOTHING
    ), referred AS (
      INSERT INTO ${database.table('event_contents')} (key, seq, hash)
      SELECT a.key, c.seq, c.hash FROM unnest($${first}::int[], $${first + 1}::int[], $${first + 2}::text[]) AS c (n, seq, hash)
        JOIN appended a USING (n)
      ON CONFLICT DO NOTHING
    )`,
  );
  const puts = appends.flatMap(({ append: { putCalls, dropCalls } }, n) => {
    const last = new Map(putCalls.map(({ call, text }) => [call, text]));
    return [...last].filter(([call]) => !dropCalls.includes(call)).map(([call, text]) => ({ n, call, text }));
  });
  add(
    'p',
    [puts.map(({ n }) => n), puts.map(({ call }) => call), puts.map(({ text }) => text)],
    (first) => `, put AS (
      INSERT INTO ${database.table('call_contents')} (key, call, text)
      SELECT a.key, p.call, p.text FROM unnest($${first}::int[], $${first + 1}::text[], $${first + 2}::text[]) AS p (n, call, text)
        JOIN appended a USING (n)
      ON CONFLICT (key, call) DO UPDATE SET text = excluded.text
    )`,
  );
  const drops = appends.flatMap(({ append }, n) => append.dropCalls.map((call) => ({ n, call })));
  add(
    'd',
    [drops.map(({ n }) => n), drops.map(({ call }) => call)],
    (first) => `, dropped AS (
      DELETE FROM ${database.table('call_contents')} c USING appended a, unnest($${first}::int[], $${first + 1}::text[]) AS d (n, call)
      WHERE a.n = d.n AND c.key = a.key AND c.call = d.call
    )`,
  );
  const ends = appends.flatMap(({ append }, n) => append.endsDrafts.map((draftId) => ({ n, draftId })));
  add(
    'e',
    [ends.map(({ n }) => n), ends.map(({ draftId }) => draftId)],
    (first) => `, ended AS (
      DELETE FROM ${database.table('drafts')} f USING appended a, unnest($${first}::int[], $${first + 1}::text[]) AS d (n, draft_id)
      WHERE a.n = d.n AND f.key = a.key AND f.draft_id = d.draft_id
    )`,
  );
}
