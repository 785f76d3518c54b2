import type { Strategy } from 'holdfast/history';
import { useDeferredValue, useRef } from 'react';
import type { ReplayComparison, RequestList } from '../../../src/server/routes/record-routes.ts';
import { sessionPath } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import { useSessionInfo } from '../api/use-session-info.ts';
import { percent } from '../record/cache-sentence.ts';
import { NoRequests } from '../record/record-view.tsx';
import { SessionHeader } from '../sessions/session-header.tsx';
import { setQuery } from '../shell/router.ts';
import type { ViewProps } from '../shell/view-props.ts';
import { Button } from '../ui/button.tsx';
import { compact } from '../ui/format.ts';
import { Problem, sentence } from '../ui/problem.tsx';
import { LineSample, SeriesChart } from './series-chart.tsx';
import { StrategyEditor } from './strategy-editor.tsx';
import { MAX_STRATEGIES, newStep, parseStrategies, replayQuery } from './strategy-list.ts';

/** What other history strategies would have sent in this session, beside what was sent. */
export function StrategiesView({ place }: ViewProps) {
  const [, id = ''] = place.parts;
  const { data: details, error: problem } = useSessionInfo(id);
  const strategies = parseStrategies(place.query.get('try'));
  const query = useDeferredValue(replayQuery(strategies));
  const { data, error } = useRead<ReplayComparison>(`${sessionPath(id, 'replay')}?${query}`, {
    version: details?.seq,
  });
  const kept = useRef<ReplayComparison>(undefined);
  if (data) kept.current = data;
  const shown = data ?? kept.current; // while another is computed
  const failed = error ?? problem;
  const set = (next: readonly Strategy[]): void => setQuery({ try: JSON.stringify(next) });
  return (
    <>
      <SessionHeader id={id} details={details} view="strategies" />
      {shown?.actual.requests.length === 0 ? (
        <NoRequests isImported={details?.summary.source !== undefined} />
      ) : (
        <div className="min-h-0 flex-1 overflow-y-auto px-4 py-3">
          <p className="max-w-3xl text-muted">
            Each strategy is applied to the record of this session, request by request. The responses stay what they
            were: no model is called, and only summaries that were made can be used.
          </p>
          <ol className="my-3 flex flex-col gap-1.5">
            {strategies.map((strategy, at) => (
              <li key={at} className="flex items-center gap-3 max-md:items-start max-md:[&>svg]:mt-3">
                <LineSample index={at + 1} />
                <StrategyEditor
                  number={at + 1}
                  strategy={strategy}
                  onChange={(next) => set(strategies.map((one, i) => (i === at ? next : one)))}
                  onRemove={strategies.length > 1 ? () => set(strategies.filter((_, i) => i !== at)) : undefined}
                />
              </li>
            ))}
          </ol>
          {strategies.length < MAX_STRATEGIES && (
            <Button
              onClick={() =>
                set([...strategies, { steps: [newStep('truncateToolResults'), newStep('slidingWindow')] }])
              }
            >
              Add a strategy
            </Button>
          )}
          {failed && (
            <div className="mt-3">
              <Problem>{sentence(failed)}</Problem>
            </div>
          )}
          {shown && <Results comparison={shown} />}
        </div>
      )}
    </>
  );
}

function Results({ comparison: { actual, replays } }: { readonly comparison: ReplayComparison }) {
  const lists = [
    { name: 'as sent', list: actual as RequestList },
    ...replays.map((list) => ({ name: list.strategy, list: list as RequestList })),
  ];
  const series = lists.map(({ name, list }) => ({
    name,
    values: list.requests.map(({ estimatedTokens }) => estimatedTokens),
  }));
  return (
    <>
      <h2 className="mt-5 mb-2 font-medium">Tokens per request</h2>
      <SeriesChart series={series} />
      <section className="mt-4 overflow-x-auto" aria-label="Totals" tabIndex={0}>
        <table className="w-full max-w-4xl border-collapse text-left whitespace-nowrap tabular-nums">
          <thead className="text-xs text-muted">
            <tr className="border-b border-line">
              <th className="py-1 pr-4 font-normal">Strategy</th>
              <Head>Tokens</Head>
              <Head>Against as sent</Head>
              <Head>Largest</Head>
              <Head>Cacheable</Head>
              <Head>Changed beginnings</Head>
            </tr>
          </thead>
          <tbody>
            {lists.map(({ name, list: { totals } }, index) => (
              <tr key={index} className="border-b border-line">
                <th scope="row" className="py-1.5 pr-4 font-normal">
                  <span className="inline-flex items-center gap-2">
                    <LineSample index={index} />{' '}
                    <span className={index === 0 ? 'font-medium' : 'font-mono text-xs'}>{name}</span>
                  </span>
                </th>
                <Cell>{compact(totals.tokens)}</Cell>
                <Cell>{index === 0 ? '' : change(totals.tokens, actual.totals.tokens)}</Cell>
                <Cell>{compact(totals.largest)}</Cell>
                <Cell>{percent(totals.sharedTokens / Math.max(1, totals.tokens))}</Cell>
                <Cell>{totals.breaks}</Cell>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

function Head({ children }: { readonly children: string }) {
  return <th className="py-1 pl-4 text-right font-normal">{children}</th>;
}

function Cell({ children }: { readonly children: string | number }) {
  return <td className="py-1.5 pl-4 text-right">{children}</td>;
}

/** `+12 %`, `−40 %`. */
function change(tokens: number, actual: number): string {
  const share = Math.round((tokens / Math.max(1, actual) - 1) * 100);
  return share === 0 ? 'the same' : `${share > 0 ? '+' : '−'}${Math.abs(share)} %`;
}
