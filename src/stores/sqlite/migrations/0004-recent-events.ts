/**
 * The row of a session and its summary no longer change with each append: `seq` and `updated_at` are those of the last event that has
 * its place, and newer events are found after the position that `placed` counts to. `summaries.seq` is the last event that a
 * summary was folded from. The id of the last append is read from the log.
 */
export const recentEvents: string = `
ALTER TABLE sessions DROP COLUMN last_append;
ALTER TABLE summaries ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
UPDATE summaries SET seq = coalesce((SELECT seq FROM sessions WHERE sessions.key = summaries.key), 0);
`;
