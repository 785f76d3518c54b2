/** OpenCode's sessions as rows: each session and its descendants, one JSON text per session and per message (D75). */
import type { FoundRows, RowRecord, RowsReader } from '../transcript-source.ts';
import { type OpenCodeSessions, withDescendants } from './sessions.ts';
import { summarizeSessions } from './summarize-sessions.ts';

/** Reads the rows of opened sessions. */
export function rowsOf(path: string, sessions: OpenCodeSessions): RowsReader {
  const all = new Map(sessions.list().map((session) => [session.id, session]));
  return {
    list() {
      const stamps = sessions.stamps?.();
      return summarizeSessions(path, sessions).flatMap((found): readonly FoundRows[] => {
        const main = all.get(found.sessionId);
        const family = main ? withDescendants([...all.values()], main) : [];
        const members = family.map(({ id, info }) => {
          const rows = stamps?.get(id);
          return rows === undefined ? { id } : { id, stamp: `${JSON.stringify(info.time)} ${rows}` };
        });
        return [{ found, members }];
      });
    },
    *read(memberId): Generator<RowRecord> {
      const session = all.get(memberId);
      if (!session) return;
      const { info, messages } = sessions.read(session);
      yield { type: 'session', info };
      for (const message of messages) yield { type: 'message', info: message.info, parts: message.parts };
    },
    close: () => sessions.close(),
  };
}
