/**
 * The row of a session no longer changes with each append: `seq` and `updated_at` are those of the last event that has its place, and
 * newer events are found after the position that `placed` counts to. The id of the last append is read from the log.
 */
export const recentEvents: string = `
ALTER TABLE sessions DROP COLUMN last_append;
`;
