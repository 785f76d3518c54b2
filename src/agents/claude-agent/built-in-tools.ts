import type { ToolEffect } from '../../core/events.ts';
import type { Prompt } from '../../loop/define-prompt.ts';
import type { AnyTool } from '../../loop/define-tool.ts';
import { anything } from '../../loop/json-schema.ts';
import { toolContent } from '../../loop/tool-result.ts';
import { TOOL_SERVER } from '../mcp-tools.ts';

/** The tools that Claude Code runs itself, and how ours are called there. */

const OURS = `mcp__${TOOL_SERVER}__`;

/** A tool of ours is recorded under its own name, everything else under the name that Claude Code knows it by. */
export function recordedName(name: string): string {
  return name.startsWith(OURS) ? name.slice(OURS.length) : name;
}

/** What the model called, from what was recorded: none of ours has a built-in tool's name. */
export function originalName(name: string, ours: ReadonlySet<string>): string {
  return ours.has(name) ? OURS + name : name;
}

/** Tools that change nothing: they may run again. `Agent` runs a conversation whose own calls are recorded one by one. */
const EFFECTS: Readonly<Record<string, ToolEffect>> = {
  Read: 'read',
  Glob: 'read',
  Grep: 'read',
  LS: 'read',
  NotebookRead: 'read',
  WebFetch: 'read',
  WebSearch: 'read',
  ToolSearch: 'read',
  ListAgents: 'read',
  ListMcpResources: 'read',
  ListMcpResourcesTool: 'read',
  ReadMcpResource: 'read',
  ReadMcpResourceTool: 'read',
  BashOutput: 'read',
  TaskOutput: 'read',
  TaskList: 'read',
  TaskGet: 'read',
  CronList: 'read',
  StructuredOutput: 'read',
  Agent: 'idempotent',
  Task: 'idempotent',
};

/** Built-in tools that act. */
const ACTING = [
  'Bash',
  'Edit',
  'MultiEdit',
  'Write',
  'NotebookEdit',
  'Skill',
  'Workflow',
  'Monitor',
  'SendMessage',
  'KillShell',
  'KillBash',
  'TaskStop',
  'TaskCreate',
  'TaskUpdate',
  'TodoWrite',
  'CronCreate',
  'CronDelete',
  'ScheduleWakeup',
  'EnterWorktree',
  'ExitWorktree',
  'EnterPlanMode',
  'ExitPlanMode',
  'AskUserQuestion',
  'ReportFindings',
  'RemoteTrigger',
  'PushNotification',
] as const;
const BUILT_IN = new Set<string>([...Object.keys(EFFECTS), ...ACTING]);

/** Whether Claude Code has a tool of this name, or it belongs to another MCP server. */
export function isBuiltIn(name: string): boolean {
  return BUILT_IN.has(name) || name.startsWith('mcp__');
}

/** What may be done again (D18): of a tool that is not known here, nothing. */
export function builtInEffect(name: string): ToolEffect {
  return EFFECTS[name] ?? 'once';
}

/** Whether a call runs a subagent. */
export function isSubagentCall(name: string): boolean {
  return name === 'Agent' || name === 'Task';
}

/**
 * The prompt with a stand-in for each built-in tool that a call was left open for. Only Claude Code can run the tool, so what may
 * run again is given back to the model to call again; what may have happened waits for a person, as any `once` tool does.
 */
export function withBuiltIns(
  prompt: Prompt<unknown>,
  names: Iterable<string>,
  subagentReport: (callId: string) => string,
): Prompt<unknown> {
  const own = new Set(prompt.tools.map((tool) => tool.name));
  const standIns = [...new Set(names)].filter((name) => !own.has(name)).map((name) => standIn(name, subagentReport));
  return { ...prompt, tools: [...prompt.tools, ...standIns] };
}

function standIn(name: string, subagentReport: (callId: string) => string): AnyTool {
  return {
    name,
    description: '',
    input: anything,
    jsonSchema: {},
    effect: builtInEffect(name),
    retries: 0,
    execute: (_input, { callId }) => {
      const text = isSubagentCall(name)
        ? subagentReport(callId)
        : 'The session was interrupted and this call did not take effect. Call the tool again if you still need it.';
      return toolContent([{ type: 'text', text }], { isError: true });
    },
  };
}
