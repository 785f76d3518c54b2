import { expect, test } from 'vitest';
import { layout } from '../../src/stores/sqlite/connection/layout.ts';
import { MIGRATIONS } from '../../src/stores/sqlite/connection/migrate.ts';
import { Database } from '../../src/stores/sqlite/driver.ts';
import { temporaryDatabase } from './support/temporary.ts';

test('a new database has the tables, columns, indexes and rows that every migration in turn leaves', () => {
  expect(described([layout])).toEqual(described(MIGRATIONS));
});

/** Everything that a statement can depend on in a database made by these statements. */
function described(statements: readonly string[]): unknown {
  const database = new Database(temporaryDatabase());
  try {
    for (const sql of statements) database.exec(sql);
    const all = (sql: string): readonly object[] =>
      database
        .prepare<[], object>(sql)
        .all()
        .map((row) => ({ ...row }));
    const tables = all(
      "SELECT name, type, wr AS withoutRowid, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_schema' ORDER BY name",
    ) as readonly { readonly name: string }[];
    return {
      tables: tables.map((table) => ({
        ...table,
        columns: all(`SELECT * FROM pragma_table_xinfo('${table.name}') ORDER BY cid`),
        indexes: all(
          `SELECT l.name, l."unique", l.origin, l.partial, i.seqno, i.name AS column, i."desc", i.coll, i.key
           FROM pragma_index_list('${table.name}') l, pragma_index_xinfo(l.name) i ORDER BY l.name, i.seqno`,
        ),
      })),
      written: all("SELECT type, name, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL ORDER BY name"),
      search: all("SELECT sql FROM sqlite_schema WHERE name = 'search'"),
      settings: all('SELECT k, v FROM search_config ORDER BY k'),
      counters: all('SELECT name, value FROM counters ORDER BY name'),
    };
  } finally {
    database.close();
  }
}
