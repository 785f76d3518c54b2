import { type ReactNode, useState } from 'react';
import type { RequestPoint } from '../../../src/history/inspect/request-series.ts';
import type { RequestDetail as Detail } from '../../../src/server/routes/record-routes.ts';
import { sessionPath } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import { Button } from '../ui/button.tsx';
import { clock, count, money } from '../ui/format.ts';
import { Problem, sentence } from '../ui/problem.tsx';
import { CacheNote } from './cache-note.tsx';
import { tokens } from './cache-sentence.ts';
import { foldRows } from './fold-rows.ts';
import { RegionBar } from './region-bar.tsx';
import { RequestRow, ROW_COLUMNS } from './request-row.tsx';

const PAGE = 200;

/** One request as it was sent, beside the record. */
export function RequestDetail({ sessionId, request }: { readonly sessionId: string; readonly request: RequestPoint }) {
  const { turn, evaluationId } = request;
  return (
    <section aria-label={`Request of turn ${turn}`} className="pb-10">
      <div className="flex flex-col gap-3 px-4 py-3">
        <Facts request={request} />
        <CacheNote request={request} />
        {request.tokens && <RegionBar tokens={request.tokens} />}
        <Fidelity request={request} />
      </div>
      <Rows key={`${evaluationId} ${turn}`} sessionId={sessionId} request={request} />
    </section>
  );
}

function Facts({ request }: { readonly request: RequestPoint }) {
  const { turn, model, at, strategy, originalCount, curatedCount, usage, refused, repairs } = request;
  const sent = curatedCount === originalCount ? `all ${originalCount}` : `${curatedCount} of ${originalCount}`;
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 text-muted">
      <h2 className="font-semibold text-ink">Turn {turn}</h2>
      <time dateTime={at}>{clock(at, true)}</time>
      {model !== undefined && <span>{model}</span>}
      <span>{sent} messages sent</span>
      <span className="font-mono text-xs">{strategy}</span>
      {usage && (
        <span>
          {tokens(usage.inputTokens)} tokens in
          {usage.cachedInputTokens === undefined ? '' : `, ${tokens(usage.cachedInputTokens)} of them cached`},{' '}
          {tokens(usage.outputTokens)} out{usage.costUsd === undefined ? '' : `, ${money(usage.costUsd)}`}
        </span>
      )}
      {refused.map(({ estimatedTokens, maxTokens }) => (
        <span key={maxTokens} className="text-waits">
          refused as too long with {tokens(estimatedTokens)} tokens, then limited to {tokens(maxTokens)}
        </span>
      ))}
      {repairs.length > 0 && (
        <span className="text-blue">
          {count(repairs.length, 'repair')}: {repairs.join(', ')}
        </span>
      )}
    </div>
  );
}

/** Says when what is shown may not be what was sent. */
function Fidelity({ request: { fidelity, strategy } }: { readonly request: RequestPoint }) {
  const text = {
    exact: undefined,
    counterfactual: undefined,
    matching:
      'Built again from the log, with the recorded number of messages and tokens. What the name of the strategy does not say, such as the text of a placeholder, may differ.',
    differs: `Built again with ${strategy}, this request does not have the recorded number of messages and tokens: its options were others. Read it as an approximation.`,
    erased: 'A message of this request was erased since, so that it cannot be shown as it was sent.',
    unknown: `This server does not know the history manager ${strategy}, so that only the recorded figures can be shown.`,
  }[fidelity];
  return text === undefined ? null : <p className="max-w-3xl text-xs text-muted">{text}</p>;
}

function Rows({ sessionId, request }: { readonly sessionId: string; readonly request: RequestPoint }) {
  const [limit, setLimit] = useState(PAGE);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const { turn, evaluationId } = request;
  const path = `${sessionPath(sessionId, 'requests', String(turn))}?evaluation=${encodeURIComponent(evaluationId)}&limit=${Math.min(limit, 500)}`;
  const { data, error } = useRead<Detail>(path);
  if (error) return <Problem>{sentence(error)}</Problem>;
  if (!data || data.total === 0) return null;
  const cut = new Set(
    data.cut.filter(({ path: [, side] }) => side === 'recorded').map(({ path: [row] }) => Number(row)),
  );
  return (
    <>
      <div
        aria-hidden="true"
        className={`${ROW_COLUMNS} sticky top-0 z-10 border-y border-line bg-ground py-1 text-xs text-muted max-md:hidden`}
      >
        <span>Fate</span>
        <span>From</span>
        <span>In the record</span>
        <span>In the request</span>
        <span className="text-right">Tokens</span>
      </div>
      <ol aria-label="Messages of the record and of the request">
        {foldRows(data.rows, open).map((shown) =>
          shown.kind === 'row' ? (
            <RequestRow key={shown.index} sessionId={sessionId} row={shown.row} isCut={cut.has(shown.index)} />
          ) : (
            <Run key={shown.from} onOpen={() => setOpen(new Set([...open, shown.from]))}>
              {count(shown.count, 'message')} {shown.fate === 'whole' ? 'sent as recorded' : shown.fate},{' '}
              {tokens(shown.tokens)} tokens
            </Run>
          ),
        )}
      </ol>
      {data.total > data.rows.length && (
        <p className="flex items-center gap-3 px-4 py-2 text-muted">
          {count(data.total - data.rows.length, 'more message')}
          {limit < 500 && <Button onClick={() => setLimit(500)}>Show more</Button>}
        </p>
      )}
    </>
  );
}

function Run({ onOpen, children }: { readonly onOpen: () => void; readonly children: ReactNode }) {
  return (
    <li className="border-b border-line">
      <button
        type="button"
        aria-expanded="false"
        onClick={onOpen}
        className="w-full px-4 py-1.5 text-left text-muted hover:bg-panel hover:text-ink"
      >
        ⋯ {children}
      </button>
    </li>
  );
}
