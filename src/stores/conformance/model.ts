import type { ConflictDetail, ErrorCode } from '../../core/errors.ts';
import type { NewEvent } from '../../core/events.ts';
import type { AppendOptions, DraftChunk, Lease, StoredSnapshot } from '../../ports/store.ts';

/**
 * The contract once more, as a program that is too simple to be wrong: plain arrays, no persistence, no concurrency. What an
 * operation does to the model is in this file; `model-operations.ts` carries operations out on a store and on the model.
 */

/** An append as it was made. */
export interface ModelAppend {
  readonly id: string;
  readonly start: number;
  readonly events: readonly NewEvent[];
}

/** One life of a session. */
export interface ModelSession {
  readonly incarnation: number;
  /** A lease or an append was made: there is something to delete. */
  begun: boolean;
  revision: number;
  appends: ModelAppend[];
  log: NewEvent[];
  /** The hashes that each event refers to. */
  references: (readonly string[])[];
  callContents: Map<string, string>;
  drafts: DraftChunk[];
  /** Given out in this life of the session, oldest first. */
  fences: number[];
  lease: Lease | undefined;
  snapshot: StoredSnapshot | undefined;
}

export interface Model {
  readonly sessions: Map<string, ModelSession>;
  /** How many lives of a session have ended. */
  readonly ended: Map<string, number>;
  /** The newest fence of every session, in whatever life. */
  readonly fences: Map<string, number>;
  /** Texts by hash: as long as any event of any session refers to them. */
  readonly contents: Map<string, string>;
  counter: number;
}

export function emptyModel(): Model {
  return { sessions: new Map(), ended: new Map(), fences: new Map(), contents: new Map(), counter: 0 };
}

export function sessionOf(model: Model, id: string): ModelSession {
  const session = model.sessions.get(id) ?? newSession((model.ended.get(id) ?? 0) + 1);
  model.sessions.set(id, session);
  return session;
}

function newSession(incarnation: number): ModelSession {
  return {
    incarnation,
    begun: false,
    revision: 0,
    appends: [],
    log: [],
    references: [],
    callContents: new Map(),
    drafts: [],
    fences: [],
    lease: undefined,
    snapshot: undefined,
  };
}

/** What an operation came to, in a form that store and model can be compared in. */
export type Answer =
  | { readonly value: unknown }
  | { readonly code: ErrorCode; readonly detail?: ConflictDetail | undefined };

/** Drops the texts that no event refers to any more. */
export function dropUnreferred(model: Model): void {
  const referred = new Set([...model.sessions.values()].flatMap(({ references }) => references.flat()));
  for (const hash of [...model.contents.keys()]) if (!referred.has(hash)) model.contents.delete(hash);
}

/** What an append does to a session, or why it is refused. */
export function appendTo(
  model: Model,
  session: ModelSession,
  events: readonly NewEvent[],
  options: AppendOptions,
): Answer {
  const { id, expectedSeq, fence, incarnation, contents = [], callContents, endsDrafts = [] } = options;
  if (incarnation !== undefined && incarnation !== session.incarnation) return { code: 'SESSION_NOT_FOUND' };
  const end = session.log.length;
  const newest = session.appends.at(-1);
  // An id is recognised when it is the newest append's, or when it names the place where it was made.
  const first = session.appends.find((each) => each.id === id && (each === newest || each.start === expectedSeq));
  if (first) {
    const same = JSON.stringify(first.events) === JSON.stringify(events);
    return same ? { value: { seq: first.start + first.events.length } } : { code: 'APPEND_ID_REUSED' };
  }
  if (fence !== undefined && fence !== session.fences.at(-1)) return { code: 'SESSION_CONFLICT', detail: 'fence' };
  if (expectedSeq !== end) return { code: 'SESSION_CONFLICT', detail: 'sequence' };
  session.begun = true;
  session.appends.push({ id, start: end, events });
  session.log.push(...events);
  for (const i of events.keys()) {
    session.references.push(contents.filter(({ event }) => event === i).map(({ hash }) => hash));
  }
  for (const { hash, text } of contents) if (!model.contents.has(hash)) model.contents.set(hash, text);
  for (const { call, text } of callContents?.put ?? []) session.callContents.set(call, text);
  for (const call of callContents?.drop ?? []) session.callContents.delete(call);
  session.drafts = session.drafts.filter((chunk) => !endsDrafts.includes(chunk.draftId));
  return { value: { seq: end + events.length } };
}

/** What a fork makes of its target. */
export function forkTo(
  model: Model,
  origin: ModelSession,
  target: string,
  at: number,
  events: readonly NewEvent[],
): void {
  const fork = newSession((model.ended.get(target) ?? 0) + 1);
  fork.begun = true;
  fork.log = [...origin.log.slice(0, at), ...events];
  fork.references = [...origin.references.slice(0, at), ...events.map(() => [])];
  // Which ids a store gives the appends of a fork is its own affair.
  fork.appends = [{ id: 'unnamed', start: 0, events: fork.log }];
  model.sessions.set(target, fork);
}

export function deleteFrom(model: Model, id: string): void {
  const session = sessionOf(model, id);
  if (session.begun) model.ended.set(id, session.incarnation);
  model.sessions.delete(id);
  dropUnreferred(model);
}
