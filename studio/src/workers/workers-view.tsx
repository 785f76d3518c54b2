import { type ReactNode, useMemo } from 'react';
import { sessionActions } from '../api/server.ts';
import { Link } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { Ago, useNow } from '../ui/ago.tsx';
import { AttemptProblem } from '../ui/attempt-problem.tsx';
import { Button } from '../ui/button.tsx';
import { count, duration } from '../ui/format.ts';
import { Problem, sentence } from '../ui/problem.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { useListKeys } from '../ui/use-list-keys.ts';
import { ViewHeader } from '../ui/view-header.tsx';
import { useWorkers, type Workers, workCount } from './use-workers.ts';

const REFRESH_MS = 2000;

/** Which process runs which session, what waits for one, and what has failed. */
export function WorkersView() {
  const { data, error, refresh } = useWorkers(REFRESH_MS);
  const attempt = useAttempt();
  useListKeys('session');
  const retry = async (id: string): Promise<void> => {
    if (await attempt.run(() => sessionActions(id).resume())) refresh();
  };
  return (
    <>
      <ViewHeader title="Workers">{data && <span className="text-muted">{summary(data)}</span>}</ViewHeader>
      {error && <Problem>{sentence(error)}</Problem>}
      <AttemptProblem attempt={attempt} />
      {data && (
        <div className="min-h-0 flex-1 overflow-y-auto" data-list>
          <Runs workers={data} />
          <Failures workers={data} />
          <GivenUp workers={data} isDisabled={attempt.isRunning} onRetry={(id) => void retry(id)} />
          {workCount(data) === 0 && <p className="p-6 text-muted">No session is run, and none waits to be run.</p>}
          {!data.isComplete && <p className="px-4 py-3 text-muted">There are more sessions than are listed here.</p>}
          {data.worker && <Own worker={data.worker} />}
        </div>
      )}
    </>
  );
}

function summary({ runs, backlog, sleeping }: Workers): string {
  const live = runs.filter(({ isLive }) => isLive).length;
  return [`${live} running`, `${backlog} waiting`, sleeping > 0 && `${sleeping} until a later time`]
    .filter(Boolean)
    .join(' · ');
}

/** Sessions with a lease: the process that holds it, and for how long unless it renews it. */
function Runs({ workers: { runs, worker } }: { readonly workers: Workers }) {
  const now = Date.now(); // the list is read every 2 seconds
  const own = useMemo(() => new Map(worker?.running.map((each) => [each.sessionId, each])), [worker]);
  if (runs.length === 0) return null;
  return (
    <List title="Running">
      {runs.map(({ sessionId, holder, expiresAt, isLive }) => {
        const running = own.get(sessionId);
        return (
          <Entry key={sessionId} sessionId={sessionId}>
            <span className="text-muted">
              process {holder.pid} on {holder.host}
            </span>
            {isLive ? (
              <span className="text-muted">lease for {duration(Math.max(0, Date.parse(expiresAt) - now))}</span>
            ) : (
              <span className="text-fails">died; the next worker continues it</span>
            )}
            {running?.isStuck && <span className="text-waits">silent for a long time</span>}
            {running && <Ago at={running.since} className="ml-auto text-xs text-muted" />}
          </Entry>
        );
      })}
    </List>
  );
}

/** Sessions whose last run threw: the worker of this server tries them again by itself. */
function Failures({ workers: { worker } }: { readonly workers: Workers }) {
  const now = useNow();
  if (!worker || worker.failures.length === 0) return null;
  return (
    <List title="Failing">
      {worker.failures.map(({ sessionId, attempts, retryAt, error }) => (
        <Entry key={sessionId} sessionId={sessionId}>
          <span className="text-fails">failed {count(attempts, 'time')}</span>
          <span className="text-muted">next attempt in {duration(Math.max(0, Date.parse(retryAt) - now))}</span>
          <p className="w-full break-words text-muted">{sentence(new Error(error.message))}</p>
        </Entry>
      ))}
    </List>
  );
}

/** Sessions that workers gave up on, until a person lets them try again. */
function GivenUp(props: {
  readonly workers: Workers;
  readonly isDisabled: boolean;
  readonly onRetry: (id: string) => void;
}) {
  const { workers, isDisabled, onRetry } = props;
  if (workers.suspended.length === 0) return null;
  return (
    <List title="Given up">
      {workers.suspended.map(({ sessionId, attempts, at, error }) => (
        <Entry key={sessionId} sessionId={sessionId}>
          <span className="text-fails">after {count(attempts, 'failed attempt')}</span>
          <Ago at={at} className="text-xs text-muted" />
          <Button className="ml-auto" disabled={isDisabled} onClick={() => onRetry(sessionId)}>
            Try again
          </Button>
          <p className="w-full break-words text-muted">{sentence(new Error(error.message))}</p>
        </Entry>
      ))}
    </List>
  );
}

function Own({ worker }: { readonly worker: NonNullable<Workers['worker']> }) {
  const { id, state, counts, search } = worker;
  return (
    <p className="px-4 py-3 text-xs break-words text-muted">
      The worker of this server, {id}, is {state}: {count(counts.runs, 'run')}, {count(counts.failures, 'failure')}{' '}
      since it started.
      {search?.error && ` Its last search for work failed: ${search.error.message}`}
    </p>
  );
}

function List({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2 className="border-b border-line px-4 pt-4 pb-1.5 text-xs text-muted">{title}</h2>
      <ul>{children}</ul>
    </section>
  );
}

function Entry({ sessionId, children }: { readonly sessionId: string; readonly children: ReactNode }) {
  return (
    <li className="flex min-h-9 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-1">
      <Link data-entry href={addressOf('sessions', sessionId)} className="min-w-0 truncate font-medium hover:underline">
        {sessionId}
      </Link>
      {children}
    </li>
  );
}
