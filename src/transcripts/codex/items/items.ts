/**
 * Reads Codex's items: finished pieces of a turn, as rollouts (`CommandExecution`) and `codex exec --json` (`command_execution`) name
 * them. Both forms become the same call and the same outcome, so that a stream and its rollout look alike (D47).
 */
import { asList, asName, asObject, asText, type Json, keep } from '../../json-access.ts';
import { mediaIn, type Part, partsOf, textOfParts } from './content.ts';

/** What a tool did. */
export interface Outcome {
  readonly output: string;
  readonly isError: boolean;
  /** The parts of the result when they are more than text. */
  readonly parts?: readonly Part[];
}

/** The name of an item's type in both forms: `CommandExecution` and `command_execution` are `command_execution`. */
export function itemType(item: Json): string {
  return snakeCase(asText(item.type) ?? '');
}

/** The types of items that a call of a tool leaves. */
const OF_CALLS: ReadonlySet<string> = new Set(
  `command_execution file_change mcp_tool_call dynamic_tool_call collab_agent_tool_call collab_tool_call image_view
  sleep`.split(/\s+/),
);

/** Whether an item belongs to a call of a tool. */
export function isOfCall(item: Json): boolean {
  return OF_CALLS.has(itemType(item));
}

/** Whether an item is about agents. */
export function isOfAgents(item: Json): boolean {
  const type = itemType(item);
  return type === 'collab_agent_tool_call' || type === 'collab_tool_call';
}

/** The call that an item stands for, where the model's own call is not known. */
export function callOfItem(item: Json): { readonly toolName: string; readonly input: unknown } {
  switch (itemType(item)) {
    case 'command_execution':
      return { toolName: 'exec_command', input: { cmd: commandOf(item.command) } };
    case 'file_change':
      return { toolName: 'apply_patch', input: { changes: changesOf(item.changes) } };
    case 'mcp_tool_call':
      return {
        toolName: toolName(`mcp__${asText(item.server) ?? ''}`, asText(item.tool) ?? ''),
        input: keep(item.arguments ?? {}),
      };
    case 'dynamic_tool_call':
      return { toolName: toolName(asName(item.namespace), asText(item.tool) ?? ''), input: keep(item.arguments ?? {}) };
    case 'collab_agent_tool_call':
    case 'collab_tool_call':
      return { toolName: agentTool(item), input: agentInput(item) };
    case 'image_view':
      return { toolName: 'view_image', input: { path: asText(item.path) ?? '' } };
    case 'sleep':
      return { toolName: 'sleep', input: { duration_ms: item.duration_ms ?? 0 } };
    default:
      return { toolName: itemType(item), input: {} };
  }
}

/** The outcome of a call's item; `undefined` while the tool runs. */
export function outcomeOf(item: Json): Outcome | undefined {
  const status = snakeCase(asText(item.status) ?? '');
  if (status === 'in_progress') return undefined;
  const failed = status === 'failed' || status === 'declined';
  switch (itemType(item)) {
    case 'command_execution': {
      const output = asText(item.aggregated_output) ?? `${asText(item.stdout) ?? ''}${asText(item.stderr) ?? ''}`;
      return { output, isError: failed || (typeof item.exit_code === 'number' && item.exit_code !== 0) };
    }
    case 'file_change':
      return { output: `${asText(item.stdout) ?? ''}${asText(item.stderr) ?? ''}`, isError: failed };
    case 'mcp_tool_call':
      return mcpOutcome(item, failed);
    case 'dynamic_tool_call': {
      const parts = partsOf(item.content_items);
      const output = parts.length > 0 ? textOfParts(parts) : (asText(item.error) ?? '');
      return withMedia({ output, isError: failed || item.success === false }, parts);
    }
    case 'collab_agent_tool_call':
    case 'collab_tool_call':
      return { output: statesText(item), isError: failed };
    default:
      return { output: '', isError: failed };
  }
}

/** A tool's name with its namespace. Tools of agents and of Codex itself have plain names in some versions, so they always do. */
export function toolName(namespace: string | undefined, name: string): string {
  return namespace === undefined || PLAIN.has(namespace) ? name : `${namespace}__${name}`;
}

const PLAIN: ReadonlySet<string> = new Set(['functions', 'multi_agent_v1', 'collaboration']);

/** The tool of an item about agents, by the name of its function: the item of `wait_agent` says `wait`. */
export function agentTool(item: Json): string {
  const tool = snakeCase(asText(item.tool) ?? '');
  return tool === 'wait' ? 'wait_agent' : tool;
}

/** The threads that an item about agents names. */
export function receivers(item: Json): readonly string[] {
  return asList(item.receiver_thread_ids).flatMap((id) => asName(id) ?? []);
}

/** The statuses that an item reports, by the agent's thread. */
export function agentStates(item: Json): readonly (readonly [string, unknown])[] {
  return Object.entries(asObject(item.agents_states) ?? {});
}

/** How an agent ended: `{completed: text}` in rollouts, `{status, message}` in streams; `undefined` while it runs. */
export function agentOutcome(
  status: unknown,
): { readonly status: 'completed' | 'failed'; readonly output?: string } | undefined {
  const object = asObject(status);
  const name = snakeCase(asText(status) ?? asText(object?.status) ?? Object.keys(object ?? {})[0] ?? '');
  const output = asText(object?.message) ?? asText(object?.[name]);
  const ended = { ...(output !== undefined && { output }) };
  if (name === 'completed') return { status: 'completed', ...ended };
  return FAILED.has(name) ? { status: 'failed', ...ended } : undefined;
}

const FAILED: ReadonlySet<string> = new Set(['errored', 'interrupted', 'shutdown', 'not_found', 'failed']);

function agentInput(item: Json): unknown {
  const prompt = asText(item.prompt);
  const targets = receivers(item);
  return { ...(targets.length > 0 && { targets }), ...(prompt !== undefined && { message: prompt }) };
}

function statesText(item: Json): string {
  const states = agentStates(item).flatMap(([, status]) => agentOutcome(status)?.output ?? []);
  return states.join('\n');
}

function mcpOutcome(item: Json, failed: boolean): Outcome {
  const given = asObject(item.result);
  const result = asObject(given?.Ok) ?? given;
  const parts = partsOf(result?.content);
  const error = asText(asObject(item.error)?.message) ?? asText(item.error) ?? asText(given?.Err);
  const isError = failed || error !== undefined || result?.isError === true || result?.is_error === true;
  return withMedia({ output: parts.length > 0 ? textOfParts(parts) : (error ?? ''), isError }, parts);
}

function withMedia(outcome: Outcome, parts: readonly Part[]): Outcome {
  const media = mediaIn(parts);
  return media ? { ...outcome, parts: media } : outcome;
}

/** The script that a shell was given, else the whole command. */
function commandOf(command: unknown): string {
  const words = typeof command === 'string' ? splitWords(command) : asList(command).map((word) => asText(word) ?? '');
  const [, flag, script] = words ?? [];
  if (words?.length === 3 && script !== undefined && /^-l?c$/.test(flag ?? '')) return script;
  return typeof command === 'string' ? command : (words ?? []).join(' ');
}

/** Paths and kinds of changes, sorted: the list of a stream, or the object of a rollout. */
function changesOf(changes: unknown): readonly Json[] {
  const list = Array.isArray(changes)
    ? changes.map((change) => ({ path: asText(asObject(change)?.path), kind: asText(asObject(change)?.kind) }))
    : Object.entries(asObject(changes) ?? {}).map(([path, change]) => ({ path, kind: asText(asObject(change)?.type) }));
  return list
    .map(({ path = '', kind = '' }) => ({ path, kind }))
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function snakeCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** Splits a command line as a POSIX shell does, without expansions; `undefined` when a quotation does not end. */
export function splitWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let i = 0; i < line.length; i++) {
    const letter = line[i] as string;
    if (letter === "'") {
      const end = line.indexOf("'", i + 1);
      if (end < 0) return undefined;
      word = (word ?? '') + line.slice(i + 1, end);
      i = end;
    } else if (letter === '"') {
      const quoted = /"((?:[^"\\]|\\[\s\S])*)"/y;
      quoted.lastIndex = i;
      const found = quoted.exec(line);
      if (found === null) return undefined;
      word = (word ?? '') + (found[1] as string).replace(/\\([$`"\\])/g, '$1').replaceAll('\\\n', '');
      i = quoted.lastIndex - 1;
    } else if (letter === '\\') {
      word = (word ?? '') + (line[++i] ?? '');
    } else if (/\s/.test(letter)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + letter;
  }
  return word === undefined ? words : [...words, word];
}

/** The item of an event: of `item_completed`, or of an older event that reports the same (the legacy layout); `undefined` for any other. */
export function itemOfEvent(event: Json): Json | undefined {
  const id = event.call_id;
  const ofAgents = (tool: string, fields: Json): Json => ({
    ...{ ...event, type: 'CollabAgentToolCall', id, tool, status: undefined },
    ...fields,
  });
  switch (event.type) {
    case 'item_completed':
      return asObject(event.item);
    case 'exec_command_end':
      return { ...event, type: 'CommandExecution', id };
    case 'patch_apply_end':
      return { ...event, type: 'FileChange', id, status: event.success === false ? 'failed' : 'completed' };
    case 'mcp_tool_call_end':
      return { ...asObject(event.invocation), ...event, type: 'McpToolCall', id, status: undefined };
    case 'view_image_tool_call':
      return { ...event, type: 'ImageView', id };
    case 'sub_agent_activity':
      return { ...event, type: 'SubAgentActivity', id: event.event_id ?? id };
    case 'collab_agent_spawn_end':
      return ofAgents('spawn_agent', { receiver_thread_ids: [asName(event.new_thread_id) ?? []].flat() });
    case 'collab_waiting_end':
      return ofAgents('wait', { agents_states: event.statuses });
    default:
      return undefined;
  }
}
