/**
 * The tables. A session's rows have its key, which is never used again: what belongs to a deleted session is not found, and can be removed
 * later. `doomed` has the keys whose rows are to be removed: of deleted sessions, and of forks that are not complete yet.
 */
export const LAYOUT: string = `
CREATE TABLE IF NOT EXISTS sessions (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, incarnation INTEGER NOT NULL, seq INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0, updated_at TEXT NOT NULL DEFAULT '', last_append TEXT, fence INTEGER, lease TEXT,
  summary TEXT, has_work INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS sessions_by_activity ON sessions (updated_at DESC, id);
CREATE TABLE IF NOT EXISTS events (
  key INTEGER NOT NULL, seq INTEGER NOT NULL, append_id TEXT, at TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (key, seq)
);
CREATE TABLE IF NOT EXISTS snapshots (key INTEGER PRIMARY KEY, seq INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS drafts (
  key INTEGER NOT NULL, fence INTEGER NOT NULL, n INTEGER NOT NULL, draft_id TEXT NOT NULL, length INTEGER NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (key, fence, n)
);
CREATE TABLE IF NOT EXISTS contents (key INTEGER NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (key, hash));
CREATE TABLE IF NOT EXISTS content_refs (
  key INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (key, seq, hash)
);
CREATE TABLE IF NOT EXISTS call_contents (key INTEGER NOT NULL, call TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (key, call));
CREATE TABLE IF NOT EXISTS deleted (id_hash TEXT PRIMARY KEY, incarnation INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS doomed (key INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO counters VALUES ('key', 0), ('fence', 0), ('commits', 0) ON CONFLICT DO NOTHING;
`;

/** The tables with rows of a key, besides `sessions`. */
export const BELONGINGS = ['events', 'snapshots', 'drafts', 'contents', 'content_refs', 'call_contents'] as const;
