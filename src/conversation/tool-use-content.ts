/** The input of a tool call as people read it: a command, a file's text, a diff, a list of steps; the rest as data. */
import {
  commandIn,
  type DescribedToolUse,
  describeToolUse,
  PLANS,
  patchIn,
  planItems,
  toolInput,
} from './describe-tool-use.ts';
import { lineDiff } from './line-diff.ts';

/** A piece of a call's input, to be shown in its own way. */
export type ToolUseContent =
  | { readonly type: 'code'; readonly text: string; readonly language: string }
  | { readonly type: 'diff'; readonly text: string }
  | { readonly type: 'steps'; readonly steps: readonly { readonly text: string; readonly status: string }[] }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'data'; readonly data: unknown };

type Input = Readonly<Record<string, unknown>>;

/**
 * What a call's input contains, for people. What is in the title or the detail of `describeToolUse` is not repeated, and fields without a place of
 * their own are in the last content, as data. Diffs leave out lines far from a change; steps have their text and status.
 */
export function toolUseContents(use: DescribedToolUse): readonly ToolUseContent[] {
  const input = toolInput(use);
  if (use.input === undefined && use.inputText !== undefined && input.input === use.inputText) {
    return isPatch(use.inputText)
      ? [{ type: 'diff', text: use.inputText }]
      : [{ type: 'code', text: use.inputText, language: '' }];
  }
  const description = describeToolUse(use);
  const { contents, used } = contentsOf(input, description.kind, description.verb);
  const rest = Object.entries(input).filter(
    ([name, value]) => !used.includes(name) && !isShown(value, description.title, description.detail),
  );
  return rest.length === 0 ? contents : [...contents, { type: 'data', data: Object.fromEntries(rest) }];
}

interface Found {
  readonly contents: readonly ToolUseContent[];
  /** The fields that the contents show. */
  readonly used: readonly string[];
}

const NOTHING: Found = { contents: [], used: [] };

function contentsOf(input: Input, kind: string, verb: string): Found {
  switch (kind) {
    case 'command': {
      const command = commandIn(input);
      const field = ['command', 'cmd', 'script', 'input', 'code'].find((name) => input[name] !== undefined) ?? '';
      const text = command ?? input[field];
      if (typeof text !== 'string') return NOTHING;
      const isInTitle = !/\n/.test(text) && text.length <= 120;
      return {
        contents: isInTitle ? [] : [{ type: 'code', text, language: verb === 'Run code' ? 'js' : 'sh' }],
        used: [field],
      };
    }
    case 'write': {
      const field = ['content', 'text', 'file_text', 'contents'].find((name) => typeof input[name] === 'string');
      if (!field) return NOTHING;
      return { contents: [{ type: 'code', text: String(input[field]), language: languageOf(input) }], used: [field] };
    }
    case 'read':
      return { contents: [], used: ['offset', 'limit'] };
    case 'edit':
      return edits(input, verb);
    case 'plan': {
      const steps = planItems(input);
      if (steps.length > 0)
        return {
          contents: [{ type: 'steps', steps }],
          used: PLANS.filter((name) => Array.isArray(input[name])).slice(0, 1),
        };
      return typeof input.plan === 'string'
        ? { contents: [{ type: 'text', text: input.plan }], used: ['plan'] }
        : NOTHING;
    }
    case 'subagent':
      return typeof input.prompt === 'string'
        ? { contents: [{ type: 'text', text: input.prompt }], used: ['prompt'] }
        : NOTHING;
    default:
      return NOTHING;
  }
}

function edits(input: Input, verb: string): Found {
  const patch = verb === 'Patch' ? patchIn(input) : undefined;
  if (patch !== undefined) {
    const used = Object.keys(input).filter(
      (name) => input[name] === patch || commandIn({ command: input[name] }) === patch,
    );
    return { contents: [{ type: 'diff', text: patch }], used };
  }
  const own = oneEdit(input);
  if (own) return own;
  if (typeof input.new_source === 'string') {
    return {
      contents: [{ type: 'code', text: input.new_source, language: input.cell_type === 'markdown' ? 'md' : 'python' }],
      used: ['new_source'],
    };
  }
  if (!Array.isArray(input.edits)) return NOTHING;
  const found = input.edits.map((edit) =>
    typeof edit === 'object' && edit !== null ? oneEdit(edit as Input) : undefined,
  );
  if (!found.every((edit) => edit !== undefined)) return NOTHING;
  return { contents: found.flatMap(({ contents }) => contents), used: ['edits'] };
}

const PAIRS = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
  ['oldText', 'newText'],
] as const;

function oneEdit(input: Input): Found | undefined {
  for (const [before, after] of PAIRS) {
    const [from, to] = [input[before], input[after]];
    if (typeof from === 'string' && (typeof to === 'string' || to === undefined)) {
      return { contents: [{ type: 'diff', text: lineDiff(from, to ?? '') }], used: [before, after] };
    }
  }
  return undefined;
}

/** Whether a field is in the title already. A switch that is off says nothing. */
function isShown(value: unknown, title: string, detail: string = ''): boolean {
  if (value === false || value === null || value === undefined) return true;
  if (typeof value !== 'string' || value.includes('\n')) return false;
  return title.includes(value) || detail.includes(value);
}

function isPatch(text: string): boolean {
  return text.startsWith('*** Begin Patch') || text.startsWith('diff --git ') || /^--- .+\n\+\+\+ /.test(text);
}

/** A file's extension as the language of a code block. */
function languageOf(input: Input): string {
  const file = ['file_path', 'filePath', 'path', 'filename']
    .map((name) => input[name])
    .find((value) => typeof value === 'string');
  return /\.([A-Za-z0-9]{1,10})$/.exec(typeof file === 'string' ? file : '')?.[1]?.toLowerCase() ?? '';
}
