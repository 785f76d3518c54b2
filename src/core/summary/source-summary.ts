import type { Without } from '../log/events.ts';
import type { SourceLayout } from '../log/source-events.ts';
import { SourceFiles } from './source-files.ts';
import type { SummarizedEvent } from './summary-fields.ts';

/** How far a file of an imported session was recorded. */
export interface SourceFileSummary {
  readonly generation: number;
  /** The number of bytes that were recorded. */
  readonly end: number;
  /** The state of the file at that time; absent while more of it is left to import. */
  readonly stamp?: string;
}

/** The source of an imported session (D75). */
export interface SourceSummary {
  readonly architecture: string;
  /** The id that the agent gave the session. */
  readonly sessionId: string;
  readonly path: string;
  readonly layout: SourceLayout;
  readonly title?: string;
  readonly files: Readonly<Record<string, SourceFileSummary>>;
  /** Some records were redacted when they were imported. */
  readonly redacted?: true;
  /** Some records were erased. */
  readonly erased?: true;
}

/** The files of the summaries that were folded here. */
const FOLDED = new WeakMap<SourceSummary, SourceFiles>();
const NO_SOURCE: SourceSummary = { architecture: '', sessionId: '', path: '', layout: 'files', files: {} };

/** The fields that a summary reads of an event of an imported session. */
export type SummarizedSourceEvent = SummarizedEvent<'source/described' | 'source/recorded' | 'source/replaced'>;

/** Folds an event of an imported session. */
export function followSource(
  source: SourceSummary = NO_SOURCE,
  event: Without<SummarizedSourceEvent, 'seq'>,
): SourceSummary {
  const files = FOLDED.get(source) ?? new SourceFiles(source.files);
  if (event.type === 'source/described') return summaryOf(event, source, files);
  if (event.type === 'source/replaced') {
    return summaryOf(source, source, files.with(event.file, { generation: event.generation, end: 0 }));
  }
  const { file, generation, offset, bytes, stamp } = event;
  const recorded = { generation, end: offset + bytes, ...(stamp !== undefined && { stamp }) };
  const { redacted = event.redacted, erased = event.erased && true } = source;
  return summaryOf(source, { redacted, erased }, files.with(file, recorded));
}

/** A summary whose record of files is made when it is read. */
function summaryOf(
  described: Omit<SourceSummary, 'files'>,
  { redacted, erased }: { readonly redacted?: true | undefined; readonly erased?: true | undefined },
  files: SourceFiles,
): SourceSummary {
  const { architecture, sessionId, path, layout, title } = described;
  const summary: SourceSummary = {
    ...{ architecture, sessionId, path, layout },
    ...(title !== undefined && { title }),
    get files() {
      return files.toRecord();
    },
    ...(redacted && { redacted }),
    ...(erased && { erased }),
  };
  FOLDED.set(summary, files);
  return summary;
}

/** The state of a file of an imported session, if some of it was recorded. */
export function sourceFile(source: SourceSummary | undefined, file: string): SourceFileSummary | undefined {
  return source && Object.hasOwn(source.files, file) ? source.files[file] : undefined;
}
