/**
 * The data of a store, as JSON that does not depend on the layout of its tables: the generator writes it beside a fixture, and
 * every later version must read the same from that fixture.
 */
import { createHash } from 'node:crypto';
import { openSession, type SessionInfo, type Store, textOf } from '../../../../src/index.ts';
import { steps } from './agents.ts';

const QUERIES = ['harbour', 'beacon', 'reef', 'deck*', '"I will"', 'secret', 'forgotten', 'ünïcödé'];

export interface StoreListing {
  readonly sessions: Readonly<Record<string, SessionListing>>;
  /** The hits of some queries, in the order of session and seq. */
  readonly searches: Readonly<Record<string, readonly unknown[]>>;
}

export interface SessionListing {
  readonly info: Pick<
    SessionInfo,
    'seq' | 'updatedAt' | 'title' | 'tags' | 'metadata' | 'status' | 'evaluationId' | 'forkedFrom'
  >;
  /** A hash if there are very many. */
  readonly events: readonly ListedEvent[] | string;
  /** All messages, with their external contents, as a hash if they are long. */
  readonly messages: readonly ListedMessage[];
  readonly steps: readonly string[];
  readonly drafts: Readonly<Record<string, readonly ListedChunk[]>>;
  readonly lease?: { readonly fence: number; readonly expiresAt: number; readonly pid: number; readonly host: string };
  readonly snapshot?: { readonly seq: number; readonly sha256: string };
}

interface ListedEvent {
  readonly seq: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

interface ListedMessage {
  readonly id: string;
  readonly evaluationId: string;
  readonly turn: number;
  readonly role: string;
  readonly text: string;
  readonly toolCallId?: string;
  readonly calls?: readonly string[];
}

interface ListedChunk {
  readonly turn: number;
  readonly attempt: number;
  readonly blockId: string;
  readonly delta: string;
  readonly kind?: string;
  readonly toolName?: string;
}

/** Lists everything except search hits. Writes nothing. */
export async function listSessions(store: Store): Promise<StoreListing['sessions']> {
  const { sessions } = await store.listSessions({ limit: 1000 });
  const listed: Record<string, SessionListing> = {};
  for (const info of sessions.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    listed[info.id] = await listSession(store, info.id, info);
  }
  return plain(listed);
}

/** Lists search hits. Updates the index. */
export async function listSearches(store: Store): Promise<StoreListing['searches']> {
  const searches: Record<string, unknown[]> = {};
  for (const query of QUERIES) {
    const hits = (await store.search?.(query, { limit: 100 })) ?? [];
    searches[query] = hits
      .map(({ sessionId, seq, at, role, excerpt }) => ({ sessionId, seq, at, role, excerpt }))
      .toSorted((a, b) => (a.sessionId === b.sessionId ? a.seq - b.seq : a.sessionId < b.sessionId ? -1 : 1));
  }
  return plain(searches);
}

async function listSession(store: Store, id: string, listed: SessionInfo): Promise<SessionListing> {
  const { seq, updatedAt, title, tags, metadata, status, evaluationId: newest, forkedFrom } = listed;
  const events: ListedEvent[] = [];
  for await (const event of store.read(id)) events.push(event as ListedEvent);
  const session = await openSession({ store, id, slices: [steps], readOnly: true });
  const evaluationIds = session.state.record.evaluations.items.map((evaluation) => evaluation.id);
  const recorded = evaluationIds.flatMap((evaluationId) => session.messages({ evaluationId }));
  const messages = (await session.resolve(recorded)).map((message): ListedMessage => {
    const { evaluationId, turn, role } = message;
    return {
      id: message.id,
      evaluationId,
      turn,
      role,
      text: short(textOf(message)),
      ...(message.role === 'tool' && { toolCallId: message.toolCallId }),
      ...(message.role === 'assistant' &&
        message.toolCalls && {
          calls: message.toolCalls.map((call) => `${call.callId} ${call.name} ${call.arguments}`),
        }),
    };
  });
  const drafts: Record<string, ListedChunk[]> = {};
  for (const evaluationId of evaluationIds) {
    const chunks = await store.readDraft(id, { draftId: evaluationId });
    if (chunks.length === 0) continue;
    drafts[evaluationId] = chunks.map(({ turn, attempt, blockId, delta, kind, toolName }) => ({
      turn,
      attempt,
      blockId,
      delta,
      ...(kind !== undefined && { kind }),
      ...(toolName !== undefined && { toolName }),
    }));
  }
  const lease = await store.readLease(id);
  const snapshot = await store.readSnapshot(id);
  const taken = session.select(steps).all();
  await session.close();
  return {
    info: {
      seq,
      updatedAt,
      tags,
      metadata,
      ...(title !== undefined && { title }),
      ...(status !== undefined && { status }),
      ...(newest !== undefined && { evaluationId: newest }),
      ...(forkedFrom && { forkedFrom }),
    },
    events: events.length > 100 ? `${events.length} events, sha256 ${sha256(JSON.stringify(events))}` : events,
    messages,
    steps: taken,
    drafts,
    ...(lease && {
      lease: { fence: lease.fence, expiresAt: lease.expiresAt, pid: lease.holder.pid, host: lease.holder.host },
    }),
    ...(snapshot && { snapshot: { seq: snapshot.seq, sha256: sha256(snapshot.data) } }),
  };
}

/** A long text as its hash. JSON can represent half a surrogate pair, UTF-8 cannot. */
function short(text: string): string {
  return text.length > 500 ? `${text.length} characters, sha256 ${sha256(JSON.stringify(text))}` : text;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
