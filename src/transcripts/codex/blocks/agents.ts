/**
 * The subagents of a Codex session. Each is a thread with a rollout of its own; the call that started it is in its parent's rollout. A
 * call and a thread are linked by whatever names both first:
 *
 *     v1: the output of spawn_agent `{agent_id}`, or its item's receiver_thread_ids
 *     v2: SubAgentActivity `{id: call id, agent_thread_id, agent_path}`, or the path in the output
 *
 * A result arrives in several places (wait_agent, a notification, a message, the end of the thread's own rollout). All of them end the
 * same subagent.
 */
import type { BlockMessage } from '../../../conversation/blocks.ts';
import { MAIN_CONVERSATION } from '../../../conversation/events.ts';
import type { BlockWriter } from '../../block-writer.ts';
import { asName, asObject, asText, parseJson } from '../../json-access.ts';

/** The fields of a call of `spawn_agent`. */
interface SpawnCall {
  readonly toolUseId: string;
  readonly input: unknown;
}

/** How an agent ended. */
export interface AgentEnd {
  readonly status: 'completed' | 'failed';
  readonly output?: string | undefined;
  readonly durationMs?: number | undefined;
}

interface Agent {
  readonly toolUseId: string;
  readonly conversationId: string;
  threadId: string | undefined;
  path: string | undefined;
  ended: string | undefined;
}

export class CodexAgents {
  readonly #writer: BlockWriter;
  readonly #byCall = new Map<string, Agent>();
  readonly #byThread = new Map<string, Agent>();
  readonly #byPath = new Map<string, Agent>();
  /** Agents that are known by the name of their task only. */
  readonly #byTask = new Map<string, Agent>();

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  /** Starts the subagent of a call of `spawn_agent`; returns its id: the call's, unless a call of another thread has the same. */
  start(conversationId: string, call: SpawnCall, at: string, message?: BlockMessage): string {
    const input = asObject(call.input);
    const taskName = asName(input?.task_name);
    const prompt = asText(input?.message) ?? asText(input?.prompt);
    const other = this.#byCall.get(call.toolUseId);
    const isTaken = call.toolUseId === conversationId || (other && other.conversationId !== conversationId);
    const toolUseId = isTaken ? `${conversationId}/${call.toolUseId}` : call.toolUseId;
    const agent = this.#add(conversationId, toolUseId);
    if (taskName !== undefined && !this.#byTask.has(taskName)) this.#byTask.set(taskName, agent);
    const subagentType = asName(input?.agent_type);
    this.#writer.spawn(conversationId, { toolUseId, prompt, subagentType, description: taskName }, at, message);
    return toolUseId;
  }

  /** Whether a call started a subagent. */
  isAgent(toolUseId: string): boolean {
    return this.#byCall.has(toolUseId);
  }

  /** Links a call to the thread that it started. */
  link(toolUseId: string, threadId: string, at: string, fields: { path?: string; description?: string } = {}): void {
    const agent = this.#byCall.get(toolUseId);
    if (agent === undefined || toolUseId === threadId) return;
    if (agent.threadId === undefined && !this.#byThread.has(threadId)) {
      agent.threadId = threadId;
      this.#byThread.set(threadId, agent);
    }
    if (fields.path !== undefined) this.name(toolUseId, fields.path);
    if (agent.threadId !== threadId) return;
    const { description } = fields;
    this.#writer.spawn(agent.conversationId, { toolUseId, agentId: threadId, description }, at);
    this.#writer.sendToBackground(toolUseId);
  }

  /** Gives a call the path of the agent that it started. */
  name(toolUseId: string, path: string): void {
    const agent = this.#byCall.get(toolUseId);
    if (agent === undefined) return;
    agent.path ??= path;
    if (!this.#byPath.has(path)) this.#byPath.set(path, agent);
    this.#writer.sendToBackground(toolUseId);
  }

  /** The output of `spawn_agent`: the thread's id, its path, or why there is none. */
  addOutput(toolUseId: string, text: string, isError: boolean, at: string): void {
    const agent = this.#byCall.get(toolUseId);
    const output = asObject(parseJson(text));
    const threadId = asName(output?.agent_id);
    const path = asName(output?.task_name) ?? (text.startsWith('/') ? text.trim() : undefined);
    const nickname = asName(output?.nickname);
    if (path !== undefined) this.name(toolUseId, path);
    if (threadId !== undefined) {
      this.link(toolUseId, threadId, at, nickname === undefined ? {} : { description: nickname });
    }
    if (agent === undefined || threadId !== undefined || path !== undefined) return;
    if (isError || agent.threadId === undefined) {
      this.#finish(agent, { status: 'failed', output: text }, at);
    }
  }

  /** The conversation of a thread: the call that started it; `undefined` until that is known. */
  conversationOf(threadId: string): string | undefined {
    return this.#byThread.get(threadId)?.toolUseId;
  }

  /** Links a thread whose id no line of its parent names, by its path. */
  adopt(threadId: string, path: string | undefined, at: string): void {
    if (path === undefined || this.#byThread.has(threadId)) return;
    const agent = this.#byPath.get(path) ?? this.#byTask.get(path.slice(path.lastIndexOf('/') + 1));
    const isNamed = agent?.path === undefined || agent.path === path;
    if (agent && isNamed && agent.threadId === undefined) this.link(agent.toolUseId, threadId, at);
  }

  /** Starts a subagent for a thread or an activity whose call is in no file. */
  addUnlinked(conversationId: string, threadId: string, at: string, fields: { name?: string | undefined } = {}): void {
    if (threadId === MAIN_CONVERSATION || this.#byThread.has(threadId) || this.#byCall.has(threadId)) return;
    const agent = this.#add(conversationId, threadId);
    agent.threadId = threadId;
    this.#byThread.set(threadId, agent);
    this.#writer.spawn(conversationId, { toolUseId: threadId, agentId: threadId, subagentType: fields.name }, at);
    this.#writer.sendToBackground(threadId);
  }

  /** Ends an agent, named by its thread or its path; false when it is not known. */
  end(name: string, end: AgentEnd, at: string): boolean {
    const agent = this.#byThread.get(name) ?? this.#byPath.get(name);
    if (agent === undefined) return false;
    // A later report of the same end, or that the agent was closed afterwards, changes nothing.
    const isNews = agent.ended === undefined || (end.status === 'completed' && (end.output ?? '') !== agent.ended);
    if (isNews) this.#finish(agent, end, at);
    return true;
  }

  /** Ends the agents that are still running: they were stopped with their session. */
  endAll(at: string): void {
    for (const agent of this.#byCall.values()) {
      if (this.#writer.isRunning(agent.toolUseId)) this.#finish(agent, { status: 'failed' }, at);
    }
  }

  #add(conversationId: string, toolUseId: string): Agent {
    const known = this.#byCall.get(toolUseId);
    if (known) return known;
    const agent = { toolUseId, conversationId, threadId: undefined, path: undefined, ended: undefined };
    this.#byCall.set(toolUseId, agent);
    return agent;
  }

  #finish(agent: Agent, { status, output, durationMs }: AgentEnd, at: string): void {
    agent.ended = output ?? '';
    this.#writer.complete(
      agent.conversationId,
      agent.toolUseId,
      { status, agentId: agent.threadId, output, durationMs },
      at,
    );
  }
}

/** What the threads of a session share. */
export interface Shared {
  readonly writer: BlockWriter;
  readonly agents: CodexAgents;
  /** The responses whose usage was counted. */
  readonly responses: Set<string>;
}
