/** Writes the calls of one thread: those of the model with their results, and those that a script of the model made. */

import type { BlockMessage } from '../../../conversation/blocks.ts';
import { MAIN_CONVERSATION } from '../../../conversation/events.ts';
import { present } from '../../../conversation/same-value.ts';
import { blockBase, resultBlock } from '../../block-base.ts';
import { asList, asName, asObject, asText, type Json } from '../../json-access.ts';
import { mediaIn, type Part, textOfParts } from '../items/content.ts';
import {
  agentOutcome,
  agentStates,
  agentTool,
  callOfItem,
  isOfAgents,
  type Outcome,
  outcomeOf,
  receivers,
} from '../items/items.ts';
import { isOutput, isRunning, type ModelCall, partsOfOutput, resultOf, waitedStates } from '../items/tool-calls.ts';
import type { Shared } from './agents.ts';

const SPAWN = 'spawn_agent';

interface Call {
  readonly toolUseId: string;
  readonly toolName: string;
  /** What the call's item reported. */
  item?: Outcome;
  /** What was returned so far: a script may return something before it ends. */
  parts: readonly Part[];
  outputs: number;
}

/** A script that returned more often than this is no longer shown in full: each time its whole result is written again. */
const MAX_OUTPUTS = 100;

export class CallWriter {
  readonly #shared: Shared;
  readonly #conversationId: string;
  readonly #hasItems: boolean;
  readonly #open = new Map<string, Call>();
  /** Calls with a result, until another response makes calls. */
  readonly #returned = new Map<string, Call>();
  /** Commands that were running when their call returned. */
  readonly #yielded = new Map<string, Call>();
  /** The ids of all calls: an item with another id is a call that a script made. */
  readonly #seen = new Set<string>();

  /** `hasItems`: the layout has an item for each call that Codex accepted. */
  constructor(shared: Shared, conversationId: string, hasItems: boolean) {
    this.#shared = shared;
    this.#conversationId = conversationId;
    this.#hasItems = hasItems;
  }

  addCall(call: ModelCall, fallbackId: string, message: BlockMessage, at: string): void {
    const { writer, agents } = this.#shared;
    const callId = call.callId ?? fallbackId;
    const toolUseId = writer.callId(this.#conversationId, callId, message.id);
    if (this.#open.size === 0) this.#returned.clear();
    this.#seen.add(callId);
    if (call.toolName === SPAWN && toolUseId !== MAIN_CONVERSATION) {
      const spawned = agents.start(this.#conversationId, { toolUseId, input: call.input }, at, message);
      this.#open.set(callId, { toolUseId: spawned, toolName: SPAWN, parts: [], outputs: 0 });
      return;
    }
    this.#open.set(callId, { toolUseId, toolName: call.toolName, parts: [], outputs: 0 });
    writer.upsert({
      ...blockBase(toolUseId, this.#conversationId, at, message, 'pending'),
      type: 'tool_use',
      toolUseId,
      toolName: call.toolName,
      ...present({ input: call.input, inputText: call.inputText }),
    });
  }

  /** Adds what a tool returned; false for any other item. */
  addOutput(item: Json, at: string): boolean {
    if (!isOutput(item)) return false;
    const callId = asName(item.call_id);
    if (callId === undefined) return true;
    const known = this.#open.get(callId) ?? this.#returned.get(callId);
    const toolUseId = known?.toolUseId ?? this.#shared.writer.latestCallId(this.#conversationId, callId);
    const call: Call = known ?? { toolUseId, toolName: '', parts: [], outputs: 0 };
    if (++call.outputs > MAX_OUTPUTS) {
      this.#shared.writer.diagnostics.problem('repeated-line', callId);
      return true;
    }
    call.parts = [...call.parts, ...partsOfOutput(item)];
    const result = resultOf(call.parts, { toolName: call.toolName, item: call.item, hasItems: this.#hasItems });
    if (call.item === undefined && isRunning(result.output)) this.#yielded.set(callId, call);
    // Older files have no item that reports the agents that ended.
    if (call.toolName === 'wait_agent') this.#endAgents(waitedStates(result.output), at);
    this.#write(call, result, at);
    if (this.#open.delete(callId)) this.#returned.set(callId, call);
    return true;
  }

  /** Adds the item of a call: of one of the model's, or of one that a script made. */
  addItem(id: string, item: Json, at: string): void {
    const outcome = outcomeOf(item);
    const call = this.#open.get(id) ?? this.#yielded.get(id);
    if (call === undefined && !this.#seen.has(id)) this.#addNested(id, item, outcome, at);
    if (isOfAgents(item)) this.#addAgents(call?.toolUseId ?? id, item, at);
    if (call === undefined || outcome === undefined) return;
    call.item = outcome;
    // The command ended after its call had returned: now its whole output is known.
    if (this.#yielded.delete(id)) this.#write(call, outcome, at);
  }

  /** Adds a search that the provider ran. Nothing reports its result. */
  addSearch(id: string, item: Json, message: BlockMessage, at: string): void {
    const query = asText(item.query);
    const action = asObject(item.action) ?? (query === undefined ? {} : { query });
    const input = this.#shared.writer.diagnostics.kept(action, id);
    this.#addProvided(id, 'web_search', input, message, at);
  }

  /** Adds an image that the provider made. */
  addImage(id: string, item: Json, message: BlockMessage, at: string): void {
    this.#addProvided(id, 'image_generation', { prompt: asText(item.revised_prompt) ?? '' }, message, at);
    const data = asName(item.result);
    if (data === undefined) return;
    const parts: readonly Part[] = [{ type: 'image', mediaType: 'image/png', data }];
    this.#writeResult(id, { output: '', isError: item.status === 'failed', parts }, at);
  }

  /** Adds news of an agent whose call names it by a path. */
  addActivity(id: string, item: Json, at: string): void {
    const { agents } = this.#shared;
    const threadId = asName(item.agent_thread_id);
    const path = asName(item.agent_path);
    const call = this.#open.get(id) ?? this.#returned.get(id);
    if (threadId === undefined) return;
    if (call?.toolName === SPAWN) agents.link(call.toolUseId, threadId, at, path === undefined ? {} : { path });
    else if (agents.conversationOf(threadId) === undefined) {
      agents.adopt(threadId, path, at);
      if (agents.conversationOf(threadId) === undefined) agents.addUnlinked(this.#conversationId, threadId, at);
    }
    if (item.kind === 'completed') agents.end(threadId, { status: 'completed' }, at);
    else if (item.kind === 'interrupted') agents.end(threadId, { status: 'failed' }, at);
  }

  /** Adds an item of a live stream, which has no other lines about its call: at its start and at its end. */
  addStreamed(id: string, item: Json, isCompleted: boolean, message: BlockMessage, at: string): void {
    const outcome = isCompleted ? (outcomeOf(item) ?? { output: '', isError: true }) : undefined;
    if (!this.#seen.has(id)) this.#addNested(id, item, undefined, at, message);
    if (isOfAgents(item)) this.#addAgents(id, item, at);
    if (outcome === undefined) return;
    if (!this.#shared.agents.isAgent(id)) this.#writeResult(id, outcome, at);
    else if (outcome.isError) this.#shared.agents.addOutput(id, outcome.output, true, at);
  }

  /** Adds a call of `update_plan`. */
  addPlan(id: string, plan: readonly Json[], message: BlockMessage, at: string): void {
    this.#addProvided(id, 'update_plan', { plan }, message, at);
    this.#writeResult(id, { output: 'Plan updated', isError: false }, at);
  }

  /** Gives open calls the result that their item holds: the process died before it wrote the output. Forgets the others. */
  takeLostResults(at: string): void {
    for (const call of this.#open.values()) if (call.item) this.#write(call, call.item, at);
    this.#open.clear();
  }

  #addNested(id: string, item: Json, outcome: Outcome | undefined, at: string, message?: BlockMessage): void {
    this.#seen.add(id);
    const { toolName, input } = callOfItem(item);
    if (toolName === SPAWN && id !== MAIN_CONVERSATION) {
      this.#shared.agents.start(this.#conversationId, { toolUseId: id, input }, at, message);
      return;
    }
    this.#shared.writer.upsert({
      ...blockBase(id, this.#conversationId, at, message, 'pending'),
      type: 'tool_use',
      toolUseId: id,
      toolName,
      input,
    });
    if (outcome) this.#writeResult(id, outcome, at);
  }

  /** Links the agent that an item names, and ends those that it reports as ended. */
  #addAgents(toolUseId: string, item: Json, at: string): void {
    const { agents } = this.#shared;
    const [threadId] = receivers(item);
    if (agentTool(item) === SPAWN && threadId !== undefined) {
      const description = asName(asObject(asList(item.receiver_agents)[0])?.agent_nickname);
      agents.link(toolUseId, threadId, at, description === undefined ? {} : { description });
    }
    this.#endAgents(agentStates(item), at);
  }

  #endAgents(states: readonly (readonly [thread: string, status: unknown])[], at: string): void {
    for (const [thread, status] of states) {
      const end = agentOutcome(status);
      if (end) this.#shared.agents.end(thread, end, at);
    }
  }

  #addProvided(id: string, toolName: string, input: unknown, message: BlockMessage, at: string): void {
    const base = blockBase(id, this.#conversationId, at, message);
    this.#shared.writer.upsert({ ...base, type: 'tool_use', toolUseId: id, toolName, input });
  }

  #write({ toolUseId, toolName, parts }: Call, outcome: Outcome, at: string): void {
    if (toolName !== SPAWN) this.#writeResult(toolUseId, outcome, at);
    else if (parts.length > 0) this.#shared.agents.addOutput(toolUseId, textOfParts(parts), outcome.isError, at);
  }

  #writeResult(toolUseId: string, { output, isError, parts }: Outcome, at: string): void {
    const result = { output, isError, parts: parts && mediaIn(parts) };
    this.#shared.writer.upsert(resultBlock(this.#conversationId, toolUseId, result, at));
  }
}
