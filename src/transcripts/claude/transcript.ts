/**
 * Converts a Claude Code session: the file of its main conversation and one per subagent. The lines arrive ordered by time
 * (`convert-in-order.ts`) and are converted as the stream is.
 */
import { type ConversationEvent, MAIN_CONVERSATION } from '../../conversation/events.ts';
import { BlockWriter } from '../block-writer.ts';
import { DiagnosticsCollector, type ProblemCode, type TranscriptDiagnostics } from '../diagnostics.ts';
import { asName, asObject, asText, type Json, parseJson } from '../json-access.ts';
import { Branches, type LineRole } from './branches.ts';
import { contentBlocks, contentText } from './content.ts';
import { ClaudeConversation } from './conversation.ts';
import { type ClaudeEntry, entryOfLine, entryOfProgress } from './entry.ts';
import { parseLine } from './transcript-line.ts';
import { classifyUserText } from './user-text.ts';

/** What is known of a session's file before it is read. */
interface FileInfo {
  /** The subagent's id; absent for the main conversation. */
  readonly agentId?: string;
  readonly meta?: unknown;
}

/** A file that is being read: the main conversation's or a subagent's. */
export interface OpenedFile {
  readonly agentId: string | undefined;
  readonly meta: Json | undefined;
  /** The file's name in diagnostics. */
  readonly name: string;
  lineNumber: number;
  /** The time of its newest line; also that of lines without a time, which were written right after it. */
  timestamp: string;
}

/** Whether an agent id belongs to a compaction run, which is not a subagent. */
export function isCompactionRun(agentId: string): boolean {
  return agentId.startsWith('acompact-');
}

export class ClaudeTranscript {
  readonly #writer = new BlockWriter();
  readonly #diagnostics = new DiagnosticsCollector();
  readonly #conversation = new ClaudeConversation(this.#writer, this.#diagnostics);
  readonly #branches = new Branches();
  readonly #files: OpenedFile[] = [];
  /** The agents that have a file; copies of their lines in the main file are skipped. */
  readonly #filed = new Set<string>();
  readonly #seen = new Map<string, Set<string>>();
  /** The position of each block of the main conversation, for a rewind. */
  readonly #positions = new Map<string, number>();
  /** The agent of each line of old files, which hold subagents' lines between those of the main conversation. */
  readonly #sidechains = new Map<string, string>();
  #timestamp = '';

  /** Adds a file of this session. All files are added before the first line is read. */
  open(info: FileInfo): OpenedFile {
    const agentId = info.agentId?.replace(/^agent-/, '');
    const meta = asObject(typeof info.meta === 'string' ? parseJson(info.meta) : info.meta);
    const file = { agentId, meta, name: agentId ?? MAIN_CONVERSATION, lineNumber: 0, timestamp: '' };
    this.#files.push(file);
    if (agentId !== undefined) {
      this.#filed.add(agentId);
      const toolUseId = asName(meta?.toolUseId);
      if (toolUseId !== undefined) this.#conversation.link(agentId, toolUseId);
    }
    return file;
  }

  /** Counts a line that was recognised as noise without being parsed. */
  skip(file: OpenedFile, kind: string): void {
    file.lineNumber++;
    this.#diagnostics.count(`progress/${kind}`);
  }

  /** Counts a line that was too long to read. */
  skipTooLong(file: OpenedFile): void {
    file.lineNumber++;
    this.#report('line-too-long', file);
  }

  /** Reads a line; `undefined` when it holds no entry. `isTorn`: the line has no newline. */
  read(file: OpenedFile, text: string, isTorn: boolean): ClaudeEntry | undefined {
    file.lineNumber++;
    const parsed = parseLine(text);
    if (parsed === undefined) {
      if (text.trim() !== '') this.#report(isTorn ? 'torn-line' : 'malformed-line', file);
      return undefined;
    }
    if (parsed.repaired) this.#report(parsed.repaired, file);
    const { line } = parsed;
    this.#diagnostics.count(typeOf(line));
    const entry = line.type === 'progress' ? this.#progressOf(line) : entryOfLine(line);
    if (entry === undefined) return undefined;
    if (entry.timestamp !== '') file.timestamp = entry.timestamp;
    return { ...entry, timestamp: file.timestamp, ...this.#agentOf(file, entry) };
  }

  /** Converts an entry; `undefined` when it is repeated or superseded. */
  add(entry: ClaudeEntry): ConversationEvent[] | undefined {
    if (entry.timestamp > this.#timestamp) this.#timestamp = entry.timestamp;
    if (this.#conversation.conversationOf(entry) !== MAIN_CONVERSATION) {
      if (this.#isRepeated(entry)) return undefined;
      this.#spawnFromMeta(entry);
      this.#conversation.add(entry);
      return this.#writer.take();
    }
    const placement = this.#branches.place(entry.uuid, entry.parentUuid, roleOf(entry));
    if (placement.kind !== 'placed') {
      this.#diagnostics.problem(`${placement.kind}-line`, entry.uuid);
      return undefined;
    }
    if (placement.rewoundTo !== undefined) this.#rewind(placement.rewoundTo, entry);
    this.#conversation.add(entry);
    const events = this.#writer.take();
    for (const event of events) {
      const id = event.type === 'block:upsert' ? event.block.id : undefined;
      if (id !== undefined && event.conversationId === MAIN_CONVERSATION && !this.#positions.has(id)) {
        this.#positions.set(id, placement.position);
      }
    }
    return events;
  }

  /** Ends what is still open at the end of all files. */
  finish(): ConversationEvent[] {
    for (const { agentId, meta } of this.#files) {
      if (agentId === undefined || meta === undefined) continue;
      const toolUseId = this.#conversation.conversationOfAgent(agentId);
      if (!this.#writer.isInBackground(toolUseId) || !this.#writer.isRunning(toolUseId)) continue;
      const status = meta.finished === true ? 'completed' : 'failed';
      this.#writer.complete(MAIN_CONVERSATION, toolUseId, { status, agentId }, this.#timestamp);
    }
    const reason = this.#writer.hasOpenBlocks(MAIN_CONVERSATION) ? 'interrupted' : 'completed';
    this.#writer.settleAll(reason, this.#timestamp);
    return this.#writer.take();
  }

  /** Whether an entry that was added belongs to the main conversation and is not superseded. */
  isLive(entry: ClaudeEntry): boolean {
    if (this.#conversation.conversationOf(entry) !== MAIN_CONVERSATION) return false;
    return entry.uuid === undefined || this.#branches.isLive(entry.uuid);
  }

  get diagnostics(): TranscriptDiagnostics {
    return this.#diagnostics.report();
  }

  #report(code: ProblemCode, file: OpenedFile): void {
    this.#diagnostics.problem(code, `${file.name}:${file.lineNumber}`);
  }

  #progressOf(line: Json): ClaudeEntry | undefined {
    const entry = asObject(line.data)?.type === 'agent_progress' ? entryOfProgress(line) : undefined;
    if (entry?.agentId === undefined) return undefined;
    if (entry.parentToolUseId !== undefined) this.#conversation.link(entry.agentId, entry.parentToolUseId);
    return this.#filed.has(entry.agentId) ? undefined : entry;
  }

  /** The agent of an entry: the file's own, or the one that the line names. */
  #agentOf(file: OpenedFile, entry: ClaudeEntry): Pick<ClaudeEntry, 'agentId' | 'parentToolUseId'> {
    const isProgress = entry.parentToolUseId !== undefined; // of another agent
    if (file.agentId !== undefined && !isProgress) return { agentId: file.agentId, parentToolUseId: undefined };
    if (!entry.isSidechain) return { agentId: undefined, parentToolUseId: undefined };
    const { agentId, parentToolUseId } = entry;
    if (agentId !== undefined) return { agentId, parentToolUseId };
    const known = entry.parentUuid === undefined ? undefined : this.#sidechains.get(entry.parentUuid);
    // The oldest files name no agent: a sidechain starts with the prompt of the call that started it.
    const speaker =
      known ??
      this.#writer.findRunning(contentText(entry.message?.content)) ??
      `sidechain-${entry.uuid ?? this.#sidechains.size}`;
    if (entry.uuid !== undefined) this.#sidechains.set(entry.uuid, speaker);
    return { agentId: speaker, parentToolUseId: undefined };
  }

  #isRepeated(entry: ClaudeEntry): boolean {
    if (entry.uuid === undefined) return false;
    const speaker = entry.agentId ?? '';
    const seen = this.#seen.get(speaker) ?? new Set();
    if (seen.has(entry.uuid)) {
      this.#diagnostics.problem('repeated-line', entry.uuid);
      return true;
    }
    this.#seen.set(speaker, seen.add(entry.uuid));
    return false;
  }

  /** Spawns a subagent from its `.meta.json`, when its call is in no file. */
  #spawnFromMeta({ agentId, timestamp }: ClaudeEntry): void {
    if (agentId === undefined) return;
    const toolUseId = this.#conversation.conversationOfAgent(agentId);
    if (toolUseId === agentId || this.#writer.isSubagent(toolUseId)) return;
    const meta = this.#files.find((file) => file.agentId === agentId)?.meta;
    if (meta === undefined) return;
    const parent = asName(meta.parentAgentId);
    this.#writer.spawn(
      parent === undefined ? MAIN_CONVERSATION : this.#conversation.conversationOfAgent(parent),
      { toolUseId, agentId, subagentType: asText(meta.agentType), description: asText(meta.description) },
      timestamp,
    );
  }

  #rewind(to: number, entry: ClaudeEntry): void {
    this.#diagnostics.problem('rewind', entry.uuid);
    for (const [id, position] of this.#positions) {
      if (position <= to) continue;
      const call = id.startsWith('result:') ? this.#positions.get(id.slice('result:'.length)) : undefined;
      if (call !== undefined && call <= to) continue; // its call is not rewound
      this.#positions.delete(id);
      this.#writer.remove(MAIN_CONVERSATION, id, entry.timestamp);
    }
  }
}

/** The type of a line in the diagnostics. */
function typeOf(line: Json): string {
  const type = asText(line.type) ?? 'untyped';
  if (type === 'system') return `system/${asText(line.subtype) ?? ''}`;
  if (type === 'progress') return `progress/${asText(asObject(line.data)?.type) ?? ''}`;
  return type === 'attachment' ? `attachment/${asText(asObject(line.attachment)?.type) ?? ''}` : type;
}

/** The role of an entry of the main conversation in its tree. */
function roleOf(entry: ClaudeEntry): LineRole {
  if (entry.type === 'assistant') return 'response';
  if (entry.type !== 'user' || entry.isMeta || entry.isCompactSummary) return 'aside';
  const content = entry.message?.content;
  if (contentBlocks(content).some((block) => block.type === 'tool_result')) return 'aside';
  return classifyUserText(contentText(content), false).kind === 'prompt' ? 'prompt' : 'aside';
}
