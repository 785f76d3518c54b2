import type { ReactNode } from 'react';
import type { RequestPoint, RequestTotals } from '../../../src/history/inspect/request-series.ts';
import type { RequestList } from '../../../src/server/routes/record-routes.ts';
import { sessionPath } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import { useSessionInfo } from '../api/use-session-info.ts';
import { SessionHeader } from '../sessions/session-header.tsx';
import { useCommands } from '../shell/commands.ts';
import { Link } from '../shell/link.tsx';
import { addressOf, setQuery } from '../shell/router.ts';
import type { ViewProps } from '../shell/view-props.ts';
import { compact, count } from '../ui/format.ts';
import { Problem, sentence } from '../ui/problem.tsx';
import { percent } from './cache-sentence.ts';
import { ChartLegend, RequestChart } from './request-chart.tsx';
import { RequestDetail } from './request-detail.tsx';

/** Every request of a session: how large it was, why it missed the cache, and what it held beside the record. */
export function RecordView({ place }: ViewProps) {
  const [, id = ''] = place.parts;
  const { data: details, error: problem } = useSessionInfo(id);
  const only = place.query.get('only') ?? '';
  const query = only === '' ? '' : `?evaluation=${encodeURIComponent(only)}`;
  const { data, error } = useRead<RequestList>(`${sessionPath(id, 'requests')}${query}`, {
    version: details?.seq,
  });
  const failed = error ?? problem;
  return (
    <>
      <SessionHeader id={id} details={details} view="record" />
      {failed && <Problem>{sentence(failed)}</Problem>}
      {data && data.requests.length === 0 && <NoRequests isImported={details?.summary.source !== undefined} />}
      {data && data.requests.length > 0 && (
        <Requests sessionId={id} list={data} named={place.query.get('request') ?? ''}>
          {only !== '' && (
            <span>
              Only the requests of one agent.{' '}
              <Link href={addressOf('sessions', id, 'record')} className="text-accent underline">
                Show those of the main conversation
              </Link>
            </span>
          )}
        </Requests>
      )}
    </>
  );
}

/** Says why there is nothing to show. */
export function NoRequests({ isImported }: { readonly isImported: boolean }) {
  return (
    <p className="max-w-lg p-6 text-muted">
      {isImported
        ? 'This session was imported from another agent. Its transcript has the messages, and not the requests that were sent for them.'
        : 'No model has responded in this session yet. Its requests appear here.'}
    </p>
  );
}

export function requestName({ evaluationId, turn }: Pick<RequestPoint, 'evaluationId' | 'turn'>): string {
  return `${evaluationId}.${turn}`;
}

function Requests(props: {
  readonly sessionId: string;
  readonly list: RequestList;
  /** The request that the address names; the newest unless it is one of the list. */
  readonly named: string;
  readonly children: ReactNode;
}) {
  const { sessionId, list, named, children } = props;
  const { requests, totals, omitted } = list;
  const found = requests.findIndex((request) => requestName(request) === named);
  const chosen = found < 0 ? requests.length - 1 : found;
  const request = requests[chosen];
  const choose = (index: number): void => {
    const next = requests[Math.min(Math.max(index, 0), requests.length - 1)];
    if (next) setQuery({ request: requestName(next) });
  };
  const missed = (step: 1 | -1): void => {
    for (let at = chosen + step; at >= 0 && at < requests.length; at += step) {
      if ((requests[at]?.cache.comparison?.stability ?? 1) === 1) continue;
      choose(at);
      return;
    }
  };
  useCommands([
    { id: 'next-request', title: 'Next request', group: 'Session', keys: 'j', run: () => choose(chosen + 1) },
    { id: 'previous-request', title: 'Previous request', group: 'Session', keys: 'k', run: () => choose(chosen - 1) },
    { id: 'next-miss', title: 'Next request that missed the cache', group: 'Session', keys: 'n', run: () => missed(1) },
    {
      id: 'previous-miss',
      title: 'Previous request that missed the cache',
      group: 'Session',
      keys: 'p',
      run: () => missed(-1),
    },
  ]);
  return (
    <div className="flex min-h-0 flex-1 flex-col max-md:overflow-y-auto">
      <div className="shrink-0 border-b border-line px-4 pt-3 pb-2">
        <Totals totals={totals} omitted={omitted}>
          {children}
        </Totals>
        <RequestChart requests={requests} chosen={chosen} onChoose={choose} />
        <ChartLegend />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto max-md:flex-none">
        {request && <RequestDetail sessionId={sessionId} request={request} />}
      </div>
    </div>
  );
}

function Totals({
  totals,
  omitted,
  children,
}: {
  readonly totals: RequestTotals;
  readonly omitted: number;
  readonly children: ReactNode;
}) {
  const { requests, tokens, largest, sharedTokens, breaks } = totals;
  return (
    <p className="mb-3 flex flex-wrap gap-x-4 gap-y-0.5 text-muted tabular-nums">
      <span className="font-medium text-ink">{count(requests, 'request')}</span>
      <span>
        about {compact(tokens)} tokens, the largest {compact(largest)}
      </span>
      <span>{percent(sharedTokens / Math.max(1, tokens))} could come from a cache</span>
      <span className={breaks > 0 ? 'text-fails' : ''}>{breaks === 0 ? 'none' : breaks} changed the beginning</span>
      {omitted > 0 && <span>{count(omitted, 'older request')} not shown</span>}
      {children}
    </p>
  );
}
