import type { ToolEffect } from '../../core/log/events.ts';
import { TOOL_SERVER } from '../serve-mcp-request.ts';

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
