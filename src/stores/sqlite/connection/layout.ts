/**
 * The tables of a new database, as every migration in turn would leave them: making them at once takes a quarter of the time. The
 * migrations say why each is as it is. A change of the layout is a new migration and a change here; a test compares the two.
 */
export const layout: string = `
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  seq INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL DEFAULT '',
  fence INTEGER,
  lease_expires_at REAL,
  lease_holder TEXT,
  indexed_seq INTEGER NOT NULL DEFAULT 0,
  incarnation INTEGER NOT NULL DEFAULT 1,
  revision INTEGER NOT NULL DEFAULT 0,
  lease_renewals INTEGER NOT NULL DEFAULT 0,
  lease_deadline REAL,
  building_until REAL
) STRICT;

CREATE TABLE deleted_sessions (
  id_hash TEXT PRIMARY KEY,
  incarnation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE doomed (
  key INTEGER PRIMARY KEY,
  indexed_seq INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  key INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  append_id TEXT,
  at TEXT NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;

CREATE TABLE places (
  id INTEGER PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT;

CREATE TABLE summaries (
  key INTEGER PRIMARY KEY,
  data TEXT NOT NULL,
  has_work INTEGER NOT NULL DEFAULT 0,
  seq INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX summaries_with_work ON summaries (key) WHERE has_work = 1;

CREATE TABLE snapshots (
  key INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  data TEXT NOT NULL
) STRICT;

CREATE TABLE drafts (
  key INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  n INTEGER NOT NULL,
  draft_id TEXT NOT NULL,
  length INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (key, fence, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE contents (
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE event_contents (
  key INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (key, seq, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_contents_by_hash ON event_contents (hash);

CREATE TABLE call_contents (
  key INTEGER NOT NULL,
  call TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (key, call)
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('placed', 0), ('fence', 0), ('search version', 0);

CREATE VIRTUAL TABLE search USING fts5 (words, content = '', tokenize = 'ascii');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
`;
