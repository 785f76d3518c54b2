import {
  type AppendedEvent,
  type DraftChunk,
  type Lease,
  type SessionSummary,
  type StoredSnapshot,
  sessionGone,
} from 'holdfast/store';
import type { JsonFormat } from './json-file.ts';

export interface LoggedEvent extends AppendedEvent {
  /** The hashes of the contents that it refers to. */
  readonly contents?: readonly string[];
}

/** One incarnation of a session. */
export interface SessionData {
  readonly incarnation: number;
  revision: number;
  log: LoggedEvent[];
  summary?: SessionSummary | undefined;
  fence?: number;
  lease?: Lease | undefined;
  snapshot?: StoredSnapshot | undefined;
  drafts: readonly DraftChunk[];
  /** Pairs, not an object: a key may be `__proto__`. */
  callContents: (readonly [call: string, text: string])[];
}

/** Everything that the file holds. */
export interface Data {
  lastFence: number;
  readonly sessions: Map<string, SessionData>;
  /** How many incarnations of each session were deleted. */
  readonly ended: Map<string, number>;
  readonly contents: Map<string, string>;
}

/** Maps as lists of pairs. */
export const DATA_FORMAT: JsonFormat<Data> = {
  parse(text) {
    const { lastFence = 0, sessions = [], ended = [], contents = [] } = text === undefined ? {} : JSON.parse(text);
    return { lastFence, sessions: new Map(sessions), ended: new Map(ended), contents: new Map(contents) };
  },
  format({ lastFence, sessions, ended, contents }) {
    return JSON.stringify({ lastFence, sessions: [...sessions], ended: [...ended], contents: [...contents] });
  },
};

/** The present incarnation of a session, an empty one if it has no data. Throws if the caller names another. */
export function present(data: Data, id: string, incarnation?: number): SessionData {
  const session: SessionData = data.sessions.get(id) ?? {
    incarnation: (data.ended.get(id) ?? 0) + 1,
    revision: 0,
    log: [],
    drafts: [],
    callContents: [],
  };
  if (incarnation !== undefined && incarnation !== session.incarnation) throw sessionGone(id);
  return session;
}

/** Drops contents without a reference. */
export function dropUnreferred(data: Data): void {
  const referred = new Set<string>();
  for (const { log } of data.sessions.values())
    for (const { contents = [] } of log) for (const hash of contents) referred.add(hash);
  for (const hash of data.contents.keys()) if (!referred.has(hash)) data.contents.delete(hash);
}
