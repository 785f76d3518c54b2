/** Sessions, or jobs, at a time in one process. */
export const CONCURRENCY = 20;
/** The queue of pg-boss without Holdfast. */
export const QUEUE = 'empty';
