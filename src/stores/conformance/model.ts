import type { ConflictDetail, ErrorCode } from '../../core/errors.ts';
import type { NewEvent } from '../../core/log/events.ts';
import type { AppendOptions, DraftChunk, Lease, StoredSnapshot } from '../../ports/store.ts';

/**
 * The contract again, as a program that is too simple to be wrong: plain arrays, no persistence, no concurrency. This file changes the
 * model; `model-operations.ts` runs operations on a store and on the model.
 */

/** An append that was made. */
export interface ModelAppend {
  readonly id: string;
  readonly start: number;
  readonly events: readonly NewEvent[];
}

/** One incarnation of a session. */
export interface ModelSession {
  readonly incarnation: number;
  /** Whether a lease or an append was made, so that the session can be deleted. */
  begun: boolean;
  revision: number;
  appends: ModelAppend[];
  log: NewEvent[];
  /** The hashes that each event refers to. */
  references: (readonly string[])[];
  callContents: Map<string, string>;
  drafts: DraftChunk[];
  /** The fences granted in this incarnation, oldest first. */
  fences: number[];
  lease: Lease | undefined;
  snapshot: StoredSnapshot | undefined;
}

export interface Model {
  readonly sessions: Map<string, ModelSession>;
  /** How many incarnations of each session were deleted. */
  readonly ended: Map<string, number>;
  /** The newest fence of every session, across incarnations. */
  readonly fences: Map<string, number>;
  /** Texts by hash, while any event of any session refers to them. */
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

/** The outcome of an operation, comparable between store and model. */
export type Outcome =
  | { readonly value: unknown }
  | { readonly code: ErrorCode; readonly detail?: ConflictDetail | undefined };

/** Drops texts without a reference. */
export function dropUnreferred(model: Model): void {
  const referred = new Set([...model.sessions.values()].flatMap(({ references }) => references.flat()));
  for (const hash of [...model.contents.keys()]) if (!referred.has(hash)) model.contents.delete(hash);
}

/** The outcome of an append. */
export function appendTo(
  model: Model,
  session: ModelSession,
  events: readonly NewEvent[],
  options: AppendOptions,
): Outcome {
  const { id, expectedSeq, fence, incarnation, contents = [], callContents, endsDrafts = [] } = options;
  if (incarnation !== undefined && incarnation !== session.incarnation) return { code: 'SESSION_NOT_FOUND' };
  const end = session.log.length;
  const newest = session.appends.at(-1);
  // An id is recognised if it is the newest append's, or has the same `expectedSeq`.
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

/** Creates the target of a fork. */
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
  // The append ids of a fork are not part of the contract.
  fork.appends = [{ id: 'unnamed', start: 0, events: fork.log }];
  model.sessions.set(target, fork);
}

export function deleteFrom(model: Model, id: string): void {
  const session = sessionOf(model, id);
  if (session.begun) model.ended.set(id, session.incarnation);
  model.sessions.delete(id);
  dropUnreferred(model);
}
