/**
 * A stored summary names its last event, the revision of the log and the version of the fold that it was made with. Those of before are
 * kept: they were folded as version 1 does, except for the oldest, which did not count turns.
 */
export function summaryVersions(schema: string): string {
  const s = `"${schema}"`;
  return `
ALTER TABLE ${s}.sessions ADD COLUMN summary_seq integer NOT NULL DEFAULT 0, ADD COLUMN summary_revision integer NOT NULL DEFAULT 0,
  ADD COLUMN summary_version integer NOT NULL DEFAULT 0;
UPDATE ${s}.sessions SET summary_seq = seq, summary_revision = revision, summary_version = 1 WHERE summary LIKE '%"turns":%';
CREATE FUNCTION ${s}.usable_by_3() RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN true`;
}
