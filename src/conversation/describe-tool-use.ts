/**
 * What a tool call does, in words for people: the command, the path, the pattern. Knows the tools of Claude Code, Codex and OpenCode by name,
 * and describes others by their most informative field. Screens and exports use it for headings.
 */
import { isRecord } from '../core/log/message-problem.ts';

/** What a call does, as far as its tool's name shows it. */
export type ToolUseKind =
  | 'command'
  | 'read'
  | 'write'
  | 'edit'
  | 'search'
  | 'list'
  | 'fetch'
  | 'web-search'
  | 'subagent'
  | 'plan'
  | 'question'
  | 'other';

/** A call in words. */
export interface ToolUseDescription {
  readonly kind: ToolUseKind;
  /** One line: the verb, and what it is about: `Run npm test`. */
  readonly title: string;
  /** The first word or words of the title: `Run`, or the name of a tool that is not known. */
  readonly verb: string;
  /** The rest of the title, in one line: a command, a path, a pattern. */
  readonly subject?: string;
  /** What the model says the call is for, or where it looks. */
  readonly detail?: string;
}

/** The fields of a `tool_use` block that describe it. */
export interface DescribedToolUse {
  readonly toolName: string;
  readonly input?: unknown;
  readonly inputText?: string;
}

type Input = Readonly<Record<string, unknown>>;

type Reads = (input: Input) => string | undefined;

interface KnownTool {
  readonly kind: ToolUseKind;
  readonly verb: string;
  readonly subject: Reads;
  readonly detail?: Reads;
}

const field =
  (...names: readonly string[]): Reads =>
  (input) =>
    textIn(input, ...names);
const path = field('file_path', 'filePath', 'path', 'notebook_path', 'filename', 'file', 'target_file');
const described = field('description', 'justification', 'explanation');
const place: Reads = (input) => {
  const where = textIn(input, 'path', 'dir_path', 'directory');
  const files = textIn(input, 'glob', 'include', 'file_pattern', 'type');
  return [where && `in ${where}`, files].filter((part) => part).join(', ') || undefined;
};

const tool = (kind: ToolUseKind, verb: string, subject: Reads, detail?: Reads): KnownTool => ({
  ...{ kind, verb, subject },
  ...(detail && { detail }),
});
const other = (verb: string, ...names: readonly string[]): KnownTool => tool('other', verb, field(...names), described);
const plan = (verb: string, subject: Reads, detail?: Reads): KnownTool => tool('plan', verb, subject, detail);

/** What the tools of these names do. Names are in small letters, without signs. */
const NAMED: readonly (readonly [tool: KnownTool, names: string])[] = [
  [
    tool('command', 'Run', (input) => firstLine(commandIn(input)), described),
    'bash shell shellcommand execcommand localshell localshellcall commandexecution runcommand terminal powershell runshellcommand',
  ],
  [tool('command', 'Run code', (input) => firstLine(textIn(input, 'code', 'input', 'script'))), 'exec'],
  [other('Read output', 'bash_id', 'shell_id', 'task_id'), 'bashoutput taskoutput'],
  [other('Type', 'chars'), 'writestdin'],
  [other('Stop', 'shell_id', 'task_id'), 'killshell killbash taskstop'],
  [tool('read', 'Read', pathWithLines), 'read readfile view notebookread viewimage readmanyfiles'],
  [tool('write', 'Write', path), 'write writefile createfile'],
  [tool('edit', 'Edit', path), 'edit multiedit notebookedit strreplace replace strreplacebasededittool filechange'],
  [tool('edit', 'Patch', patchedFiles), 'applypatch patch'],
  [
    tool('search', 'Search', field('pattern', 'query', 'regex'), place),
    'grep search grepfiles searchfilecontent codesearch',
  ],
  [tool('search', 'Find files', field('pattern', 'glob', 'query'), place), 'glob findfiles'],
  [
    tool('list', 'List', (input) => textIn(input, 'path', 'dir_path', 'directory') ?? '.'),
    'ls list listdir listdirectory',
  ],
  [tool('fetch', 'Fetch', field('url', 'uri'), field('prompt')), 'webfetch fetch readmcpresource readmcpresourcetool'],
  [
    tool('web-search', 'Search the web', field('query', 'q', 'search_query')),
    'websearch websearchcall googlewebsearch',
  ],
  [
    tool(
      'subagent',
      'Start subagent',
      field('subagent_type', 'agent_type', 'agent', 'name', 'description'),
      field('description', 'prompt', 'message'),
    ),
    'task agent spawnagent subagent',
  ],
  [plan('Plan', planIn), 'todowrite updateplan todolist'],
  [plan('Propose a plan', planIn), 'exitplanmode'],
  [plan('Read the plan', () => undefined), 'todoread'],
  [plan('Add task', field('subject', 'description')), 'taskcreate'],
  [plan('Update task', field('taskId', 'subject'), field('status')), 'taskupdate'],
  [tool('question', 'Ask', questionIn), 'askuserquestion question requestuserinput'],
  [other('Use skill', 'skill', 'name', 'command'), 'skill'],
  [other('Run', 'command'), 'slashcommand'],
  [other('Search tools', 'query'), 'toolsearch'],
  [other('Ask the language server', 'operation', 'filePath'), 'lsp'],
];

const TOOLS: ReadonlyMap<string, KnownTool> = new Map(
  NAMED.flatMap(([known, names]) => names.split(' ').map((name) => [name, known] as const)),
);

/** The longest title and detail, in characters. */
const MAX_TITLE = 160;

/** What a call does: its kind, a title of one line, and perhaps a detail. Never throws, whatever the input is. */
export function describeToolUse(use: DescribedToolUse): ToolUseDescription {
  const input = toolInput(use);
  const [, server, bare = use.toolName] = /^mcp__(.+?)__(.+)$/s.exec(use.toolName) ?? [];
  const tool = server === undefined ? TOOLS.get(use.toolName.toLowerCase().replace(/[^a-z0-9]/g, '')) : undefined;
  const verb = tool?.verb ?? oneLine(bare);
  const subject = oneLine(tool ? (tool.subject(input) ?? '') : (mostInformative(input) ?? ''));
  const detail = oneLine((tool ? tool.detail?.(input) : (server ?? described(input))) ?? '');
  return {
    kind: tool?.kind ?? 'other',
    title: subject === '' ? verb : `${verb} ${subject}`,
    verb,
    ...(subject !== '' && { subject }),
    ...(detail !== '' && detail !== subject && { detail }),
  };
}

/** The input as an object: parsed from the text that the model wrote, or with a text as `input`. */
export function toolInput({ input, inputText }: DescribedToolUse): Input {
  const given = input ?? inputText;
  if (isRecord(given)) return given;
  if (typeof given !== 'string') return Array.isArray(given) ? { input: given } : {};
  try {
    const parsed: unknown = /^\s*\{/.test(given) ? JSON.parse(given) : undefined;
    return isRecord(parsed) ? parsed : { input: given };
  } catch {
    return { input: given };
  }
}

/** The command of a call that runs one: a text, or the last part of `['bash', '-lc', …]`. */
export function commandIn(input: Input): string | undefined {
  const command = input.command ?? input.cmd ?? input.script ?? input.input;
  if (typeof command === 'string') return command;
  if (!Array.isArray(command)) return undefined;
  const parts = command.filter((part) => typeof part === 'string');
  const isShell = /(?:^|\/)(?:ba|z|da)?sh$/.test(parts[0] ?? '') && /^-\w*c$/.test(parts[1] ?? '');
  return isShell && parts.length === 3 ? parts[2] : parts.join(' ');
}

/** The first line of a command, and a sign if there are more. */
function firstLine(text: string | undefined): string | undefined {
  const lines = text?.slice(0, 10_000).trim();
  const end = lines?.indexOf('\n') ?? -1;
  return end < 0 ? lines : `${lines?.slice(0, end).trimEnd()} …`;
}

/** The text of a patch, whatever its field is called. */
export function patchIn(input: Input): string | undefined {
  return textIn(input, 'input', 'patch', 'patchText', 'diff') ?? commandIn(input);
}

function patchedFiles(input: Input): string | undefined {
  const files = [
    ...(patchIn(input)?.slice(0, 100_000) ?? '').matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.{1,300})$/gm),
  ].map(([, file = '']) => file.trim());
  const changes = isRecord(input.changes) ? Object.keys(input.changes) : [];
  return [...new Set([...files, ...changes])].join(', ') || path(input);
}

function pathWithLines(input: Input): string | undefined {
  const file = path(input) ?? textIn(input, 'paths');
  const offset = Number(input.offset);
  const limit = Number(input.limit);
  if (file === undefined || !(offset > 0 || limit > 0)) return file;
  const first = offset > 0 ? offset : 1;
  return limit > 0 ? `${file}:${first}-${first + limit - 1}` : `${file}:${first}`;
}

function planIn(input: Input): string | undefined {
  const items = planItems(input);
  if (items.length === 0)
    return textIn(input, 'plan', 'explanation')
      ?.split('\n')
      .find((line) => line.trim() !== '');
  const done = items.filter(({ status }) => status === 'completed').length;
  const current = items.find(({ status }) => status === 'in_progress');
  return `${done} of ${items.length} done${current ? `: ${current.text}` : ''}`;
}

/** The fields that hold a plan. */
export const PLANS: readonly string[] = ['todos', 'plan', 'items', 'tasks'];

/** The steps of a plan or a list of tasks. */
export function planItems(input: Input): { readonly text: string; readonly status: string }[] {
  const items: readonly unknown[] = PLANS.map((name) => input[name]).find(Array.isArray) ?? [];
  return items.filter(isRecord).map((item) => ({
    text: textIn(item, 'content', 'step', 'text', 'title', 'subject') ?? '',
    status: textIn(item, 'status') ?? (item.completed === true ? 'completed' : ''),
  }));
}

function questionIn(input: Input): string | undefined {
  const [first] = Array.isArray(input.questions) ? input.questions : [input];
  return isRecord(first) ? textIn(first, 'question', 'prompt', 'text', 'header') : undefined;
}

const INFORMATIVE =
  'command cmd file_path filePath path url uri query pattern name title id key subject text message'.split(' ');

/** The field that says most about a call of an unknown tool. */
function mostInformative(input: Input): string | undefined {
  return (
    textIn(input, ...INFORMATIVE) ??
    (Object.values(input).find((value) => typeof value === 'string' && value !== '' && value.length <= 200) as
      | string
      | undefined)
  );
}

/** The first of these fields that is a text or a number. */
function textIn(input: Input, ...fields: readonly string[]): string | undefined {
  for (const field of fields) {
    const value = input[field];
    if (typeof value === 'string' && value.trim() !== '') return value;
    if (typeof value === 'number') return String(value);
  }
  return undefined;
}

/** At most `MAX_TITLE` characters in one line; of a long text only the start is read. */
function oneLine(text: string): string {
  const line = text
    .slice(0, 4 * MAX_TITLE)
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...line];
  if (characters.length <= MAX_TITLE && text.length <= 4 * MAX_TITLE) return line.toWellFormed();
  return `${characters
    .slice(0, MAX_TITLE - 1)
    .join('')
    .trimEnd()}…`.toWellFormed();
}
