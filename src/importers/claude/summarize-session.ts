import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { contentText } from '../../transcripts/claude/content.ts';
import { classifyUserText, readableText, typedText } from '../../transcripts/claude/user-text.ts';
import { asName, asObject, type Json } from '../../transcripts/json-access.ts';
import type { ReportProblem } from '../search-problem.ts';
import { sessionTitle } from '../session-title.ts';
import type { FoundSession } from '../transcript-source.ts';
import {
  countMessages,
  findAgentFiles,
  isClaudeFile,
  type SharedFolders,
  sampleLines,
  sessionIdOf,
} from './session-files.ts';

/**
 * Summarizes a session from the first and the last lines of its file; `undefined` when those are not of Claude Code. If they name no session, its
 * id is the file's name, as Claude Code names its files.
 */
export async function summarizeSession(
  path: string,
  folders: SharedFolders,
  report: ReportProblem,
): Promise<FoundSession | undefined> {
  const head = await sampleLines(path, 'head');
  const named = sessionIdOf(head);
  if (named === undefined && !(await isClaudeFile(path, head))) return undefined;
  const { size, mtime } = await stat(path);
  const lines = [...head, ...(await sampleLines(path, 'tail'))];
  const sessionId = named ?? sessionIdOf(lines) ?? basename(path, '.jsonl');
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
    subagents: (await findAgentFiles(path, report, folders)).length,
  };
}

/** A session's title: the one that the user or the agent gave it, else the user's first prompt, else the first command. */
function titleOf(lines: readonly Json[]): string | undefined {
  const last = (type: string, field: string): string | undefined =>
    asName(lines.findLast((line) => line.type === type && asName(line[field]) !== undefined)?.[field]);
  const first = (choose: (text: string, isMeta: boolean) => string | undefined): string | undefined => {
    for (const line of lines) {
      if (line.type !== 'user' || line.isSidechain === true) continue;
      const text = choose(contentText(asObject(line.message)?.content), line.isMeta === true)?.trim();
      if (text !== undefined && text !== '') return text;
    }
    return undefined;
  };
  return sessionTitle(
    last('custom-title', 'customTitle') ??
      last('ai-title', 'aiTitle') ??
      first(promptIn) ??
      promptIn(last('last-prompt', 'lastPrompt') ?? '', false) ??
      first(commandIn),
  );
}

/** What the user typed in a text; `undefined` when the harness wrote it. */
function promptIn(text: string, isMeta: boolean): string | undefined {
  const isPrompt = text.trim() !== '' && classifyUserText(text, isMeta).kind === 'prompt';
  return isPrompt ? typedText(text) : undefined;
}

function commandIn(text: string): string | undefined {
  const kind = classifyUserText(text, false);
  return kind.kind === 'notice' && kind.subtype === 'command' ? readableText(text) : undefined;
}
