/**
 * The subagents of a Claude session: which call started which agent, and how each ended.
 *
 * A thread is the lines of one agent. What links it to its call, the most reliable first: the `.meta.json` beside its file, the agent's id
 * in the result of the call, that id in the text of the result, the run of a workflow, a notification that names both.
 */
import { MAIN_CONVERSATION } from '../../conversation/events.ts';
import type { BlockWriter } from '../block-writer.ts';
import { asMilliseconds, asName, asObject, asText, type Json } from '../json-access.ts';
import { contentText, subagentOutput } from './content.ts';
import type { ReturnedFields } from './skim-line.ts';
import type { TaskNotification } from './user-text.ts';

/** A result of a call, in the conversation of the call. */
interface CallResult {
  readonly conversationId: string;
  readonly toolUseId: string;
  readonly block: Json;
  /** What the tool returned besides the text for the model. */
  readonly returned: ReturnedFields | undefined;
  readonly timestamp: string;
}

const UNFINISHED: ReadonlySet<unknown> = new Set(['running', 'pending', 'queued', undefined]);
const LAUNCHED = 'Async agent launched';

export class SubagentThreads {
  readonly #writer: BlockWriter;
  /** The call that started an agent, by the agent's id. */
  readonly #callOfAgent = new Map<string, string>();
  /** The calls whose block has the agent's id. */
  readonly #linked = new Set<string>();
  /** The agents that have a thread, and the time of its last line; empty before its first. */
  readonly #threads = new Map<string, string>();
  /** The agents of a workflow's run. */
  readonly #runs = new Map<string, string[]>();

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  /** The conversation of an agent: the call that started it; its own id until that is known (D41). */
  conversationOf(agentId: string): string {
    return this.#callOfAgent.get(agentId) ?? agentId;
  }

  /** Links an agent to the call that started it. */
  link(agentId: string, toolUseId: string): void {
    if (agentId !== toolUseId) this.#callOfAgent.set(agentId, toolUseId);
  }

  /** Adds an agent that has a file, and the run of a workflow that it belongs to. */
  addThread(agentId: string, runId?: string): void {
    if (!this.#threads.has(agentId)) this.#threads.set(agentId, '');
    if (runId === undefined) return;
    const agents = this.#runs.get(runId);
    if (agents) agents.push(agentId);
    else this.#runs.set(runId, [agentId]);
  }

  /** Notes a line of an agent; adds the agent's id to its block, once. */
  noteLine(agentId: string, toolUseId: string, timestamp: string): void {
    this.link(agentId, toolUseId);
    this.#threads.set(agentId, timestamp);
    if (this.#linked.has(toolUseId) || !this.#writer.isSubagent(toolUseId)) return;
    this.#linked.add(toolUseId);
    this.#writer.spawn(MAIN_CONVERSATION, { toolUseId, agentId }, timestamp);
  }

  /** Whether a result belongs to a call that started a subagent. */
  startedBy(toolUseId: string, returned: ReturnedFields | undefined): boolean {
    const isOfAgent = asName(returned?.agentId) !== undefined && returned?.totalDurationMs !== undefined;
    return isOfAgent || this.#writer.isSubagent(toolUseId);
  }

  /** Ends the subagent of a call, or leaves it in the background. */
  addResult({ conversationId, toolUseId, block, returned, timestamp }: CallResult): void {
    const text = contentText(block.content);
    const agentId = asName(returned?.agentId) ?? this.#threadNamedIn(text);
    if (agentId !== undefined) this.link(agentId, toolUseId);
    const isLaunched = returned === undefined && text.startsWith(LAUNCHED);
    if (returned?.isAsync === true || returned?.status === 'async_launched' || isLaunched) {
      this.#writer.spawn(conversationId, { toolUseId, agentId }, timestamp);
      this.#writer.sendToBackground(toolUseId);
      return;
    }
    const status = block.is_error === true ? 'error' : 'completed';
    const output = subagentOutput(returned, block.content);
    const durationMs = asMilliseconds(returned?.totalDurationMs);
    this.#writer.complete(conversationId, toolUseId, { status, agentId, output, durationMs }, timestamp);
  }

  /** Ends the subagents that the result of another tool reports on: a task that was collected, a workflow's run. */
  addReport({ conversationId, block, returned, timestamp }: CallResult): void {
    const task = asObject(returned?.task);
    const taskId = asName(task?.task_id);
    if (task && taskId !== undefined && !UNFINISHED.has(task.status)) {
      const result = asText(task.result) ?? asText(task.output);
      const durationMs = asMilliseconds(task.durationMs);
      this.notify({ taskId, toolUseId: undefined, status: asText(task.status), result, durationMs }, timestamp);
    }
    for (const agentId of this.#runs.get(asName(returned?.runId) ?? '') ?? []) {
      const toolUseId = this.conversationOf(agentId);
      this.#writer.spawn(conversationId, { toolUseId, agentId }, timestamp);
      if (returned?.isAsync === true || returned?.status === 'async_launched') this.#writer.sendToBackground(toolUseId);
      else {
        const status = block.is_error === true ? 'error' : 'completed';
        this.#writer.complete(conversationId, toolUseId, { status, agentId }, timestamp);
      }
    }
  }

  /** Ends the subagent of a background task; false when the task is not a subagent. */
  notify(notification: TaskNotification, at: string): boolean {
    const { taskId, status, result, durationMs } = notification;
    const isThread = taskId !== undefined && this.#threads.has(taskId);
    if (isThread && notification.toolUseId !== undefined) this.link(taskId, notification.toolUseId);
    const toolUseId = notification.toolUseId ?? (taskId === undefined ? '' : this.conversationOf(taskId));
    if (!this.#writer.isSubagent(toolUseId)) {
      if (!isThread) return false;
      this.#writer.spawn(MAIN_CONVERSATION, { toolUseId, agentId: taskId }, at);
    }
    const outcome = status === 'completed' ? 'completed' : 'failed';
    const completion = { status: outcome, agentId: taskId, output: result, durationMs } as const;
    this.#writer.complete(MAIN_CONVERSATION, toolUseId, completion, at);
    return true;
  }

  /** Ends the threads that nothing links and nothing ended: their session was interrupted. */
  endUnlinked(): void {
    for (const [agentId, timestamp] of this.#threads) {
      const toolUseId = this.conversationOf(agentId);
      if (timestamp === '' || this.#writer.isSubagent(toolUseId)) continue;
      this.#writer.diagnostics.problem('unlinked-subagent', agentId);
      this.#writer.spawn(MAIN_CONVERSATION, { toolUseId, agentId }, timestamp);
      this.#writer.complete(MAIN_CONVERSATION, toolUseId, { status: 'failed', agentId }, timestamp);
    }
  }

  /** The agent whose id is in the text of a result, if it has a thread. */
  #threadNamedIn(text: string): string | undefined {
    if (this.#threads.size === 0) return undefined;
    const agentId = /.*\bagentId: ?([A-Za-z0-9_-]+)/s.exec(text)?.[1];
    return agentId !== undefined && this.#threads.has(agentId) ? agentId : undefined;
  }
}
