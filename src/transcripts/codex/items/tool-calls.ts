/** Reads the model's calls and their outputs (`function_call`, `custom_tool_call` and their like). */
import { asName, asObject, asText, type Json, keep, parseJson } from '../../json-access.ts';
import { mediaIn, outputParts, type Part, textOfParts } from './content.ts';
import { type Outcome, toolName } from './items.ts';

/** A call that the model wrote. */
export interface ModelCall {
  /** Absent when the provider omits it (D11). */
  readonly callId: string | undefined;
  readonly toolName: string;
  /** A value from JSON, or `{ input }` for a tool that takes a text. */
  readonly input?: unknown;
  /** The arguments when they are not JSON. */
  readonly inputText?: string;
  /** The arguments as messages hold them: what the model wrote, or `{ input }` as JSON. */
  readonly arguments: string;
}

/** Reads a call; `undefined` for any other item. */
export function modelCall(item: Json): ModelCall | undefined {
  const callId = asName(item.call_id);
  switch (item.type) {
    case 'function_call': {
      const name = toolName(asName(item.namespace), asText(item.name) ?? '');
      return { callId, toolName: name, ...inputOf(item.arguments) };
    }
    case 'custom_tool_call': {
      const name = toolName(asName(item.namespace), asText(item.name) ?? '');
      return { callId, toolName: name, ...inputOf({ input: item.input ?? '' }) };
    }
    case 'local_shell_call':
      return { callId: callId ?? asName(item.id), toolName: 'local_shell', ...inputOf(item.action) };
    case 'tool_search_call':
      return { callId, toolName: 'tool_search', ...inputOf(item.arguments) };
    default:
      return undefined;
  }
}

const OUTPUTS: ReadonlySet<unknown> = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'local_shell_call_output',
  'tool_search_output',
]);

/** Whether a response item is what a tool returned. */
export function isOutput(item: Json): boolean {
  return OUTPUTS.has(item.type);
}

/** The parts of an output. */
export function partsOfOutput(item: Json): readonly Part[] {
  return item.type === 'tool_search_output' && item.output === undefined
    ? [{ type: 'text', text: JSON.stringify(keep(item.tools ?? [])) }]
    : outputParts(item.output);
}

/** What is known about the call of an output. */
interface CallInfo {
  readonly toolName: string;
  /** What the item of the call reported, if there was one. */
  readonly item: Outcome | undefined;
  /** The file has an item for each call that Codex accepted. */
  readonly hasItems: boolean;
}

/** Whether a call failed: its item reports it; for a call without an item, the text that the model got does. */
export function isFailure(parts: readonly Part[], call: CallInfo): boolean {
  if (call.item) return call.item.isError;
  const text = textOfParts(parts);
  if (isRunning(text)) return false;
  if (exitCode(text) !== undefined) return exitCode(text) !== 0;
  if (REFUSALS.some((beginning) => text.startsWith(beginning))) return true;
  return call.hasItems && makesItem(call.toolName);
}

/** The result of a call, from its output and its item. */
export function resultOf(parts: readonly Part[], call: CallInfo): Outcome {
  const media = mediaIn(parts);
  return { output: textOfParts(parts), isError: isFailure(parts, call), ...(media && { parts: media }) };
}

/** Whether a command was still running when its output was returned. Its item follows when it ends. */
export function isRunning(text: string): boolean {
  return /^Process running with session ID /m.test(headerOf(text));
}

/** The statuses in what `wait_agent` returned, by the agent's thread. */
export function waitedStates(text: string): readonly (readonly [string, unknown])[] {
  return text.startsWith('{') ? Object.entries(asObject(asObject(parseJson(text))?.status) ?? {}) : [];
}

/** How the outputs of refused calls start. Codex writes no item for such a call. */
const REFUSALS: readonly string[] = [
  'unsupported call: ',
  'unsupported custom tool call: ',
  'failed to parse function arguments',
  'apply_patch verification failed',
  'aborted',
  'exec_command failed',
  'execution error: ',
];

function makesItem(name: string): boolean {
  return WITH_ITEMS.has(name) || name.startsWith('mcp__');
}

const WITH_ITEMS: ReadonlySet<string> = new Set(['exec_command', 'apply_patch', 'view_image']);

/** The exit code that an output states before the output itself. */
function exitCode(text: string): number | undefined {
  const stated = /^(?:Exit code: |Process exited with code )(-?\d+)$/m.exec(headerOf(text))?.[1];
  if (stated !== undefined) return Number(stated);
  if (!text.startsWith('{"output":')) return undefined;
  const code = asObject(asObject(parseJson(text))?.metadata)?.exit_code;
  return typeof code === 'number' ? code : undefined;
}

/** The lines that Codex puts before an output: only a few short ones. */
function headerOf(text: string): string {
  const start = text.slice(0, 400);
  if (!/^(?:Exit code|Chunk ID|Wall time|Process )/.test(start)) return '';
  const end = start.search(/^Output:$/m);
  return end < 0 ? start : start.slice(0, end);
}

function inputOf(value: unknown): Pick<ModelCall, 'input' | 'inputText' | 'arguments'> {
  if (typeof value !== 'string') {
    const input = keep(value ?? {});
    return { input, arguments: JSON.stringify(input) };
  }
  if (value.trim() === '') return { input: {}, arguments: '{}' };
  const parsed = parseJson(value);
  return { arguments: value, ...(parsed === undefined ? { inputText: value } : { input: keep(parsed) }) };
}
