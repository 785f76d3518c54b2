/** What sessions have cost: responses, tokens and money, for listings. */
import { usageTotals } from '../conversation/selectors.ts';
import { isBuiltInEvent, type SessionEvent } from '../core/log/events.ts';
import { addUsage, NO_USAGE, type Usage } from '../core/log/usage.ts';
import type { SourceSummary } from '../core/summary/source-summary.ts';
import { loadImported } from '../importers/kept/load-imported.ts';
import type { Store } from '../ports/store.ts';
import type { Session } from '../session/session.ts';
import { parseTranscript } from '../transcripts/parse-transcript.ts';

/** The totals of one session. */
export interface SessionTotals {
  /** Responses of its models, in all of its conversations. */
  readonly turns: number;
  readonly usage: Usage;
}

interface Known extends SessionTotals {
  readonly incarnation: number;
  readonly seq: number;
}

const MAX_KNOWN = 5000;
/** Larger transcripts are not read for a listing. */
const MAX_IMPORTED_BYTES = 32 * 2 ** 20;
const KNOWN = new WeakMap<Store, Map<string, Known>>();

/** The totals of a session. Events that were read before are not read again; undefined for a very large imported session. */
export async function totalsOf(session: Session): Promise<SessionTotals | undefined> {
  const { id, seq, incarnation, store, summary } = session;
  const known = KNOWN.get(store) ?? new Map<string, Known>();
  KNOWN.set(store, known);
  const before = known.get(id);
  const isSame = before?.incarnation === incarnation && before.seq <= seq;
  if (isSame && before.seq === seq) return { turns: before.turns, usage: before.usage };
  const totals = summary?.source
    ? await importedTotals(session, summary.source)
    : await foldedTotals(session, isSame ? before : { turns: 0, usage: NO_USAGE, seq: 0 });
  if (!totals) return undefined;
  known.delete(id);
  known.set(id, { ...totals, incarnation, seq });
  for (const oldest of known.size > MAX_KNOWN ? known.keys() : []) {
    known.delete(oldest);
    break;
  }
  return totals;
}

async function foldedTotals(
  session: Session,
  before: SessionTotals & { readonly seq: number },
): Promise<SessionTotals> {
  let { turns, usage } = before;
  for await (const event of session.events({ from: before.seq + 1 })) {
    if (event.seq > session.seq) break;
    const spent = usageOf(event);
    if (spent) usage = addUsage(usage, spent);
    if (isBuiltInEvent(event) && event.type === 'message/recorded' && event.message.role === 'assistant') turns++;
  }
  return { turns, usage };
}

function usageOf(event: SessionEvent): Usage | undefined {
  const isSpent = isBuiltInEvent(event) && (event.type === 'message/recorded' || event.type === 'history/summarized');
  return isSpent ? event.usage : undefined;
}

async function importedTotals(session: Session, source: SourceSummary): Promise<SessionTotals | undefined> {
  const bytes = Object.values(source.files).reduce((sum, { end }) => sum + end, 0);
  if (bytes > MAX_IMPORTED_BYTES) return undefined;
  const { architecture, raw } = await loadImported(session.store, session.id);
  const { usage, messages: turns } = usageTotals(parseTranscript(architecture, raw).state);
  return { turns, usage };
}
