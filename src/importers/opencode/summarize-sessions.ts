import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asName, asText } from '../../transcripts/json-access.ts';
import { parseExport } from '../../transcripts/opencode/export.ts';
import { isoTime, timeField } from '../../transcripts/opencode/time.ts';
import { sessionTitle } from '../../transcripts/session-title.ts';
import { readFileBelow } from '../safe-files.ts';
import type { ReportProblem } from '../search-problem.ts';
import type { FoundSession } from '../transcript-source.ts';
import { familiesIn, type OpenCodeSession, type OpenCodeSessions } from './sessions.ts';

const MAX_EXPORT_BYTES = 64 * 1024 * 1024;

/** Summarizes the sessions of a database or a storage folder that have no parent. */
export function summarizeSessions(path: string, sessions: OpenCodeSessions): readonly FoundSession[] {
  const all = sessions.list();
  const familyIn = familiesIn(all);
  const roots = all.filter(({ parentId }) => parentId === undefined);
  return roots.map((session) => summarize(path, session, familyIn(session).length - 1));
}

/** Summarizes an exported session; `undefined` for the export of a child. `report` receives an export that is too large. */
export async function summarizeExport(
  path: string,
  report: ReportProblem,
): Promise<readonly FoundSession[] | undefined> {
  const { size } = await stat(path);
  if (size > MAX_EXPORT_BYTES) {
    const why = `it has ${size} bytes, and exports of more than ${MAX_EXPORT_BYTES} are not read`;
    report({ code: 'too-large', path, message: `${why}; name OpenCode's own database instead` });
    return undefined;
  }
  const exported = parseExport((await readFileBelow(dirname(path), path, MAX_EXPORT_BYTES)) ?? '');
  const id = asName(exported?.info.id);
  if (exported === undefined || id === undefined || asName(exported.info.parentID) !== undefined) return undefined;
  const messages = [...exported.messages].length;
  return [summarize(path, { id, parentId: undefined, info: exported.info, messages }, 0)];
}

function summarize(path: string, session: OpenCodeSession, subagents: number): FoundSession {
  const { info } = session;
  const title = sessionTitle(asText(info.title));
  const cwd = asName(info.directory);
  const createdAt = isoTime(timeField(info, 'created'));
  const updatedAt = isoTime(timeField(info, 'updated'));
  return {
    path,
    sessionId: session.id,
    ...(title !== undefined && { title }),
    ...(cwd !== undefined && { cwd }),
    ...(createdAt !== '' && { createdAt }),
    ...(updatedAt !== '' && { updatedAt }),
    messages: session.messages,
    subagents,
  };
}
