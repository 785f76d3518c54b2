import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asName, asText } from '../../transcripts/json-access.ts';
import { parseExport } from '../../transcripts/opencode/export.ts';
import { isoTime, timeField } from '../../transcripts/opencode/time.ts';
import { readFileBelow } from '../safe-files.ts';
import type { ReportProblem } from '../search-problem.ts';
import { sessionTitle } from '../session-title.ts';
import type { FoundSession } from '../transcript-source.ts';
import type { OpenCodeSession, OpenCodeSessions } from './sessions.ts';

const MAX_EXPORT_BYTES = 64 * 1024 * 1024;

/** Summarizes the sessions of a database or a storage folder that have no parent. */
export function summarizeSessions(path: string, sessions: OpenCodeSessions): readonly FoundSession[] {
  const children = Map.groupBy(sessions.list(), (session) => session.parentId);
  const countDescendants = (id: string, seen: Set<string>): number => {
    for (const child of children.get(id) ?? []) {
      if (seen.has(child.id)) continue;
      seen.add(child.id);
      countDescendants(child.id, seen);
    }
    return seen.size;
  };
  return (children.get(undefined) ?? []).map((session) =>
    summarize(path, session, countDescendants(session.id, new Set([session.id])) - 1),
  );
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
