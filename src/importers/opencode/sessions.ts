/** The sessions of one OpenCode: in a database since 1.2, in a folder of files before. */
import { HoldfastError } from '../../core/errors.ts';
import type { Json } from '../../transcripts/json-access.ts';
import type { OpenCodeExport } from '../../transcripts/opencode/export.ts';

/** A session in the list. */
export interface OpenCodeSession {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly info: Json;
  readonly messages: number;
}

/**
 * Contract: `read` returns a session as an export, whose messages are read while they are iterated. Nothing outside the database or
 * the folder is read. `close` ends every reading.
 */
export interface OpenCodeSessions {
  list(): readonly OpenCodeSession[];
  read(session: OpenCodeSession): OpenCodeExport;
  /** A text for each session that changes whenever a row of it changes. */
  stamps?(): ReadonlyMap<string, string>;
  close(): Promise<void>;
}

/** A session and all its descendants, the session first. */
export function familyOf(opened: OpenCodeSessions, sessionId: string | undefined): readonly OpenCodeSession[] {
  const sessions = opened.list();
  return familiesIn(sessions)(chooseSession(sessions, sessionId));
}

/** Returns the family of a session among others: the session and all its descendants, the session first. */
export function familiesIn<S extends Pick<OpenCodeSession, 'id' | 'parentId'>>(
  sessions: readonly S[],
): (main: S) => readonly S[] {
  const children = Map.groupBy(sessions, ({ parentId }) => parentId);
  return (main) => {
    const family = [main];
    const known = new Set([main.id]);
    for (const member of family) {
      for (const child of children.get(member.id) ?? []) {
        if (known.has(child.id)) continue;
        known.add(child.id);
        family.push(child);
      }
    }
    return family;
  };
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
