/**
 * Incarnations of a session are distinguished; contents belong to events; drafts are numbered by fence; long work is done in slices.
 *
 * - `deleted_sessions` counts the incarnations that were deleted. It holds a hash of the id, not the id: a deleted session leaves no name.
 * - `doomed` holds the keys of sessions that are deleted and whose rows are still being removed.
 * - `sessions.building_until` marks a fork that is being copied, under an id that no session can have.
 */
export const incarnations: string = `
ALTER TABLE sessions ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 1;
ALTER TABLE sessions ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN lease_renewals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN lease_deadline REAL;
ALTER TABLE sessions ADD COLUMN building_until REAL;

ALTER TABLE summaries ADD COLUMN has_work INTEGER NOT NULL DEFAULT 0;
CREATE INDEX summaries_with_work ON summaries (key) WHERE has_work = 1;
UPDATE summaries SET data = json_set(data, '$.work', 'evaluation'), has_work = 1
  WHERE json_extract(data, '$.status') = 'running';
UPDATE summaries SET data = json_set(data, '$.work', 'decision'), has_work = 1
  WHERE json_extract(data, '$.status') = 'suspended' AND key IN (
    SELECT e.key FROM events e JOIN summaries s USING (key)
    WHERE e.type IN ('tool/approved', 'tool/denied', 'tool/settled') OR
      (e.type = 'evaluation/suspended' AND json_extract(e.data, '$.evaluationId') = json_extract(s.data, '$.evaluationId'))
    GROUP BY e.key
    HAVING max(iif(e.type = 'evaluation/suspended', 0, e.seq)) > max(iif(e.type = 'evaluation/suspended', e.seq, 0)));

CREATE TABLE deleted_sessions (
  id_hash TEXT PRIMARY KEY,
  incarnation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE doomed (
  key INTEGER PRIMARY KEY,
  indexed_seq INTEGER NOT NULL
) STRICT;

CREATE TABLE event_contents (
  key INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (key, seq, hash)
) STRICT, WITHOUT ROWID;
INSERT INTO event_contents
  SELECT e.key, e.seq, r.hash FROM events e CROSS JOIN content_refs r ON r.key = e.key AND instr(e.data, r.hash) > 0
  WHERE e.data LIKE '%"sha256:%';
CREATE INDEX event_contents_by_hash ON event_contents (hash);
DROP TABLE content_refs;
DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM event_contents);

CREATE TABLE call_contents (
  key INTEGER NOT NULL,
  call TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (key, call)
) STRICT, WITHOUT ROWID;

ALTER TABLE drafts RENAME TO old_drafts;
CREATE TABLE drafts (
  key INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  n INTEGER NOT NULL,
  draft_id TEXT NOT NULL,
  length INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (key, fence, n)
) STRICT, WITHOUT ROWID;
INSERT INTO drafts
  SELECT key, coalesce((SELECT fence FROM sessions WHERE sessions.key = old_drafts.key), 0),
         row_number() OVER (PARTITION BY key ORDER BY evaluation_id, turn, attempt, n), evaluation_id, length(delta),
         json_patch(
           json_object('evaluationId', evaluation_id, 'turn', turn, 'attempt', attempt, 'blockId', block_id,
                       'delta', json(delta)),
           json_object('kind', kind, 'toolName', tool_name))
  FROM old_drafts;
DROP TABLE old_drafts;
`;
