/**
 * Converts a Codex session: the rollouts of its main thread and of its subagents. `transcript-events.ts` brings the lines of all threads
 * into one order; here they are read, checked and passed to their threads.
 */
import { type ConversationEvent, MAIN_CONVERSATION } from '../../conversation/events.ts';
import { isCount } from '../../core/log/message-problem.ts';
import { BlockWriter } from '../block-writer.ts';
import type { ProblemCode, TranscriptDiagnostics } from '../diagnostics.ts';
import { asName } from '../json-access.ts';
import { CodexAgents, type Shared } from './blocks/agents.ts';
import { CodexThread } from './blocks/thread.ts';
import { isMadeAfter, parseRolloutLine, type RolloutLine, type RolloutMeta } from './rollouts/rollout-line.ts';
import type { RolloutInfo, Segment, SessionPlan, ThreadInfo } from './rollouts/session-plan.ts';

/** A rollout that is being read. */
export interface OpenedRollout {
  /** Its name in diagnostics. */
  readonly name: string;
  readonly meta: RolloutMeta | undefined;
  /** Lines from this ordinal on are not read. */
  readonly endOrdinal: number | undefined;
  /** It belongs to a subagent: the copies of its parent's lines are left out. */
  readonly isSubagent: boolean;
  lineNumber: number;
  /** The time of its newest line; also that of lines without a time. */
  timestamp: string;
  /** No further line is read. */
  isDone: boolean;
  /** Copies of the parent's lines are being read. */
  isCopying: boolean;
  /** The ordinals that were seen: from the first one without a gap, and others. */
  seenFrom: number;
  seenUpTo: number;
  readonly seen: Set<number>;
  /** The newest line of a layout without ordinals, to recognise its copy. */
  previous: string;
}

const NOTHING: readonly RolloutLine[] = [];
const LAYOUTS: ReadonlySet<string | undefined> = new Set([undefined, 'legacy', 'paginated']);

export class CodexTranscript {
  readonly #writer = new BlockWriter();
  readonly #shared: Shared = { writer: this.#writer, agents: new CodexAgents(this.#writer), responses: new Set() };
  readonly #threads = new Map<ThreadInfo, CodexThread>();
  readonly #turns = new Map<CodexThread, ShownTurns>();
  /** Threads that belong to another session. */
  readonly #foreign = new Set<ThreadInfo>();
  #timestamp = '';

  /** Reports what is wrong with the plan of a session. */
  reportPlan({ problem }: SessionPlan<RolloutInfo>): void {
    if (problem) this.#writer.diagnostics.problem(problem.code, problem.rolloutId);
  }

  /** Opens a part of a thread for reading. */
  open({ rollout, endOrdinal }: Segment<RolloutInfo>, isSubagent: boolean): OpenedRollout {
    const { meta } = rollout;
    const name = isSubagent || endOrdinal !== undefined ? rollout.rolloutId : MAIN_CONVERSATION;
    if (!LAYOUTS.has(meta?.historyMode)) this.#writer.diagnostics.problem('unknown-layout', name);
    return {
      ...{ name, meta, endOrdinal, isSubagent, lineNumber: 0, timestamp: '', isDone: false, isCopying: false },
      ...{ seenFrom: -1, seenUpTo: -1, seen: new Set(), previous: '' },
    };
  }

  /** Counts a line that was too long to read. */
  skipTooLong(rollout: OpenedRollout): void {
    rollout.lineNumber++;
    this.report('line-too-long', rollout);
  }

  /** Reads a line: its record, or several; none when it holds nothing for its thread. `isTorn`: the line has no newline. */
  read(rollout: OpenedRollout, text: string, isTorn: boolean): readonly RolloutLine[] {
    rollout.lineNumber++;
    const parsed = parseRolloutLine(text);
    if (parsed === undefined) {
      if (text.trim() !== '') this.report(isTorn ? 'torn-line' : 'malformed-line', rollout);
      return NOTHING;
    }
    const { lines, repaired } = parsed;
    if (repaired) this.report(repaired, rollout);
    const [first, ...others] = lines;
    const line = first && this.#admit(rollout, first, text, '');
    if (others.length === 0) return line ? [line] : NOTHING;
    const glued = others.flatMap((other, i) => this.#admit(rollout, other, `${i} ${text}`, `.${i + 1}`) ?? []);
    return line ? [line, ...glued] : glued;
  }

  /** A record as a line of its thread; `undefined` when it is repeated, copied or of another thread. `suffix` names its place on the line. */
  #admit(rollout: OpenedRollout, line: RolloutLine, text: string, suffix: string): RolloutLine | undefined {
    if (line.ordinal !== undefined && rollout.endOrdinal !== undefined && line.ordinal >= rollout.endOrdinal) {
      rollout.isDone = true; // the rest belongs to the parent of the fork
      return undefined;
    }
    this.#writer.diagnostics.count(line.kind);
    if (isRepeated(rollout, line, text)) {
      this.report('repeated-line', rollout);
      return undefined;
    }
    if (line.timestamp !== '') rollout.timestamp = line.timestamp;
    if (rollout.isSubagent && isCopy(rollout, line)) return undefined;
    const name = `${rollout.name === MAIN_CONVERSATION ? 'line' : rollout.name}:${rollout.lineNumber}${suffix}`;
    return { ...line, name, timestamp: rollout.timestamp };
  }

  /** Whether the lines of a thread can be converted: the call that started a subagent is known. */
  isReady({ meta, isSubagent }: ThreadInfo): boolean {
    return !isSubagent || this.#shared.agents.conversationOf(meta?.threadId ?? '') !== undefined;
  }

  /** Converts a line of a thread. `parent`: the thread that started it. */
  add(info: ThreadInfo, parent: ThreadInfo | undefined, line: RolloutLine): ConversationEvent[] {
    if (line.timestamp > this.#timestamp) this.#timestamp = line.timestamp;
    const thread = this.#threads.get(info) ?? this.#start(info, parent, line.timestamp);
    if (thread === undefined) return this.#writer.take();
    if (line.kind === 'event_msg/thread_rolled_back') this.#turns.get(thread)?.rollBack(line, this.#writer);
    else thread.add(line);
    const events = this.#writer.take();
    this.#turns.get(thread)?.add(events);
    return events;
  }

  /** Ends what is still open at the end of all rollouts. */
  finish(): ConversationEvent[] {
    for (const thread of this.#threads.values()) thread.finish(this.#timestamp);
    this.#shared.agents.endAll(this.#timestamp);
    const reason = this.#writer.hasOpenBlocks(MAIN_CONVERSATION) ? 'interrupted' : 'completed';
    this.#writer.settleAll(reason, this.#timestamp);
    return this.#writer.take();
  }

  get diagnostics(): TranscriptDiagnostics {
    return this.#writer.diagnostics.report();
  }

  #start(info: ThreadInfo, parent: ThreadInfo | undefined, at: string): CodexThread | undefined {
    if (this.#foreign.has(info)) return undefined;
    const conversationId = info.isSubagent ? this.#linkSubagent(info, parent, at) : MAIN_CONVERSATION;
    if (conversationId === undefined) {
      this.#foreign.add(info);
      return undefined;
    }
    const thread = new CodexThread(this.#shared, conversationId, info.meta);
    this.#threads.set(info, thread);
    // In the other layout a revert creates a new rollout.
    if (info.meta?.historyMode !== 'paginated') this.#turns.set(thread, new ShownTurns(conversationId));
    return thread;
  }

  /** The conversation of a subagent's thread; `undefined` for one that does not belong to this session. */
  #linkSubagent(
    { meta, name, isOptional }: ThreadInfo,
    parent: ThreadInfo | undefined,
    at: string,
  ): string | undefined {
    const { agents } = this.#shared;
    const threadId = meta?.threadId ?? name;
    agents.adopt(threadId, meta?.agentPath, at);
    const known = agents.conversationOf(threadId);
    if (known !== undefined || isOptional) return known;
    this.#writer.diagnostics.problem('unlinked-subagent', threadId);
    const above = parent && this.#threads.get(parent)?.conversationId;
    agents.addUnlinked(above ?? MAIN_CONVERSATION, threadId, at, { name: meta?.role ?? meta?.nickname });
    return agents.conversationOf(threadId);
  }

  report(code: ProblemCode, rollout: OpenedRollout): void {
    this.#writer.diagnostics.problem(code, `${rollout.name}:${rollout.lineNumber}`);
  }
}

/** Whether a line was read before. */
function isRepeated(rollout: OpenedRollout, { ordinal }: RolloutLine, text: string): boolean {
  if (ordinal === undefined) {
    if (rollout.previous === text) return true;
    rollout.previous = text;
    return false;
  }
  if (rollout.seenFrom < 0) {
    rollout.seenFrom = ordinal; // a fork starts with the ordinal after its past
    rollout.seenUpTo = ordinal - 1;
  }
  if (rollout.seen.has(ordinal) || (ordinal >= rollout.seenFrom && ordinal <= rollout.seenUpTo)) return true;
  rollout.seen.add(ordinal);
  while (rollout.seen.delete(rollout.seenUpTo + 1)) rollout.seenUpTo++;
  return false;
}

/** Whether a line of a subagent's rollout is a copy of one of its parent's. */
function isCopy(rollout: OpenedRollout, line: RolloutLine): boolean {
  const { meta } = rollout;
  if (meta?.ownStart !== undefined && line.ordinal !== undefined) return line.ordinal < meta.ownStart;
  if (meta === undefined) return false;
  // Without ordinals: the copies start with the parent's first line, and the first own turn is younger than the thread.
  const copied = line.type === 'session_meta' ? asName(line.payload.id) : undefined;
  if (copied !== undefined && copied !== meta.threadId) rollout.isCopying = line.ordinal === undefined;
  if (isMadeAfter(asName(line.payload.turn_id) ?? '', meta.threadId)) rollout.isCopying = false;
  return rollout.isCopying;
}

/** Remembers which blocks each prompt of a thread led to, so that turns which a person took back can be removed. */
class ShownTurns {
  readonly #conversationId: string;
  readonly #turns: string[][] = [];
  readonly #known = new Set<string>();

  constructor(conversationId: string) {
    this.#conversationId = conversationId;
  }

  add(events: readonly ConversationEvent[]): void {
    for (const event of events) {
      if (event.type !== 'block:upsert' || event.conversationId !== this.#conversationId) continue;
      const { id, type } = event.block;
      if (this.#known.has(id)) continue;
      this.#known.add(id);
      if (type === 'user_message') this.#turns.push([id]);
      else this.#turns.at(-1)?.push(id);
    }
  }

  /** Removes the turns that a `thread_rolled_back` names: the newest ones. */
  rollBack({ payload, timestamp }: RolloutLine, writer: BlockWriter): void {
    for (let left = isCount(payload.num_turns) ? payload.num_turns : 0; left > 0 && this.#turns.length > 0; left--) {
      for (const id of this.#turns.pop() ?? []) {
        this.#known.delete(id);
        writer.remove(this.#conversationId, id, timestamp);
      }
    }
  }
}
