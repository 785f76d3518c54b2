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

interface KnownTool {
  readonly kind: ToolUseKind;
  readonly verb: string;
  readonly subject: (input: Input) => string | undefined;
  readonly detail?: (input: Input) => string | undefined;
}

const path = (input: Input): string | undefined =>
  textIn(input, 'file_path', 'filePath', 'path', 'notebook_path', 'filename', 'file', 'target_file');
const described = (input: Input): string | undefined => textIn(input, 'description', 'justification', 'explanation');
const place = (input: Input): string | undefined => {
  const where = textIn(input, 'path', 'dir_path', 'directory');
  const files = textIn(input, 'glob', 'include', 'file_pattern', 'type');
  return [where && `in ${where}`, files].filter((part) => part).join(', ') || undefined;
};

const RUN: KnownTool = {
  kind: 'command',
  verb: 'Run',
  subject: (input) => firstLine(commandIn(input)),
  detail: described,
};
const READ: KnownTool = { kind: 'read', verb: 'Read', subject: pathWithLines };
const WRITE: KnownTool = { kind: 'write', verb: 'Write', subject: path };
const EDIT: KnownTool = { kind: 'edit', verb: 'Edit', subject: path };
const PATCH: KnownTool = { kind: 'edit', verb: 'Patch', subject: patchedFiles };
const GREP: KnownTool = {
  kind: 'search',
  verb: 'Search',
  subject: (input) => textIn(input, 'pattern', 'query', 'regex'),
  detail: place,
};
const GLOB: KnownTool = {
  kind: 'search',
  verb: 'Find files',
  subject: (input) => textIn(input, 'pattern', 'glob', 'query'),
  detail: place,
};
const LIST: KnownTool = {
  kind: 'list',
  verb: 'List',
  subject: (input) => textIn(input, 'path', 'dir_path', 'directory') ?? '.',
};
const FETCH: KnownTool = {
  kind: 'fetch',
  verb: 'Fetch',
  subject: (input) => textIn(input, 'url', 'uri'),
  detail: (input) => textIn(input, 'prompt'),
};
const WEB: KnownTool = {
  kind: 'web-search',
  verb: 'Search the web',
  subject: (input) => textIn(input, 'query', 'q', 'search_query'),
};
const AGENT: KnownTool = {
  kind: 'subagent',
  verb: 'Start subagent',
  subject: (input) => textIn(input, 'subagent_type', 'agent_type', 'agent', 'name') ?? textIn(input, 'description'),
  detail: (input) => textIn(input, 'description') ?? textIn(input, 'prompt', 'message'),
};
const PLAN: KnownTool = { kind: 'plan', verb: 'Plan', subject: planIn };
const ASK: KnownTool = { kind: 'question', verb: 'Ask', subject: questionIn };
const other = (verb: string, ...fields: string[]): KnownTool => ({
  kind: 'other',
  verb,
  subject: (input) => textIn(input, ...fields),
  detail: described,
});

/** By name in small letters, without signs. */
const TOOLS: ReadonlyMap<string, KnownTool> = new Map(
  Object.entries({
    bash: RUN,
    shell: RUN,
    shellcommand: RUN,
    execcommand: RUN,
    localshell: RUN,
    localshellcall: RUN,
    commandexecution: RUN,
    runcommand: RUN,
    terminal: RUN,
    powershell: RUN,
    runshellcommand: RUN,
    exec: {
      kind: 'command',
      verb: 'Run code',
      subject: (input) => firstLine(textIn(input, 'code', 'input', 'script')),
    },
    bashoutput: other('Read output', 'bash_id', 'shell_id'),
    taskoutput: other('Read output', 'task_id'),
    writestdin: other('Type', 'chars'),
    killshell: other('Stop', 'shell_id'),
    killbash: other('Stop', 'shell_id'),
    taskstop: other('Stop', 'task_id'),
    read: READ,
    readfile: READ,
    view: READ,
    notebookread: READ,
    viewimage: READ,
    readmanyfiles: READ,
    write: WRITE,
    writefile: WRITE,
    createfile: WRITE,
    edit: EDIT,
    multiedit: EDIT,
    notebookedit: EDIT,
    strreplace: EDIT,
    replace: EDIT,
    strreplacebasededittool: EDIT,
    filechange: EDIT,
    applypatch: PATCH,
    patch: PATCH,
    grep: GREP,
    search: GREP,
    grepfiles: GREP,
    searchfilecontent: GREP,
    codesearch: GREP,
    glob: GLOB,
    findfiles: GLOB,
    ls: LIST,
    list: LIST,
    listdir: LIST,
    listdirectory: LIST,
    webfetch: FETCH,
    fetch: FETCH,
    readmcpresource: FETCH,
    readmcpresourcetool: FETCH,
    websearch: WEB,
    websearchcall: WEB,
    googlewebsearch: WEB,
    task: AGENT,
    agent: AGENT,
    spawnagent: AGENT,
    subagent: AGENT,
    todowrite: PLAN,
    updateplan: PLAN,
    todolist: PLAN,
    exitplanmode: { ...PLAN, verb: 'Propose a plan' },
    todoread: { ...PLAN, verb: 'Read the plan', subject: () => undefined },
    taskcreate: { ...PLAN, verb: 'Add task', subject: (input) => textIn(input, 'subject', 'description') },
    taskupdate: {
      ...PLAN,
      verb: 'Update task',
      subject: (input) => textIn(input, 'taskId', 'subject'),
      detail: (input) => textIn(input, 'status'),
    },
    askuserquestion: ASK,
    question: ASK,
    requestuserinput: ASK,
    skill: other('Use skill', 'skill', 'name', 'command'),
    slashcommand: other('Run', 'command'),
    toolsearch: other('Search tools', 'query'),
    lsp: other('Ask the language server', 'operation', 'filePath'),
  } satisfies Record<string, KnownTool>),
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
