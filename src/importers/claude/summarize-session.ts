import { basename } from 'node:path';
import { present } from '../../conversation/same-value.ts';
import { contentText } from '../../transcripts/claude/content.ts';
import { classifyUserText, readableText, typedText } from '../../transcripts/claude/user-text.ts';
import { asName, asObject, type Json } from '../../transcripts/json-access.ts';
import { sessionTitle } from '../../transcripts/text-lines.ts';
import type { FoundSession, ReportProblem } from '../transcript-source.ts';
import { findAgentFiles, type SharedFolders } from './session-files.ts';
import { type FileSample, firstIn, type SampledLine, sampleFile, sessionIdOf } from './session-sample.ts';

/**
 * Summarizes a session from the first and the last lines of its file; `undefined` when those are not of Claude Code. If they name no session, its
 * id is the file's name, as Claude Code names its files.
 */
export async function summarizeSession(
  path: string,
  folders: SharedFolders,
  report: ReportProblem,
): Promise<FoundSession | undefined> {
  const found = sampleFile(path, (sample) => (sample.isClaude ? summarize(path, sample) : undefined));
  return found && { ...found, subagents: (await findAgentFiles(path, report, folders)).length };
}

function summarize(path: string, { size, mtime, head, tail, messages }: FileSample): Omit<FoundSession, 'subagents'> {
  const lines = [...head, ...tail];
  const sessionId = sessionIdOf(head) ?? sessionIdOf(lines) ?? basename(path, '.jsonl');
  const title = titleOf(lines);
  const cwd = firstIn(lines, (line) => asName(line.cwd));
  const createdAt = firstIn(lines, timeOf);
  const updatedAt = firstIn(lines.toReversed(), timeOf);
  return {
    path,
    sessionId,
    ...present({ title, cwd, createdAt }),
    updatedAt: updatedAt ?? mtime.toISOString(),
    bytes: size,
    ...(messages !== undefined && { messages }),
  };
}

function timeOf(line: Json): string | undefined {
  return asName(line.timestamp);
}

/** How lines of messages start: most lines of a file, and none of them names the session. */
const MESSAGE = '{"parentUuid":';

/** A session's title: the one that the user or the agent gave it, else the user's first prompt, else the first command. */
function titleOf(lines: readonly SampledLine[]): string | undefined {
  const named = lines.filter(({ start }) => !start.startsWith(MESSAGE)).toReversed();
  const last = (type: string, field: string): string | undefined =>
    firstIn(
      named.filter(({ start }) => start.includes(`"${type}"`)),
      (line) => (line.type === type ? asName(line[field]) : undefined),
    );
  const first = (choose: (text: string, isMeta: boolean) => string | undefined): string | undefined =>
    firstIn(promptsIn(lines), (line) => {
      if (line.type !== 'user' || line.isSidechain === true) return undefined;
      const text = choose(contentText(asObject(line.message)?.content), line.isMeta === true)?.trim();
      return text === '' ? undefined : text;
    });
  return sessionTitle(
    last('custom-title', 'customTitle') ??
      last('ai-title', 'aiTitle') ??
      first(promptIn) ??
      promptIn(last('last-prompt', 'lastPrompt') ?? '', false) ??
      first(commandIn),
  );
}

function* promptsIn(lines: readonly SampledLine[]): Generator<SampledLine> {
  for (const line of lines) if (mayHoldPrompt(line)) yield line;
}

/** Whether a line may hold a prompt: a line with a result holds none, and progress is not the user's. */
function mayHoldPrompt({ start }: SampledLine): boolean {
  return start.includes('"user"') && !start.includes('"tool_result"') && !start.includes('"type":"progress"');
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
