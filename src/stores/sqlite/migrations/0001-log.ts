/**
 * The first layout. A migration that was released is never edited: the next change is a new file.
 *
 * Events of all sessions lie in one table, in the order they were committed, so that appends to many sessions share pages:
 * a group commit of 32 writes about 15 pages, where a table ordered by session would write 100. `places` says where the
 * events of a session are. It is brought up to date for many events at a time, and the counter `placed` says how far it
 * reaches: everything behind that position is found by looking through the few rows there.
 *
 * `places.id` is `session key << 32 | seq`. What is large or rarely changes (summaries, snapshots) has a table of its own,
 * because SQLite rewrites a whole row whichever column changed.
 */
export const log: string = `
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  seq INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL DEFAULT '',
  last_append TEXT,
  fence INTEGER,
  lease_expires_at REAL,
  lease_holder TEXT,
  indexed_seq INTEGER NOT NULL DEFAULT 0
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
  data TEXT NOT NULL
) STRICT;

CREATE TABLE snapshots (
  key INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  data TEXT NOT NULL
) STRICT;

CREATE TABLE drafts (
  key INTEGER NOT NULL,
  evaluation_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  n INTEGER NOT NULL,
  block_id TEXT NOT NULL,
  delta TEXT NOT NULL,
  PRIMARY KEY (key, evaluation_id, turn, attempt, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE contents (
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE content_refs (
  key INTEGER NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (key, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX content_refs_by_hash ON content_refs (hash);

CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('placed', 0), ('fence', 0), ('search version', 0);

CREATE VIRTUAL TABLE search USING fts5 (words, content = '', tokenize = 'ascii');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
`;
