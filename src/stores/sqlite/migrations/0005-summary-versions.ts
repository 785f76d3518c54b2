/**
 * A stored summary names the revision of the log and the version of the fold that it was made with. Those of before are kept: they were
 * folded as version 1 does, except for the oldest, which did not count turns. `has_work` is set where events were not folded in yet.
 */
export const summaryVersions: string = `
ALTER TABLE summaries ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE summaries ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
UPDATE summaries SET revision = coalesce((SELECT revision FROM sessions WHERE sessions.key = summaries.key), 0),
  version = iif(json_valid(data) AND instr(data, '"turns":') > 0, 1, 0);
UPDATE summaries SET has_work = 1 WHERE version = 0;
`;
