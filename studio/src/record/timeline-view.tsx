import type { Timeline } from 'holdfast/inspect';
import { useMemo, useState } from 'react';
import { sessionPath } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import { useSessionInfo } from '../api/use-session-info.ts';
import { SessionHeader } from '../sessions/session-header.tsx';
import { useCommands } from '../shell/commands.ts';
import { Link } from '../shell/link.tsx';
import { addressOf, setQuery } from '../shell/router.ts';
import type { ViewProps } from '../shell/view-props.ts';
import { Button } from '../ui/button.tsx';
import { clock, count, duration } from '../ui/format.ts';
import { Problem, sentence } from '../ui/problem.tsx';
import { GanttChart } from './gantt-chart.tsx';
import { ganttLayout, type PlacedSpan } from './gantt-layout.ts';
import { NoRequests, requestName } from './record-view.tsx';
import { spanLabel, spanSentence } from './span-sentence.ts';

/** When everything happened: model calls, tools beside each other, waits, and where a process died. */
export function TimelineView({ place }: ViewProps) {
  const [, id = ''] = place.parts;
  const { data: details, error: problem } = useSessionInfo(id);
  const { data, error } = useRead<Timeline>(sessionPath(id, 'timeline'), { version: details?.seq });
  const failed = error ?? problem;
  return (
    <>
      <SessionHeader id={id} details={details} view="timeline" />
      {failed && <Problem>{sentence(failed)}</Problem>}
      {data && data.evaluations.length === 0 && <NoRequests isImported={details?.summary.source !== undefined} />}
      {data && data.evaluations.length > 0 && (
        <Chart sessionId={id} timeline={data} chosen={place.query.get('span') ?? ''} />
      )}
    </>
  );
}

const MAX_ZOOM = 64;

function Chart({
  sessionId,
  timeline,
  chosen,
}: {
  readonly sessionId: string;
  readonly timeline: Timeline;
  readonly chosen: string;
}) {
  const [zoom, setZoom] = useState(1);
  const layout = useMemo(() => ganttLayout(timeline, Date.now()), [timeline]);
  const names = useMemo(() => toolNames(timeline), [timeline]);
  const describe = (placed: PlacedSpan): string => {
    const { span, evaluation, from, to } = placed;
    return spanSentence(span, to - from, (callId) => names.get(`${evaluation.id} ${callId}`) ?? callId);
  };
  const downs = layout.spans.filter(({ span }) => span.kind === 'down');
  const current = layout.spans.find(({ key }) => key === chosen) ?? downs[0] ?? layout.spans.at(-1);
  const zoomBy = (factor: number): void => setZoom((last) => Math.min(Math.max(last * factor, 1), MAX_ZOOM));
  useCommands([
    { id: 'zoom-in', title: 'Zoom in', group: 'Session', keys: '+', run: () => zoomBy(2) },
    { id: 'zoom-out', title: 'Zoom out', group: 'Session', keys: '-', run: () => zoomBy(0.5) },
    { id: 'zoom-fit', title: 'Show all of it', group: 'Session', keys: '0', run: () => setZoom(1) },
  ]);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-muted">
        <Summary timeline={timeline} downs={downs.length} ms={layout.range.to - layout.range.from} />
        <span className="flex-1" />
        <span className="flex gap-1">
          <Button kind="quiet" aria-label="Zoom out" disabled={zoom === 1} onClick={() => zoomBy(0.5)}>
            −
          </Button>
          <Button kind="quiet" aria-label="Zoom in" disabled={zoom === MAX_ZOOM} onClick={() => zoomBy(2)}>
            +
          </Button>
        </span>
      </div>
      {current && <Described sessionId={sessionId} placed={current} text={describe(current)} />}
      <GanttChart
        layout={layout}
        zoom={zoom}
        chosen={current?.key ?? ''}
        describe={describe}
        onChoose={(span) => setQuery({ span })}
      />
    </div>
  );
}

function Summary({
  timeline,
  downs,
  ms,
}: {
  readonly timeline: Timeline;
  readonly downs: number;
  readonly ms: number;
}) {
  const spans = timeline.evaluations.flatMap((evaluation) => evaluation.spans);
  const models = spans.filter(({ kind }) => kind === 'model').length;
  const tools = spans.filter(({ kind }) => kind === 'tool').length;
  return (
    <>
      <span className="font-medium text-ink">{duration(ms)}</span>
      <span>{count(models, 'model call')}</span>
      <span>{count(tools, 'tool run')}</span>
      {downs > 0 && (
        <span className="text-fails">
          {downs === 1 ? 'died once and was resumed' : `died ${downs} times and was resumed`}
        </span>
      )}
      {timeline.omitted > 0 && <span>{count(timeline.omitted, 'older evaluation')} not shown</span>}
    </>
  );
}

/** The chosen span in words. */
function Described({
  sessionId,
  placed,
  text,
}: {
  readonly sessionId: string;
  readonly placed: PlacedSpan;
  readonly text: string;
}) {
  const { span, evaluation } = placed;
  const child = evaluation.conversationId === 'main' ? '' : `only=${encodeURIComponent(evaluation.id)}&`;
  return (
    <section
      aria-label="Chosen"
      aria-live="polite"
      className="flex min-h-14 flex-wrap items-start gap-x-4 border-y border-line px-4 py-2"
    >
      <span className="w-32 shrink-0 truncate font-medium max-md:w-auto">{spanLabel(span)}</span>
      <p className="max-w-3xl min-w-0 flex-1 basis-60 break-words max-md:order-last max-md:basis-full">{text}</p>
      <time dateTime={span.from} className="text-muted tabular-nums max-md:ml-auto">
        {clock(span.from, true)}
      </time>
      {span.kind === 'model' && span.outcome === 'response' && (
        <Link
          href={`${addressOf('sessions', sessionId, 'record')}?${child}request=${encodeURIComponent(requestName({ evaluationId: evaluation.id, turn: span.turn }))}`}
          className="text-accent hover:underline"
        >
          Its request
        </Link>
      )}
    </section>
  );
}

/** The tools of calls, by evaluation and call. */
function toolNames({ evaluations }: Timeline): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { id, spans } of evaluations) {
    for (const span of spans)
      if (span.kind === 'tool' || span.kind === 'approval') names.set(`${id} ${span.callId}`, span.toolName);
  }
  return names;
}
