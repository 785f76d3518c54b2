/**
 * The output of every converter. A converter passes in what its source contains (a text, a call, a result, a subagent); the writer
 * makes events of it and keeps the state that later lines need: the open calls, the running subagents, and the blocks of the current
 * message, because all of them carry its usage, which is known only at its end.
 *
 * A stream and a transcript of one run call the same methods with the same values, so they end in the same state (D47).
 */
import type { BlockMessage, ConversationBlock, SubagentBlock } from '../conversation/blocks.ts';
import type { ConversationEvent, SessionIdle } from '../conversation/events.ts';
import { MAIN_CONVERSATION } from '../conversation/events.ts';
import { present, sameValue } from '../conversation/same-value.ts';
import { makeSubagentBlock } from '../conversation/subagent.ts';
import type { Usage } from '../core/log/usage.ts';
import { DiagnosticsCollector } from './diagnostics.ts';
import { asText, type Json } from './json-access.ts';

/** Why a run ended. */
export type EndReason = NonNullable<SessionIdle['reason']>;

/** The fields of a spawn; later spawns fill the missing ones. */
interface Spawn {
  readonly toolUseId: string;
  readonly agentId?: string | undefined;
  readonly prompt?: string | undefined;
  readonly subagentType?: string | undefined;
  readonly description?: string | undefined;
}

/** The fields of a completion. */
interface Completion {
  readonly status: 'completed' | 'error' | 'failed';
  readonly agentId?: string | undefined;
  readonly output?: string | undefined;
  readonly durationMs?: number | undefined;
}

interface Ledger {
  readonly conversationId: string;
  /** The blocks that may be written again: the open ones and those of the current message. */
  readonly blocks: Map<string, ConversationBlock>;
  readonly open: Set<string>;
  /** How often each tool use id was used, and which message used it last (D46). */
  readonly calls: Map<string, { uses: number; message: string }>;
  message: { info: BlockMessage; readonly blockIds: Set<string> } | undefined;
}

interface Agent {
  readonly conversationId: string;
  block: SubagentBlock;
  running: boolean;
  background: boolean;
}

/** The fields of a spawn that the input of its call names, as Claude Code and OpenCode do. */
export function spawnFields(input: Json | undefined): Pick<Spawn, 'prompt' | 'subagentType' | 'description'> {
  return {
    prompt: asText(input?.prompt),
    subagentType: asText(input?.subagent_type),
    description: asText(input?.description),
  };
}

/** The fields of a subagent's block that a spawn fills. */
const NEWS = ['agentId', 'name', 'description', 'input'] as const;

/** The prefix of the ids of subagents' blocks. */
const SUBAGENT = 'subagent:';

export class BlockWriter {
  /** The report on what was read. */
  readonly diagnostics: DiagnosticsCollector = new DiagnosticsCollector();
  #events: ConversationEvent[] = [];
  readonly #ledgers = new Map<string, Ledger>();
  readonly #agents = new Map<string, Agent>();

  /** Returns the events since the last call. */
  take(): ConversationEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /**
   * Sets the message that the next blocks of this conversation belong to. When its usage changes, its blocks are written again, so
   * that all of them carry the same usage.
   */
  message(
    conversationId: string,
    given: { readonly id: string; readonly model?: string | undefined; readonly usage?: Usage | undefined },
    at: string,
  ): BlockMessage {
    const ledger = this.#ledger(conversationId);
    const known = ledger.message;
    if (known?.info.id === given.id) {
      if (given.usage === undefined || sameValue(known.info.usage, given.usage)) return known.info;
      known.info = messageInfo(given.id, known.info.model ?? given.model, given.usage);
      for (const id of known.blockIds) {
        const block = ledger.blocks.get(id);
        if (block) this.upsert({ ...block, message: known.info }, at);
      }
      return known.info;
    }
    if (known) for (const id of known.blockIds) if (!ledger.open.has(id)) ledger.blocks.delete(id);
    const info = messageInfo(given.id, given.model, given.usage);
    ledger.message = { info, blockIds: new Set() };
    return info;
  }

  /** Whether this message is the conversation's current one. */
  isCurrentMessage(conversationId: string, messageId: string): boolean {
    return this.#ledgers.get(conversationId)?.message?.info.id === messageId;
  }

  /** Creates a block or replaces it. */
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

  /** Appends to an open block; the event carries the delta's offset (D42). */
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

  /** The current form of an open block or of one of the current message. */
  find(conversationId: string, blockId: string): ConversationBlock | undefined {
    return this.#ledgers.get(conversationId)?.blocks.get(blockId);
  }

  remove(conversationId: string, blockId: string, at: string): void {
    // A subagent ends with its removed call: a later completion would create the block again.
    const toolUseId = blockId.startsWith(SUBAGENT) ? blockId.slice(SUBAGENT.length) : '';
    if (this.isRunning(toolUseId)) this.complete(conversationId, toolUseId, { status: 'failed' }, at);
    const ledger = this.#ledger(conversationId);
    ledger.open.delete(blockId);
    ledger.blocks.delete(blockId);
    ledger.message?.blockIds.delete(blockId);
    this.#events.push({ type: 'block:removed', conversationId, timestamp: at, blockId });
  }

  /** The id of a call's block: the provider's, with `#2` and so on when another message of the conversation used it (D46). */
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

  /** Whether a conversation has a call with this id. */
  knowsCall(conversationId: string, toolUseId: string): boolean {
    return this.#ledgers.get(conversationId)?.calls.has(toolUseId) === true;
  }

  /** The block id of the call that a result with this tool use id belongs to. */
  latestCallId(conversationId: string, toolUseId: string): string {
    const uses = this.#ledgers.get(conversationId)?.calls.get(toolUseId)?.uses ?? 1;
    return uses > 1 ? `${toolUseId}#${uses}` : toolUseId;
  }

  /** The call of a running subagent with this prompt whose agent id is not known. */
  findRunning(prompt: string): string | undefined {
    for (const [toolUseId, { running, block }] of this.#agents) {
      if (running && block.agentId === undefined && block.input === prompt) return toolUseId;
    }
    return undefined;
  }

  /** Whether a call started a subagent. */
  isSubagent(toolUseId: string): boolean {
    return this.#agents.has(toolUseId);
  }

  /** Starts a subagent, or adds missing fields; the same spawn again emits no event. */
  spawn(conversationId: string, spawn: Spawn, at: string, message?: BlockMessage): void {
    const { toolUseId } = spawn;
    if (toolUseId === MAIN_CONVERSATION) return; // no subagent may have this id (D36)
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
    const isNews = before === undefined || NEWS.some((field) => before[field] !== block[field]);
    if (isNews) {
      this.#events.push({
        type: 'subagent:spawned',
        conversationId: block.conversationId,
        timestamp: at,
        toolUseId,
        ...present({
          ...{ agentId: block.agentId, prompt: block.input },
          ...{ subagentType: block.name, description: block.description },
        }),
      });
    }
    if (known) known.block = block;
    else this.#agents.set(toolUseId, { conversationId, block, running: true, background: false });
    if (message && before?.message === undefined) this.upsert(block, at);
    else if (isNews) this.#remember(block);
  }

  /** Marks a subagent that continues after its call got a result. */
  sendToBackground(toolUseId: string): void {
    const agent = this.#agents.get(toolUseId);
    if (agent) agent.background = true;
  }

  /** Whether a subagent runs in the background. */
  isInBackground(toolUseId: string): boolean {
    return this.#agents.get(toolUseId)?.background === true;
  }

  /** Whether a subagent was spawned and has not ended. */
  isRunning(toolUseId: string): boolean {
    return this.#agents.get(toolUseId)?.running === true;
  }

  /** Ends a subagent. `conversationId` is that of its call, for one that was never spawned. */
  complete(conversationId: string, toolUseId: string, completion: Completion, at: string): void {
    if (toolUseId === MAIN_CONVERSATION) return;
    const agent = this.#agents.get(toolUseId);
    const { status, agentId, output, durationMs } = completion;
    this.#events.push({
      type: 'subagent:completed',
      conversationId: agent?.conversationId ?? conversationId,
      timestamp: at,
      toolUseId,
      ...present({ agentId, status, output, durationMs }),
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

  /** Ends a conversation's open blocks. A call without a result ends as an error, whatever the reason. */
  settle(conversationId: string, reason: EndReason, at: string): void {
    const ledger = this.#ledger(conversationId);
    for (const id of [...ledger.open]) {
      const block = ledger.blocks.get(id);
      if (block === undefined) continue;
      if ((block.type === 'assistant_text' || block.type === 'thinking') && block.content.trim() === '') {
        this.remove(conversationId, id, at); // it ended before it said anything
        continue;
      }
      const status = block.type === 'tool_use' || reason !== 'completed' ? 'error' : 'complete';
      this.upsert({ ...block, status }, at);
    }
    this.#events.push({ type: 'session:idle', conversationId, timestamp: at, reason });
  }

  /**
   * Ends everything at the end of the source. `endsBackground`: background subagents end, too. They continue after a run that completed, but
   * not after the stream that reports them.
   */
  settleAll(reason: EndReason, at: string, endsBackground: boolean = reason !== 'completed'): void {
    for (const [toolUseId, agent] of this.#agents) {
      if (!agent.running || (agent.background && !endsBackground)) continue;
      this.complete(agent.conversationId, toolUseId, { status: 'failed' }, at);
    }
    for (const { conversationId, open } of this.#ledgers.values()) {
      if (conversationId !== MAIN_CONVERSATION && open.size > 0) this.settle(conversationId, 'interrupted', at);
    }
    this.settle(MAIN_CONVERSATION, reason, at);
  }

  /** Whether a conversation has open blocks. */
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

  /** Keeps the newest form of a subagent's block, for when its message is written again. */
  #remember(block: SubagentBlock): void {
    const { blocks } = this.#ledger(block.conversationId);
    if (blocks.has(block.id)) blocks.set(block.id, block);
  }
}

function messageInfo(id: string, model: string | undefined, usage: Usage | undefined): BlockMessage {
  return { id, ...(model !== undefined && { model }), ...(usage !== undefined && { usage }) };
}
