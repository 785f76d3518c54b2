/**
 * What every converter writes to. A converter says what its source said (a text, a call, a result, a subagent); the writer turns
 * that into events and keeps what later lines still need: which calls are open, which subagents run, and the blocks of the
 * message being said, because its usage is known only at its end and all its blocks carry it.
 *
 * A stream and a transcript of one run call the same methods with the same values, so they end in the same state (D47).
 */
import type { BlockMessage, ConversationBlock, SubagentBlock } from '../conversation/blocks.ts';
import type { ConversationEvent, SessionIdle } from '../conversation/events.ts';
import { MAIN_CONVERSATION } from '../conversation/events.ts';
import type { Usage } from '../core/usage.ts';
import { makeSubagentBlock, textField } from './subagent-block.ts';

/** Why a run ended. */
export type EndReason = NonNullable<SessionIdle['reason']>;

/** What is said of a subagent when it begins; later spawns fill what was left out. */
interface Spawn {
  readonly toolUseId: string;
  readonly agentId?: string | undefined;
  readonly prompt?: string | undefined;
  readonly subagentType?: string | undefined;
  readonly description?: string | undefined;
}

/** What is said of a subagent when it ends. */
interface Completion {
  readonly status: 'completed' | 'error' | 'failed';
  readonly agentId?: string | undefined;
  readonly output?: string | undefined;
  readonly durationMs?: number | undefined;
}

interface Ledger {
  readonly conversationId: string;
  /** The blocks that may be written again: open ones and those of the current message. */
  readonly blocks: Map<string, ConversationBlock>;
  readonly open: Set<string>;
  /** How often a tool use id was used, and by which message last (D46). */
  readonly calls: Map<string, { uses: number; message: string }>;
  message: { info: BlockMessage; readonly blockIds: Set<string> } | undefined;
}

interface Agent {
  readonly conversationId: string;
  block: SubagentBlock;
  running: boolean;
  background: boolean;
}

/** How the ids of subagents' blocks begin. */
const SUBAGENT = 'subagent:';

export class BlockWriter {
  #events: ConversationEvent[] = [];
  readonly #ledgers = new Map<string, Ledger>();
  readonly #agents = new Map<string, Agent>();

  /** The events since the last time. */
  take(): ConversationEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /**
   * The message that blocks of this conversation are about to be part of. Saying its usage anew writes its blocks again, so that
   * all of them carry the same.
   */
  message(
    conversationId: string,
    said: { readonly id: string; readonly model?: string | undefined; readonly usage?: Usage | undefined },
    at: string,
  ): BlockMessage {
    const ledger = this.#ledger(conversationId);
    const known = ledger.message;
    if (known?.info.id === said.id) {
      if (said.usage === undefined || sameUsage(known.info.usage, said.usage)) return known.info;
      known.info = messageInfo(said.id, known.info.model ?? said.model, said.usage);
      for (const id of known.blockIds) {
        const block = ledger.blocks.get(id);
        if (block) this.upsert({ ...block, message: known.info }, at);
      }
      return known.info;
    }
    if (known) for (const id of known.blockIds) if (!ledger.open.has(id)) ledger.blocks.delete(id);
    const info = messageInfo(said.id, said.model, said.usage);
    ledger.message = { info, blockIds: new Set() };
    return info;
  }

  /** Whether this conversation is in the middle of this message. */
  isSaying(conversationId: string, messageId: string): boolean {
    return this.#ledgers.get(conversationId)?.message?.info.id === messageId;
  }

  /** Writes a block, new or again. */
  upsert(block: ConversationBlock, at: string = block.timestamp): void {
    const { conversationId, id } = block;
    const ledger = this.#ledger(conversationId);
    const known = ledger.blocks.get(id);
    if (known && known.type !== block.type) return; // a block's type never changes (D43)
    this.#events.push({ type: 'block:upsert', conversationId, timestamp: at, block });
    const isOpen = block.status === 'pending' && block.type !== 'subagent';
    if (isOpen) ledger.open.add(id);
    else ledger.open.delete(id);
    if (block.type === 'tool_result' && !isOpen) this.#closeCall(ledger, block.toolUseId, block.isError);
    const isOfMessage = block.message !== undefined && block.message.id === ledger.message?.info.id;
    if (isOfMessage) ledger.message?.blockIds.add(id);
    if (isOpen || isOfMessage) ledger.blocks.set(id, block);
    else ledger.blocks.delete(id);
    const agent = block.type === 'subagent' ? this.#agents.get(block.toolUseId) : undefined;
    if (agent && block.type === 'subagent') agent.block = block;
  }

  /** Appends to an open block; says where the delta begins (D42). */
  delta(conversationId: string, blockId: string, delta: string, at: string): void {
    const ledger = this.#ledger(conversationId);
    const block = ledger.open.has(blockId) ? ledger.blocks.get(blockId) : undefined;
    if (block === undefined || delta === '') return;
    const isCall = block.type === 'tool_use';
    if (!isCall && block.type !== 'assistant_text' && block.type !== 'thinking') return;
    const before = isCall ? (block.inputText ?? '') : block.content;
    ledger.blocks.set(
      blockId,
      isCall ? { ...block, inputText: before + delta } : { ...block, content: before + delta },
    );
    this.#events.push({ type: 'block:delta', conversationId, timestamp: at, blockId, delta, offset: before.length });
  }

  /** An open or current block as it stands. */
  find(conversationId: string, blockId: string): ConversationBlock | undefined {
    return this.#ledgers.get(conversationId)?.blocks.get(blockId);
  }

  remove(conversationId: string, blockId: string, at: string): void {
    // A subagent whose call is taken back ends with it: ended later, its block would be back.
    const toolUseId = blockId.startsWith(SUBAGENT) ? blockId.slice(SUBAGENT.length) : '';
    if (this.isRunning(toolUseId)) this.complete(conversationId, toolUseId, { status: 'failed' }, at);
    const ledger = this.#ledger(conversationId);
    ledger.open.delete(blockId);
    ledger.blocks.delete(blockId);
    ledger.message?.blockIds.delete(blockId);
    this.#events.push({ type: 'block:removed', conversationId, timestamp: at, blockId });
  }

  /** The id of a call's block: its provider's, with `#2` and so on when another message of the thread used it before (D46). */
  callId(conversationId: string, toolUseId: string, messageId: string): string {
    const { calls } = this.#ledger(conversationId);
    const known = calls.get(toolUseId);
    if (known === undefined) calls.set(toolUseId, { uses: 1, message: messageId });
    else if (known.message !== messageId) {
      known.uses++;
      known.message = messageId;
    }
    return this.latestCallId(conversationId, toolUseId);
  }

  /** The id of the call that a result of this tool use id belongs to. */
  latestCallId(conversationId: string, toolUseId: string): string {
    const uses = this.#ledgers.get(conversationId)?.calls.get(toolUseId)?.uses ?? 1;
    return uses > 1 ? `${toolUseId}#${uses}` : toolUseId;
  }

  /** The call of a running subagent that was given this prompt and that no agent id is known of. */
  findRunning(prompt: string): string | undefined {
    for (const [toolUseId, { running, block }] of this.#agents) {
      if (running && block.agentId === undefined && block.input === prompt) return toolUseId;
    }
    return undefined;
  }

  /** Whether a call began a subagent. */
  isSubagent(toolUseId: string): boolean {
    return this.#agents.has(toolUseId);
  }

  /** Begins a subagent, or adds what was not known of it; saying the same again says nothing. */
  spawn(conversationId: string, spawn: Spawn, at: string, message?: BlockMessage): void {
    const { toolUseId } = spawn;
    if (toolUseId === MAIN_CONVERSATION) return; // no subagent may be called so (D36)
    const known = this.#agents.get(toolUseId);
    const before = known?.block;
    const block = makeSubagentBlock({
      toolUseId,
      conversationId: known?.conversationId ?? conversationId,
      timestamp: before?.timestamp ?? at,
      status: before?.status ?? 'pending',
      message: before?.message ?? message,
      agentId: before?.agentId ?? spawn.agentId,
      name: before?.name ?? spawn.subagentType,
      description: before?.description ?? spawn.description,
      input: before?.input ?? spawn.prompt,
      output: before?.output,
      durationMs: before?.durationMs,
    });
    const isNews =
      before === undefined ||
      before.agentId !== block.agentId ||
      before.name !== block.name ||
      before.description !== block.description ||
      before.input !== block.input;
    if (isNews) {
      this.#events.push({
        type: 'subagent:spawned',
        conversationId: block.conversationId,
        timestamp: at,
        toolUseId,
        ...textField('agentId', block.agentId),
        ...textField('prompt', block.input),
        ...textField('subagentType', block.name),
        ...textField('description', block.description),
      });
    }
    if (known) known.block = block;
    else this.#agents.set(toolUseId, { conversationId, block, running: true, background: false });
    if (message && before?.message === undefined) this.upsert(block, at);
    else if (isNews) this.#remember(block);
  }

  /** Marks a subagent whose call was answered at once, while it goes on. */
  sendToBackground(toolUseId: string): void {
    const agent = this.#agents.get(toolUseId);
    if (agent) agent.background = true;
  }

  /** Whether a subagent was left to run in the background. */
  isInBackground(toolUseId: string): boolean {
    return this.#agents.get(toolUseId)?.background === true;
  }

  /** Whether a subagent was spawned and has not ended. */
  isRunning(toolUseId: string): boolean {
    return this.#agents.get(toolUseId)?.running === true;
  }

  /** Ends a subagent. `conversationId` is where its call stands, for one that was never spawned. */
  complete(conversationId: string, toolUseId: string, completion: Completion, at: string): void {
    if (toolUseId === MAIN_CONVERSATION) return;
    const agent = this.#agents.get(toolUseId);
    const { status, agentId, output, durationMs } = completion;
    this.#events.push({
      type: 'subagent:completed',
      conversationId: agent?.conversationId ?? conversationId,
      timestamp: at,
      toolUseId,
      ...textField('agentId', agentId),
      status,
      ...textField('output', output),
      ...(durationMs !== undefined && { durationMs }),
    });
    if (agent === undefined) return;
    agent.running = false;
    const { block } = agent;
    agent.block = makeSubagentBlock({
      ...block,
      status: status === 'completed' ? 'complete' : 'error',
      agentId: agentId ?? block.agentId,
      output: output ?? block.output,
      durationMs: durationMs ?? block.durationMs,
    });
    this.#remember(agent.block);
  }

  /** Ends a conversation's open blocks: a call that has no result never got one, whatever the run says of itself. */
  settle(conversationId: string, reason: EndReason, at: string): void {
    const ledger = this.#ledger(conversationId);
    for (const id of [...ledger.open]) {
      const block = ledger.blocks.get(id);
      if (block === undefined) continue;
      const status = block.type === 'tool_use' || reason !== 'completed' ? 'error' : 'complete';
      this.upsert({ ...block, status }, at);
    }
    this.#events.push({ type: 'session:idle', conversationId, timestamp: at, reason });
  }

  /** Ends everything: the source is over. A subagent in the background outlives a run that completed. */
  settleAll(reason: EndReason, at: string): void {
    for (const [toolUseId, agent] of this.#agents) {
      if (!agent.running || (agent.background && reason === 'completed')) continue;
      this.complete(agent.conversationId, toolUseId, { status: 'failed' }, at);
    }
    for (const { conversationId, open } of this.#ledgers.values()) {
      if (conversationId !== MAIN_CONVERSATION && open.size > 0) this.settle(conversationId, 'interrupted', at);
    }
    this.settle(MAIN_CONVERSATION, reason, at);
  }

  /** Whether a conversation waits for something. */
  hasOpenBlocks(conversationId: string): boolean {
    return (this.#ledgers.get(conversationId)?.open.size ?? 0) > 0;
  }

  #ledger(conversationId: string): Ledger {
    let ledger = this.#ledgers.get(conversationId);
    if (ledger === undefined) {
      ledger = { conversationId, blocks: new Map(), open: new Set(), calls: new Map(), message: undefined };
      this.#ledgers.set(conversationId, ledger);
    }
    return ledger;
  }

  #closeCall(ledger: Ledger, toolUseId: string, isError: boolean): void {
    const call = ledger.blocks.get(toolUseId);
    if (call?.type !== 'tool_use') return;
    ledger.open.delete(toolUseId);
    if (ledger.message?.blockIds.has(toolUseId)) {
      ledger.blocks.set(toolUseId, { ...call, status: isError ? 'error' : 'complete' });
    } else ledger.blocks.delete(toolUseId);
  }

  /** Keeps the newest form of a subagent's block, should its message be written again. */
  #remember(block: SubagentBlock): void {
    const { blocks } = this.#ledger(block.conversationId);
    if (blocks.has(block.id)) blocks.set(block.id, block);
  }
}

function messageInfo(id: string, model: string | undefined, usage: Usage | undefined): BlockMessage {
  return { id, ...(model !== undefined && { model }), ...(usage !== undefined && { usage }) };
}

function sameUsage(a: Usage | undefined, b: Usage): boolean {
  return (
    a !== undefined &&
    a.inputTokens === b.inputTokens &&
    a.outputTokens === b.outputTokens &&
    a.cachedInputTokens === b.cachedInputTokens &&
    a.cacheWriteTokens === b.cacheWriteTokens &&
    a.reasoningTokens === b.reasoningTokens &&
    a.costUsd === b.costUsd
  );
}
