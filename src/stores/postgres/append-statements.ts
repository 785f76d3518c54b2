import type { SessionSummary } from '../../core/summary/session-summary.ts';
import type { AppendOptions } from '../../ports/store.ts';
import type { EncodedEvent } from '../encoded-event.ts';
import type { PostgresDatabase, Statement } from './database.ts';
import { usable } from './layout.ts';
import { idHash } from './session-rows.ts';

/** The state of a session that an append continues: what the statement requires, and the summary that the append adds to. */
export interface AppendBase {
  /** Absent for the first append of a session. A key is never used again: it also names the incarnation. */
  readonly key?: string;
  readonly incarnation: number | undefined;
  readonly revision: number;
  readonly summary: SessionSummary | undefined;
}

/** An append that is ready to be sent. */
export interface ReadyAppend {
  readonly sessionId: string;
  readonly encoded: readonly EncodedEvent[];
  readonly options: AppendOptions;
  readonly base: AppendBase;
  /** The summary after the append. */
  readonly summary: SessionSummary;
}

/** A statement with its values. */
export interface Query {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** Appends of up to so many events are sent with a value for each field; PostgreSQL need not take arrays apart. */
const FEW = 4;

const TEXT_TYPES = new Set(['message/recorded', 'message/interrupted', 'source/recorded']);

/** The columns of a session's row that are derived from its summary. */
function statusColumns({ summary }: ReadyAppend): readonly unknown[] {
  return [summary.status ?? null, summary.work ?? null, summary.wakeAt ?? null];
}

function changesStatus({ base: { summary: before }, summary: after }: ReadyAppend): boolean {
  if (!before) return true; // the row has none that can be read
  return after.status !== before.status || after.work !== before.work || after.wakeAt !== before.wakeAt;
}

function hasText({ encoded }: ReadyAppend): boolean {
  return encoded.some(({ type }) => TEXT_TYPES.has(type));
}

/** The columns of a session's row that an append sets. */
function columnsOf(append: ReadyAppend): readonly unknown[] {
  const { encoded, base, summary } = append;
  const changed = summary === base.summary ? null : JSON.stringify(summary);
  return [encoded.at(-1)?.at ?? '', changed, ...statusColumns(append), hasText(append)];
}

/** Whether the append is only a few events for a session that exists: most are. */
export function isPlain({ encoded, options }: Pick<ReadyAppend, 'encoded' | 'options'>): boolean {
  const { expectedSeq, contents, callContents, endsDrafts } = options;
  return expectedSeq > 0 && encoded.length <= FEW && !contents?.length && !callContents && !endsDrafts?.length;
}

/** The statements of plain appends by database: their texts are long, and building one costs as much as sending it. */
const PLAIN = new WeakMap<PostgresDatabase, Map<string, Statement>>();

/** What a plain append has. Each combination is a statement of its own: a value that is not sent costs nothing. */
interface PlainForm {
  readonly length: number;
  readonly isFenced: boolean;
  readonly hasText: boolean;
  readonly changesSummary: boolean;
  /** Whether it changes a column that is derived from the summary: most changes are only counts. */
  readonly changesStatus: boolean;
}

/**
 * One plain append: checks sequence, revision and fence, updates the session and inserts its events. It returns no rows: the number of
 * rows that it wrote says whether it was refused, and reading a returned row costs as much as the insert.
 */
export function plainAppend(database: PostgresDatabase, append: ReadyAppend): Query {
  const { encoded, options, base, summary } = append;
  const form: PlainForm = {
    length: encoded.length,
    isFenced: options.fence !== undefined,
    hasText: hasText(append),
    changesSummary: summary !== base.summary,
    changesStatus: changesStatus(append),
  };
  const values: unknown[] = [base.key, options.expectedSeq, base.revision, options.id];
  for (const { at, type, data } of encoded) values.push(at, type, data);
  if (form.isFenced) values.push(options.fence);
  if (form.changesSummary) values.push(JSON.stringify(summary));
  if (form.changesStatus) values.push(...statusColumns(append));
  return { statement: plainStatement(database, form), values };
}

function plainStatement(database: PostgresDatabase, form: PlainForm): Statement {
  const { length, isFenced, hasText, changesSummary, changesStatus } = form;
  const known = PLAIN.get(database) ?? new Map<string, Statement>();
  PLAIN.set(database, known);
  const summary = changesStatus ? 'w' : changesSummary ? 's' : '';
  const name = `append${length}${isFenced ? 'f' : ''}${hasText ? 't' : ''}${summary}`;
  const statement = known.get(name) ?? { name, text: plainText(database, form) };
  known.set(name, statement);
  return statement;
}

function plainText(database: PostgresDatabase, form: PlainForm): string {
  const { length, isFenced, hasText, changesSummary, changesStatus } = form;
  const column = (event: number, field: number): string => `$${5 + 3 * event + field}::text`;
  const columns = (event: number): string => [0, 1, 2].map((field) => column(event, field)).join(', ');
  const at = column(length - 1, 0);
  let next = 5 + 3 * length;
  const fenced = isFenced ? ` AND fence = $${next++}::bigint` : '';
  const set = [`seq = $2::int + ${length}`, 'last_append = $4', `updated_at = ${at}`, `updated_hour = left(${at}, 13)`];
  if (hasText) set.push('unindexed = true');
  if (changesSummary) set.push(`summary = $${next++}`);
  if (changesStatus) set.push(...['status', 'work', 'wake_at'].map((name) => `${name} = $${next++}`));
  const rows = Array.from({ length }, (_, i) => `(${i + 1}, ${i === 0 ? '$4::text' : 'NULL'}, ${columns(i)})`);
  const events =
    length === 1
      ? `SELECT key, $2::int + 1, $4, ${columns(0)} FROM appended`
      : `SELECT key, $2::int + n, append_id, at, type, data
         FROM appended CROSS JOIN (VALUES ${rows.join(', ')}) AS v (n, append_id, at, type, data)`;
  return `WITH appended AS (
      UPDATE ${database.table('sessions')} SET ${set.join(', ')}
      WHERE key = $1 AND seq = $2 AND revision = $3 AND last_append IS DISTINCT FROM $4${fenced} AND ${usable(database)}
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
  const columns = appends.map((append) => columnsOf(append));
  const column = (i: number): readonly unknown[] => columns.map((row) => row[i]);
  const events = appends.flatMap(({ encoded }, n) => encoded.map((event, i) => ({ ...event, n, i: i + 1 })));
  const values: unknown[] = [
    appends.map(({ sessionId }) => sessionId),
    appends.map(({ options }) => options.expectedSeq),
    appends.map(({ base }) => base.incarnation ?? null),
    appends.map(({ base }) => base.revision),
    appends.map(({ options }) => options.id),
    appends.map(({ options }) => options.fence ?? null),
    ...[0, 1, 2, 3, 4, 5].map(column),
    appends.map(({ encoded }) => encoded.length),
    events.map(({ n }) => n),
    events.map(({ i }) => i),
    events.map(({ at }) => at),
    events.map(({ type }) => type),
    events.map(({ data }) => data),
  ];
  const others = appends.length > 1 ? ' SKIP LOCKED' : '';
  const parts: string[] = [];
  const sources = ['SELECT n, key, incarnation FROM updated'];
  let flags = '';
  /** Adds a list of values, and the statement that uses it. */
  const add = (flag: string, lists: readonly (readonly unknown[])[], part: (first: number) => string): void => {
    if (lists[0]?.length === 0) return;
    const first = values.length + 1;
    values.push(...lists);
    parts.push(part(first));
    flags += flag;
  };
  if (appends.some(({ options }) => options.expectedSeq === 0)) {
    sources.push('SELECT n, key, incarnation FROM created_here');
    add('n', [appends.map(({ sessionId }) => idHash(sessionId))], (first) => createdPart(database, first));
  }
  addBelongings(database, appends, add);
  const text = `WITH input AS (
      SELECT *, n - 1 AS place FROM unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::text[], $6::bigint[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::boolean[], $13::int[]) WITH ORDINALITY AS
        t (id, expected, incarnation, revision, append_id, fence, updated_at, summary, status, work, wake_at, has_text, count, n)
    ), locked AS (
      SELECT key, id, seq, incarnation, revision, fence, last_append FROM ${database.table('sessions')}
      WHERE id = ANY ($1::text[]) ORDER BY key FOR NO KEY UPDATE${others}
    ), updated AS (
      UPDATE ${database.table('sessions')} s SET seq = i.expected + i.count, last_append = i.append_id, updated_at = i.updated_at,
        updated_hour = left(i.updated_at, 13), summary = coalesce(i.summary, s.summary), status = i.status, work = i.work,
        wake_at = i.wake_at, unindexed = s.unindexed OR i.has_text
      FROM input i JOIN locked l USING (id)
      WHERE s.key = l.key AND l.seq = i.expected AND l.revision = i.revision AND l.last_append IS DISTINCT FROM i.append_id
        AND (i.incarnation IS NULL OR l.incarnation = i.incarnation)
        AND (i.fence IS NULL OR l.fence = i.fence) AND ${usable(database)}
      RETURNING i.place AS n, s.key AS key, s.incarnation
    )${sources.length > 1 ? parts.shift() : ''}, appended AS (
      SELECT a.n, a.key, a.incarnation, i.expected, i.append_id FROM (${sources.join(' UNION ALL ')}) a JOIN input i ON i.place = a.n
    ), inserted AS (
      INSERT INTO ${database.table('events')} (key, seq, append_id, at, type, data)
      SELECT a.key, a.expected + e.i, CASE e.i WHEN 1 THEN a.append_id END, e.at, e.type, e.data
      FROM unnest($14::int[], $15::int[], $16::text[], $17::text[], $18::text[]) AS e (n, i, at, type, data) JOIN appended a USING (n)
    )${parts.join('')}
    SELECT n::int AS n, key::text AS key, incarnation FROM appended`;
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
        (id, incarnation, seq, last_append, updated_at, updated_hour, summary, status, work, wake_at, unindexed)
      SELECT id, life, count, append_id, updated_at, left(updated_at, 13), summary, status, work, wake_at, has_text
      FROM fresh WHERE incarnation IS NULL OR incarnation = life ORDER BY id
      ON CONFLICT (id) DO NOTHING
      RETURNING id, key, incarnation
    ), born AS (
      INSERT INTO ${database.table('lives')} (id_hash, incarnation) SELECT id_hash, life FROM fresh JOIN created USING (id)
    ), created_here AS (
      SELECT f.place AS n, c.key, c.incarnation FROM created c JOIN fresh f USING (id)
    )`;
}

/** What an append stores outside its events, and what ends with it. */
function addBelongings(
  database: PostgresDatabase,
  appends: readonly ReadyAppend[],
  add: (flag: string, lists: readonly (readonly unknown[])[], part: (first: number) => string) => void,
): void {
  const contents = appends.flatMap(({ options }, n) => (options.contents ?? []).map((content) => ({ ...content, n })));
  add(
    'c',
    [
      contents.map(({ n }) => n),
      contents.map(({ event }) => event + 1),
      contents.map(({ hash }) => hash),
      contents.map(({ text }) => JSON.stringify(text)),
    ],
    (first) => `, stored AS (
      INSERT INTO ${database.table('contents')} (key, hash, text)
      SELECT a.key, c.hash, c.text FROM unnest($${first}::int[], $${first + 2}::text[], $${first + 3}::text[]) AS c (n, hash, text)
        JOIN appended a USING (n)
      ON CONFLICT DO NOTHING
    ), referred AS (
      INSERT INTO ${database.table('event_contents')} (key, seq, hash)
      SELECT a.key, a.expected + c.i, c.hash FROM unnest($${first}::int[], $${first + 1}::int[], $${first + 2}::text[]) AS c (n, i, hash)
        JOIN appended a USING (n)
      ON CONFLICT DO NOTHING
    )`,
  );
  const puts = appends.flatMap(({ options }, n) => {
    const { put = [], drop = [] } = options.callContents ?? {};
    const last = new Map(put.map(({ call, text }) => [call, text]));
    return [...last].filter(([call]) => !drop.includes(call)).map(([call, text]) => ({ n, call, text }));
  });
  add(
    'p',
    [puts.map(({ n }) => n), puts.map(({ call }) => call), puts.map(({ text }) => JSON.stringify(text))],
    (first) => `, put AS (
      INSERT INTO ${database.table('call_contents')} (key, call, text)
      SELECT a.key, p.call, p.text FROM unnest($${first}::int[], $${first + 1}::text[], $${first + 2}::text[]) AS p (n, call, text)
        JOIN appended a USING (n)
      ON CONFLICT (key, call) DO UPDATE SET text = excluded.text
    )`,
  );
  const drops = appends.flatMap(({ options }, n) => (options.callContents?.drop ?? []).map((call) => ({ n, call })));
  add(
    'd',
    [drops.map(({ n }) => n), drops.map(({ call }) => call)],
    (first) => `, dropped AS (
      DELETE FROM ${database.table('call_contents')} c USING appended a, unnest($${first}::int[], $${first + 1}::text[]) AS d (n, call)
      WHERE a.n = d.n AND c.key = a.key AND c.call = d.call
    )`,
  );
  const ends = appends.flatMap(({ options }, n) => (options.endsDrafts ?? []).map((draftId) => ({ n, draftId })));
  add(
    'e',
    [ends.map(({ n }) => n), ends.map(({ draftId }) => draftId)],
    (first) => `, ended AS (
      DELETE FROM ${database.table('drafts')} f USING appended a, unnest($${first}::int[], $${first + 1}::text[]) AS d (n, draft_id)
      WHERE a.n = d.n AND f.key = a.key AND f.draft_id = d.draft_id
    )`,
  );
}
