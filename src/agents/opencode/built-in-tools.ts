import type { ToolEffect } from '../../core/log/events.ts';
import { TOOL_SERVER } from '../serve-mcp-request.ts';

/** OpenCode's own tools, and how ours are distinguished from them. */

/** The tool that starts a subagent. */
export const SUBAGENT_TOOL = 'task';

const OURS = `${TOOL_SERVER}_`;
const READS = new Set([
  'read',
  'glob',
  'grep',
  'list',
  'webfetch',
  'websearch',
  'codesearch',
  'todoread',
  'question',
  'lsp',
]);

const WRITES = new Set([
  'bash',
  'edit',
  'multiedit',
  'write',
  'patch',
  'apply_patch',
  'todowrite',
  'skill',
  'batch',
  'invalid',
  'plan_enter',
  'plan_exit',
]);

/** Whether OpenCode has a tool of that name itself. */
export function isBuiltIn(name: string): boolean {
  return READS.has(name) || WRITES.has(name) || name === SUBAGENT_TOOL;
}

/** A tool of ours is recorded under its own name, everything else under the name that OpenCode knows it by. */
export function recordedName(name: string): string {
  return name.startsWith(OURS) ? name.slice(OURS.length) : name;
}

/** What may be done again (D18): reading; a subagent, whose own calls are recorded one by one; of the rest, nothing. */
export function openCodeEffect(name: string): ToolEffect {
  return READS.has(name) ? 'read' : name === SUBAGENT_TOOL ? 'idempotent' : 'once';
}
