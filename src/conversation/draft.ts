import { BlockVector } from './block-vector.ts';
import { ConversationState, type Thread } from './conversation-state.ts';
import { MAIN_CONVERSATION } from './events.ts';
import { reviveConversationState } from './revive.ts';
import type { SessionConversationState } from './state.ts';
import { ThreadIndex } from './thread-index.ts';

/** The position of the main thread; subagents count from 0. */
export const MAIN = -1;
/** No such thread. */
export const NONE = -2;

/**
 * The working copy of one reduction, of one event or of a batch. Handlers change the draft; the state it was opened on stays as
 * it is, and a draft nobody changed closes into that same state.
 */
export class Draft {
  readonly #origin: SessionConversationState;
  readonly #start: ConversationState;
  #blocks: BlockVector;
  #threads: readonly Thread[];
  /** `#threads` once it is our own copy. */
  #ownThreads: Thread[] | undefined;
  #index: ThreadIndex;

  constructor(state: SessionConversationState) {
    this.#origin = state;
    this.#start = ConversationState.isOurs(state) ? state : reviveConversationState(state);
    this.#blocks = this.#start.blocks;
    this.#threads = this.#start.subagents;
    this.#index = ConversationState.indexOf(this.#start);
  }

  close(): SessionConversationState {
    if (this.#blocks === this.#start.blocks && this.#ownThreads === undefined) return this.#origin;
    return new ConversationState(this.#blocks, this.#threads, this.#index);
  }

  get threads(): readonly Thread[] {
    return this.#threads;
  }

  /** Where a conversation id leads: a tool use id first, then an agent id, then an agent id nobody has claimed yet (D41). */
  find(conversationId: string | undefined): number {
    if (conversationId === undefined || conversationId === MAIN_CONVERSATION) return MAIN;
    if (this.#threads.length === 0) return NONE;
    const byToolUse = this.findToolUse(conversationId);
    if (byToolUse >= 0) return byToolUse;
    const agentId = normalAgentId(conversationId);
    const byAgent = this.#index.byAgent(this.#threads, agentId);
    if (byAgent >= 0) return byAgent;
    return agentId === conversationId ? NONE : this.findToolUse(agentId);
  }

  findToolUse(toolUseId: string): number {
    const position = this.#index.byToolUse(this.#threads, toolUseId);
    return position < 0 ? NONE : position;
  }

  /** Every run of the agent that an id names. */
  runsOf(id: string): readonly Thread[] {
    const agentId = normalAgentId(id);
    return this.#threads.filter((thread) => thread.agentId === agentId);
  }

  thread(position: number): Thread | undefined {
    return position < 0 ? undefined : this.#threads[position];
  }

  /** The conversation id that a thread's blocks carry. */
  conversationId(position: number): string {
    return this.thread(position)?.toolUseId ?? MAIN_CONVERSATION;
  }

  blocks(position: number): BlockVector {
    return this.thread(position)?.blocks ?? this.#blocks;
  }

  setBlocks(position: number, blocks: BlockVector): void {
    if (position === MAIN) this.#blocks = blocks;
    else {
      const thread = this.#threads[position];
      if (thread && thread.blocks !== blocks) this.#own()[position] = { ...thread, blocks };
    }
  }

  /** Replaces a thread by the same one with other fields. */
  setThread(position: number, thread: Thread): void {
    if (this.#threads[position] === thread) return;
    this.#own()[position] = thread;
    this.#index.add(thread, position);
  }

  addThread(thread: Thread): number {
    if (this.#index.isCrowdedFor(this.#threads)) this.#index = ThreadIndex.of(this.#threads);
    const position = this.#threads.length;
    this.#own().push(thread);
    this.#index.add(thread, position);
    return position;
  }

  /** Takes a thread away; those after it move up. Costs the number of threads. */
  removeThread(position: number): void {
    this.#own().splice(position, 1);
    this.#index = ThreadIndex.of(this.#threads);
  }

  /** Takes everything away. */
  clear(): void {
    this.#blocks = BlockVector.empty;
    if (this.#threads.length === 0) return;
    this.#own().length = 0;
    this.#index = new ThreadIndex();
  }

  /** Whether `ancestor` is the thread at `position` or one above it. */
  isWithin(position: number, ancestor: number): boolean {
    let current = position;
    // A revived state may hold any loop of parents; nobody is deeper than there are threads.
    for (let steps = 0; steps <= this.#threads.length; steps++) {
      if (current === ancestor) return true;
      if (current < 0) return false;
      current = this.find(this.#threads[current]?.parentConversationId);
    }
    return true;
  }

  #own(): Thread[] {
    this.#ownThreads ??= this.#threads.slice();
    this.#threads = this.#ownThreads;
    return this.#ownThreads;
  }
}

/** An agent's id without the prefix its files have (D41). */
export function normalAgentId(id: string): string {
  return id.length > 6 && id.startsWith('agent-') ? id.slice(6) : id;
}
