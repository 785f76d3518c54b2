/**
 * Converts a Claude Code session: the file of its main conversation and one per subagent. The lines arrive ordered by time
 * (`line-cursor.ts`) and are converted as the stream is.
 *
 *     line ─▶ held, when its call comes later ─▶ dropped, when it is a copy ─▶ placed in the tree ─▶ blocks
 *
 * At the end the tree shows which lines were superseded, and their blocks are removed.
 */
import { type ConversationEvent, MAIN_CONVERSATION } from '../../conversation/events.ts';
import { BlockWriter } from '../block-writer.ts';
import type { ProblemCode, TranscriptDiagnostics } from '../diagnostics.ts';
import { asName, asObject, asText, type Json, parseJson } from '../json-access.ts';
import { Branches } from './branches.ts';
import { calledBy, contentText, isWarmup, resultsIn, roleOf } from './content.ts';
import { ClaudeConversation } from './conversation.ts';
import { type ClaudeEntry, entryOfLine, entryOfProgress, type MutableEntry } from './entry.ts';
import { HeldLines } from './held-lines.ts';
import { QueuedTexts } from './queued-texts.ts';
import { parseLine, progressAgent } from './transcript-line.ts';
import { WrittenLines } from './written-lines.ts';

/** What is known of a session's file before it is read. */
interface FileInfo {
  /** The subagent's id; absent for the main conversation. */
  readonly agentId?: string;
  readonly meta?: unknown;
  /** The run of the workflow that the subagent belongs to. */
  readonly runId?: string | undefined;
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
  /** The entries after the first of a line that holds several. */
  rest: ClaudeEntry[];
}

const NO_RESULTS: readonly string[] = [];

/** Most lines are of these types; their names are made once. */
const PROGRESS_TYPES: ReadonlyMap<string, string> = new Map(
  ['hook_progress', 'bash_progress', 'agent_progress', 'waiting_for_task'].map((kind) => [kind, `progress/${kind}`]),
);

/** Receives the entries of the main conversation as they are placed. */
type OnEntry = (entry: ClaudeEntry, position: number) => void;

/** The prefixes of agents that the program runs for itself: compactions, suggestions and questions beside the conversation. */
const SIDE_REQUESTS = ['acompact-', 'aprompt_suggestion-', 'aside_question-'] as const;

/** Whether an agent id belongs to a request that the program makes for itself, which is not a subagent. */
export function isSideRequest(agentId: string): boolean {
  return SIDE_REQUESTS.some((prefix) => agentId.startsWith(prefix));
}

export class ClaudeTranscript {
  readonly #writer = new BlockWriter();
  readonly #conversation = new ClaudeConversation(this.#writer);
  readonly #branches = new Branches();
  readonly #held = new HeldLines();
  readonly #queued = new QueuedTexts();
  readonly #onEntry: OnEntry | undefined;
  readonly #files: OpenedFile[] = [];
  /** The agents that have a file; copies of their lines in the main file are skipped. */
  readonly #filed = new Map<string, OpenedFile>();
  /** The lines of each agent. */
  readonly #seen = new Map<string, { readonly uuids: Set<string>; readonly written: WrittenLines }>();
  /** The lines of the main conversation. */
  readonly #written = new WrittenLines();
  /** Agents whose threads are not shown. */
  readonly #hidden = new Set<string>();
  /** The blocks of the main conversation and their positions, for a rewind. A block that was written again occurs again. */
  readonly #blockIds: string[] = [];
  readonly #blockPositions: number[] = [];
  /** The position of each call of the main conversation. */
  readonly #calls = new Map<string, number>();
  /** The agent of each line of old files, which hold subagents' lines between those of the main conversation. */
  readonly #sidechains = new Map<string, string>();
  /** The agent of the newest of those lines. */
  #sidechain: string | undefined;
  #timestamp = '';

  constructor(onEntry?: OnEntry) {
    this.#onEntry = onEntry;
  }

  /** Adds a file of this session. All files are added before the first line is read. */
  open(info: FileInfo): OpenedFile {
    const agentId = info.agentId?.replace(/^agent-/, '');
    const meta = asObject(typeof info.meta === 'string' ? parseJson(info.meta) : info.meta);
    const file = { agentId, meta, name: agentId ?? MAIN_CONVERSATION, lineNumber: 0, timestamp: '', rest: [] };
    this.#files.push(file);
    if (agentId !== undefined) {
      this.#filed.set(agentId, file);
      this.#conversation.threads.addThread(agentId, info.runId);
      const toolUseId = asName(meta?.toolUseId);
      if (toolUseId !== undefined) this.#conversation.threads.link(agentId, toolUseId);
    }
    return file;
  }

  /** Reports a file that could not be read, or not to its end. */
  reportUnreadable(name: string): void {
    this.#writer.diagnostics.problem('unreadable-file', name);
  }

  /** Counts a line that was recognised as noise without being parsed. */
  skip(file: OpenedFile, kind: string): void {
    file.lineNumber++;
    this.#writer.diagnostics.count(PROGRESS_TYPES.get(kind) ?? `progress/${kind}`);
  }

  /**
   * Skips an agent's progress, given the end of its line, when the agent has a file: that holds the same lines. False when the line has to
   * be read.
   */
  skipProgress(file: OpenedFile, tail: string): boolean {
    const found = progressAgent(tail);
    if (found === undefined || !this.#filed.has(found.agentId)) return false;
    this.#conversation.threads.link(found.agentId, found.toolUseId);
    this.skip(file, 'agent_progress');
    return true;
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
    const [line] = parsed.lines;
    if (line !== undefined && parsed.lines.length === 1) return this.#entryOf(file, line);
    const [first, ...rest] = parsed.lines.flatMap((one) => this.#entryOf(file, one) ?? []);
    file.rest = rest;
    return first;
  }

  /** Reads a line that `skimLine` parsed. */
  readSkimmed(file: OpenedFile, line: Json): ClaudeEntry | undefined {
    file.lineNumber++;
    return this.#entryOf(file, line);
  }

  /** Converts an entry. The events may be of other entries, too: a held one is released by the one that it follows. */
  add(entry: ClaudeEntry): readonly ConversationEvent[] {
    if (entry.timestamp > this.#timestamp) this.#timestamp = entry.timestamp;
    if (!this.#held.isFull && this.#mustWait(entry)) return [];
    if (this.#held.isEmpty) return this.#place(entry);
    const events: ConversationEvent[] = [];
    this.#placeAll(this.#held.isFull ? [...this.#held.releaseAll(), entry] : [entry], events);
    return events;
  }

  /** Ends what is still open at the end of all files. */
  finish(): readonly ConversationEvent[] {
    const events: ConversationEvent[] = [];
    this.#placeAll(this.#held.releaseAll(), events);
    for (const entry of this.#queued.take()) events.push(...this.#place(entry));
    for (const { agentId, meta } of this.#files) {
      if (agentId === undefined || meta === undefined) continue;
      const toolUseId = this.#conversation.threads.conversationOf(agentId);
      if (!this.#writer.isInBackground(toolUseId) || !this.#writer.isRunning(toolUseId)) continue;
      const status = meta.finished === true ? 'completed' : 'failed';
      this.#writer.complete(MAIN_CONVERSATION, toolUseId, { status, agentId }, this.#timestamp);
    }
    this.#conversation.threads.endUnlinked();
    this.#removeSuperseded();
    const reason = this.#writer.hasOpenBlocks(MAIN_CONVERSATION) ? 'interrupted' : 'completed';
    this.#writer.settleAll(reason, this.#timestamp);
    events.push(...this.#writer.take());
    return events;
  }

  /** Whether the entry at a position is not superseded. Valid after `finish`. */
  isLive(position: number): boolean {
    return !this.#branches.isSuperseded(position);
  }

  get diagnostics(): TranscriptDiagnostics {
    return this.#writer.diagnostics.report();
  }

  /** Places entries, and those that each of them releases right after it. */
  #placeAll(entries: readonly ClaudeEntry[], events: ConversationEvent[]): void {
    const stack = entries.toReversed();
    for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
      for (const event of this.#place(entry)) events.push(event);
      if (this.#held.isEmpty) continue;
      const ids = [...(entry.uuid === undefined ? [] : [entry.uuid]), ...calledBy(entry)];
      for (const released of ids.flatMap((id) => this.#held.release(id)).reverse()) stack.push(released);
    }
  }

  /** Holds a result whose call was not read yet, and lines that follow one that is held. */
  #mustWait(entry: ClaudeEntry): boolean {
    const { parentUuid } = entry;
    if (parentUuid === undefined) return false;
    const follows = !this.#held.isEmpty && this.#held.has(parentUuid);
    if (!follows && (entry.type !== 'user' || this.#wasRead(entry, parentUuid))) return false;
    const results = follows ? NO_RESULTS : resultsIn(entry);
    if (!follows) {
      if (results.length === 0) return false;
      const conversationId = this.#conversation.conversationOf(entry);
      if (results.some((id) => this.#writer.knowsCall(conversationId, id))) return false;
    }
    this.#held.hold(entry, [parentUuid, ...results]);
    return true;
  }

  #wasRead({ agentId }: ClaudeEntry, uuid: string): boolean {
    return this.#branches.positionOf(uuid) !== undefined || this.#seen.get(agentId ?? '')?.uuids.has(uuid) === true;
  }

  #place(entry: ClaudeEntry): readonly ConversationEvent[] {
    if (this.#conversation.conversationOf(entry) !== MAIN_CONVERSATION) {
      if (!this.#isHidden(entry) && !this.#isRepeated(entry)) {
        this.#spawnFromMeta(entry);
        this.#conversation.add(entry);
      }
      return this.#writer.take();
    }
    if (entry.type === 'queue-operation') this.#queued.operate(entry);
    else if (entry.type === 'user') this.#queued.repeat(entry.message?.content);
    else if (entry.type === 'attachment') this.#queued.repeat(asObject(entry.raw.attachment)?.prompt);
    const queued = entry.type === 'assistant' || this.#queued.isFull ? this.#queued.take() : [];
    const events = queued.flatMap((text) => this.#placeInMain(text));
    return events.length === 0 ? this.#placeInMain(entry) : [...events, ...this.#placeInMain(entry)];
  }

  #placeInMain(entry: ClaudeEntry): readonly ConversationEvent[] {
    const { uuid, parentUuid, isRoot } = entry;
    if (uuid !== undefined && this.#branches.positionOf(uuid) !== undefined) {
      this.#writer.diagnostics.problem('repeated-line', uuid);
      return [];
    }
    const copied = this.#written.add(entry, this.#branches.count);
    if (copied !== undefined) {
      this.#writer.diagnostics.problem('repeated-line', uuid);
      if (uuid !== undefined) this.#branches.alias(uuid, copied);
      return [];
    }
    const results = entry.type === 'user' ? resultsIn(entry) : NO_RESULTS;
    const role = results.length > 0 ? 'result' : roleOf(entry);
    const call = this.#positionOfCall(results);
    const position = this.#branches.place({ uuid, parentUuid, isRoot, call }, role);
    this.#onEntry?.(entry, position);
    this.#conversation.add(entry);
    const events = this.#writer.take();
    for (const event of events) {
      if (event.type !== 'block:upsert' || event.conversationId !== MAIN_CONVERSATION) continue;
      const { id, type } = event.block;
      this.#blockIds.push(id);
      this.#blockPositions.push(position);
      if ((type === 'tool_use' || type === 'subagent') && !this.#calls.has(id)) this.#calls.set(id, position);
    }
    return events;
  }

  #positionOfCall(results: readonly string[]): number | undefined {
    for (const named of results) {
      const id = this.#writer.latestCallId(MAIN_CONVERSATION, named);
      const position = this.#calls.get(id) ?? this.#calls.get(`subagent:${id}`);
      if (position !== undefined) return position;
    }
    return undefined;
  }

  #report(code: ProblemCode, file: OpenedFile): void {
    this.#writer.diagnostics.problem(code, `${file.name}:${file.lineNumber}`);
  }

  #entryOf(file: OpenedFile, line: Json): ClaudeEntry | undefined {
    this.#writer.diagnostics.count(typeOf(line));
    const entry = line.type === 'progress' ? this.#progressOf(line) : entryOfLine(line);
    if (entry === undefined) return undefined;
    if (entry.timestamp === '') entry.timestamp = file.timestamp;
    else file.timestamp = entry.timestamp;
    this.#setAgent(file, entry);
    return entry;
  }

  #progressOf(line: Json): MutableEntry | undefined {
    const entry = asObject(line.data)?.type === 'agent_progress' ? entryOfProgress(line) : undefined;
    if (entry?.agentId === undefined || isSideRequest(entry.agentId)) return undefined;
    if (entry.parentToolUseId !== undefined) this.#conversation.threads.link(entry.agentId, entry.parentToolUseId);
    return this.#filed.has(entry.agentId) ? undefined : entry;
  }

  /** Sets the agent of an entry: the file's own, or the one that the line names. */
  #setAgent(file: OpenedFile, entry: MutableEntry): void {
    const isProgress = entry.parentToolUseId !== undefined; // of another agent
    if (file.agentId !== undefined && !isProgress) entry.agentId = file.agentId;
    else if (!entry.isSidechain) {
      entry.agentId = undefined;
      entry.parentToolUseId = undefined;
    } else if (entry.agentId === undefined) {
      entry.agentId = this.#speakerOf(entry);
      entry.parentToolUseId = undefined;
    }
  }

  /**
   * The oldest files name no agent: a sidechain starts with the prompt of the call that started it. In files without parents its other lines
   * follow that prompt.
   */
  #speakerOf(entry: ClaudeEntry): string {
    const { uuid, parentUuid, message } = entry;
    const isPrompt = entry.type === 'user' && resultsIn(entry).length === 0;
    const speaker =
      (parentUuid === undefined ? undefined : this.#sidechains.get(parentUuid)) ??
      this.#writer.findRunning(contentText(message?.content)) ??
      (parentUuid === undefined && !isPrompt ? this.#sidechain : undefined) ??
      `sidechain-${uuid ?? this.#sidechains.size}`;
    if (uuid !== undefined) this.#sidechains.set(uuid, speaker);
    this.#sidechain = speaker;
    return speaker;
  }

  /** Whether an entry is of a thread that is not shown: a request that the program makes for itself, or the prompt that warms up an agent. */
  #isHidden(entry: ClaudeEntry): boolean {
    const { agentId } = entry;
    if (agentId === undefined) return false;
    const isUnlinked = this.#conversation.threads.conversationOf(agentId) === agentId;
    // The file of a side request that is opened by itself shows it.
    const isOwn = isWarmup(entry) || (isSideRequest(agentId) && this.#branches.count > 0);
    if (isOwn && isUnlinked && !this.#seen.has(agentId)) this.#hidden.add(agentId);
    return this.#hidden.has(agentId);
  }

  #isRepeated(entry: ClaudeEntry): boolean {
    const speaker = entry.agentId ?? '';
    let seen = this.#seen.get(speaker);
    if (seen === undefined) {
      seen = { uuids: new Set(), written: new WrittenLines() };
      this.#seen.set(speaker, seen);
    }
    const isCopy = seen.written.add(entry, seen.uuids.size) !== undefined;
    const isRepeated = isCopy || (entry.uuid !== undefined && seen.uuids.has(entry.uuid));
    if (isRepeated) this.#writer.diagnostics.problem('repeated-line', entry.uuid);
    if (entry.uuid !== undefined) seen.uuids.add(entry.uuid);
    return isRepeated;
  }

  /** Spawns a subagent from its `.meta.json`, when its call is in no file. */
  #spawnFromMeta({ agentId, timestamp }: ClaudeEntry): void {
    if (agentId === undefined) return;
    const toolUseId = this.#conversation.threads.conversationOf(agentId);
    if (toolUseId === agentId || this.#writer.isSubagent(toolUseId)) return;
    const meta = this.#filed.get(agentId)?.meta;
    if (meta === undefined) return;
    const parent = asName(meta.parentAgentId);
    this.#writer.spawn(
      parent === undefined ? MAIN_CONVERSATION : this.#conversation.threads.conversationOf(parent),
      { toolUseId, agentId, subagentType: asText(meta.agentType), description: asText(meta.description) },
      timestamp,
    );
  }

  #removeSuperseded(): void {
    const { superseded, rewinds } = this.#branches.findSuperseded();
    for (const uuid of rewinds) this.#writer.diagnostics.problem('rewind', uuid);
    for (const uuid of superseded) this.#writer.diagnostics.problem('superseded-line', uuid);
    if (superseded.length === 0) return;
    const known = new Set<string>();
    for (const [index, id] of this.#blockIds.entries()) {
      if (known.has(id)) continue; // a block belongs to its first line
      known.add(id);
      const isSuperseded = this.#branches.isSuperseded(this.#blockPositions[index] as number);
      if (isSuperseded) this.#writer.remove(MAIN_CONVERSATION, id, this.#timestamp);
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
