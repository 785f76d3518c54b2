import { stat } from 'node:fs/promises';
import { contentText } from '../../transcripts/claude/content.ts';
import { classifyUserText } from '../../transcripts/claude/user-text.ts';
import { asName, asObject, type Json } from '../../transcripts/json-access.ts';
import { sessionTitle } from '../session-title.ts';
import type { FoundSession } from '../transcript-source.ts';
import { countMessages, findAgentFiles, type SharedFolders, sampleLines, sessionIdOf } from './session-files.ts';

/** Summarizes a session from the first and the last lines of its file; `undefined` when those name no session. */
export async function summarizeSession(path: string, folders: SharedFolders): Promise<FoundSession | undefined> {
  const head = await sampleLines(path, 'head');
  const sessionId = sessionIdOf(head);
  if (sessionId === undefined) return undefined;
  const { size, mtime } = await stat(path);
  const lines = [...head, ...(await sampleLines(path, 'tail'))];
  const messages = await countMessages(path);
  const times = lines.flatMap((line) => asName(line.timestamp) ?? []);
  const title = titleOf(lines);
  const cwd = lines.map((line) => asName(line.cwd)).find((directory) => directory !== undefined);
  const createdAt = times[0];
  return {
    path,
    sessionId,
    ...(title !== undefined && { title }),
    ...(cwd !== undefined && { cwd }),
    ...(createdAt !== undefined && { createdAt }),
    updatedAt: times.at(-1) ?? mtime.toISOString(),
    bytes: size,
    ...(messages !== undefined && { messages }),
    subagents: (await findAgentFiles(path, folders)).length,
  };
}

/** A session's title: the one that the user or the agent gave it, else the user's first prompt. */
function titleOf(lines: readonly Json[]): string | undefined {
  const last = (type: string, field: string): string | undefined =>
    asName(lines.findLast((line) => line.type === type && asName(line[field]) !== undefined)?.[field]);
  const prompt = (): string | undefined => {
    for (const line of lines) {
      if (line.type !== 'user' || line.isSidechain === true) continue;
      const text = contentText(asObject(line.message)?.content).trim();
      if (text !== '' && classifyUserText(text, line.isMeta === true).kind === 'prompt') return text;
    }
    return undefined;
  };
  return sessionTitle(
    last('custom-title', 'customTitle') ?? last('ai-title', 'aiTitle') ?? prompt() ?? last('last-prompt', 'lastPrompt'),
  );
}
