/** Where OpenCode keeps sessions: a database since 1.2, before that a folder of files. Both answer the same questions. */
import { HoldfastError } from '../core/errors.ts';
import type { Json } from '../transcripts/json-access.ts';
import type { OpenCodeExport } from '../transcripts/opencode/export.ts';

/** A session as a source lists it. */
export interface OpenCodeSession {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly info: Json;
  readonly messages: number;
}

/**
 * Contract: lists all sessions and reads each as an export, a message at a time; reads nothing outside of itself; `close` ends what
 * was being read.
 */
export interface OpenCodeSource {
  sessions(): readonly OpenCodeSession[];
  read(session: OpenCodeSession): OpenCodeExport;
  close(): Promise<void>;
}

/** A session and all that descend from it, itself first. */
export function familyOf(source: OpenCodeSource, sessionId: string | undefined): readonly OpenCodeSession[] {
  const sessions = source.sessions();
  const main = chooseSession(sessions, sessionId);
  const family = [main];
  const known = new Set([main.id]);
  for (const member of family) {
    for (const session of sessions) {
      if (session.parentId !== member.id || known.has(session.id)) continue;
      known.add(session.id);
      family.push(session);
    }
  }
  return family;
}

function chooseSession(sessions: readonly OpenCodeSession[], sessionId: string | undefined): OpenCodeSession {
  if (sessionId === undefined) {
    const roots = sessions.filter((session) => session.parentId === undefined);
    const [only] = roots;
    if (only !== undefined && roots.length === 1) return only;
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `there are ${roots.length} sessions here; name one with the option sessionId (findTranscripts lists them)`,
    );
  }
  const found = sessions.find((session) => session.id === sessionId);
  if (found !== undefined) return found;
  throw new HoldfastError(
    'CONVERSATION_NOT_FOUND',
    `there is no session ${sessionId} here; findTranscripts lists them`,
  );
}
