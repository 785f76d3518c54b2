import { listRuns } from '../../worker/list-runs.ts';
import type { Route } from '../route.ts';
import { COUNT, listOf, resultOf } from './schemas.ts';

/** What the workers of the store do. */
export const WORKER_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/workers',
    name: 'getWorkers',
    summary: 'What all workers of the store do: who runs which session, what waits, and what they gave up on',
    response: {
      status: 200,
      description: 'The runs of the store, and the worker of this server',
      schema: resultOf(
        {
          runs: listOf('sessions with a lease, and its holder'),
          backlog: COUNT,
          sleeping: COUNT,
          suspended: listOf('sessions that workers gave up on, with their error'),
          isComplete: { type: 'boolean' },
          worker: { type: 'object' },
        },
        ['worker'],
      ),
    },
    handle: async ({ store, runners }) => ({
      ...(await listRuns(store)),
      ...(runners && { worker: runners.stats() }),
    }),
  },
];
