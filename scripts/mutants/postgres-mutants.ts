import type { ListedMutant } from './mutant.ts';

/** Mutants of the PostgreSQL store. */
export const POSTGRES_MUTANTS: readonly ListedMutant[] = [
  {
    name: 'A plain append is written under a stale fence',
    file: 'src/stores/postgres/appends/append-statements.ts',
    find: '? ` AND fence = ',
    replace: '? ` AND fence >= ',
    invariant: 'I6',
    tests: ['test/postgres/conformance.test.ts'],
  },
  {
    name: 'An append of a group is written under a stale fence',
    file: 'src/stores/postgres/appends/append-statements.ts',
    find: '(i.fence IS NULL OR l.fence = i.fence)',
    replace: '(i.fence IS NULL OR l.fence >= i.fence)',
    invariant: 'I6',
    tests: ['test/postgres/stale-fences.test.ts'],
  },
  {
    name: 'A repeated append at the end of a log is written again, in PostgreSQL',
    file: 'src/stores/postgres/appends/append-statements.ts',
    find: 'last_append IS DISTINCT FROM $4',
    replace: '$4::text IS NOT NULL',
    invariant: 'D51',
    tests: ['test/postgres/conformance.test.ts'],
  },
  {
    name: 'A lease that was renewed is replaced like that of a dead process, in PostgreSQL',
    file: 'src/stores/postgres/rows/lease-rows.ts',
    find: '(fence = $6::bigint AND lease_renewals = $7::int)',
    replace: '(fence = $6::bigint AND $7::int IS NOT NULL)',
    invariant: 'D76',
    tests: ['test/postgres/conformance.test.ts'],
  },
  {
    name: 'The server releases a lease although its session has events that the holder has not seen',
    file: 'src/stores/postgres/rows/lease-rows.ts',
    find: '($3::int IS NULL OR seq = $3)',
    replace: '($3::int IS NULL OR seq >= $3)',
    invariant: 'D61',
    tests: ['test/postgres/conformance.test.ts'],
  },
  {
    name: 'A process without the lease writes drafts to PostgreSQL',
    file: 'src/stores/postgres/rows/draft-rows.ts',
    find: 'WHERE key = $1 AND fence = $2::bigint AND',
    replace: 'WHERE key = $1 AND fence >= $2::bigint AND',
    invariant: 'I6',
    tests: ['test/postgres/conformance.test.ts'],
  },
  {
    name: 'An append does not end the drafts that it names, in PostgreSQL',
    file: 'src/stores/postgres/appends/append-statements.ts',
    find: 'WHERE a.n = d.n AND f.key = a.key AND f.draft_id = d.draft_id',
    replace: 'WHERE a.n = d.n AND f.key = a.key AND f.draft_id < d.draft_id',
    invariant: 'D53',
    tests: ['test/postgres/conformance.test.ts'],
  },
];
