import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lineDiff } from '../../src/conversation/line-diff.ts';
import { describeToolUse, type ToolUseKind, toolUseContents } from '../../src/conversation.ts';

const PATCH = '*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** Add File: b.md\n+x\n*** End Patch';

describe('describeToolUse', () => {
  test.for<[string, unknown, ToolUseKind, string, string?]>([
    // Claude Code
    ['Bash', { command: 'npm test', description: 'Run the tests' }, 'command', 'Run npm test', 'Run the tests'],
    ['Bash', { command: 'cat <<EOF\nx\nEOF' }, 'command', 'Run cat <<EOF …'],
    ['Read', { file_path: '/a/b.ts' }, 'read', 'Read /a/b.ts'],
    ['Read', { file_path: '/a/b.ts', offset: 10, limit: 5 }, 'read', 'Read /a/b.ts:10-14'],
    ['Write', { file_path: '/a/b.ts', content: 'x' }, 'write', 'Write /a/b.ts'],
    ['Edit', { file_path: '/a/b.ts', old_string: 'a', new_string: 'b' }, 'edit', 'Edit /a/b.ts'],
    ['MultiEdit', { file_path: '/a/b.ts', edits: [] }, 'edit', 'Edit /a/b.ts'],
    ['NotebookEdit', { notebook_path: '/a/n.ipynb', new_source: 'x' }, 'edit', 'Edit /a/n.ipynb'],
    ['Grep', { pattern: 'foo.*', path: 'src', glob: '*.ts' }, 'search', 'Search foo.*', 'in src, *.ts'],
    ['Glob', { pattern: '**/*.md' }, 'search', 'Find files **/*.md'],
    ['LS', { path: '/a' }, 'list', 'List /a'],
    ['WebFetch', { url: 'https://x.dev', prompt: 'What is new?' }, 'fetch', 'Fetch https://x.dev', 'What is new?'],
    ['WebSearch', { query: 'zod 4' }, 'web-search', 'Search the web zod 4'],
    [
      'Task',
      { subagent_type: 'Explore', description: 'Find it', prompt: 'p' },
      'subagent',
      'Start subagent Explore',
      'Find it',
    ],
    ['Agent', { description: 'Find it', prompt: 'p' }, 'subagent', 'Start subagent Find it'],
    [
      'TodoWrite',
      {
        todos: [
          { content: 'a', status: 'completed' },
          { content: 'b', status: 'in_progress' },
        ],
      },
      'plan',
      'Plan 1 of 2 done: b',
    ],
    ['AskUserQuestion', { questions: [{ question: 'Which one?' }] }, 'question', 'Ask Which one?'],
    ['ExitPlanMode', { plan: '# Fix it\n\n1. Look' }, 'plan', 'Propose a plan # Fix it'],
    // Codex
    ['exec_command', { cmd: 'ls -la', workdir: '/a' }, 'command', 'Run ls -la'],
    ['shell', { command: ['bash', '-lc', 'rg x'] }, 'command', 'Run rg x'],
    ['shell', { command: ['git', 'status'] }, 'command', 'Run git status'],
    ['apply_patch', { input: PATCH }, 'edit', 'Patch src/a.ts, b.md'],
    ['apply_patch', PATCH, 'edit', 'Patch src/a.ts, b.md'],
    ['update_plan', { plan: [{ step: 'a', status: 'completed' }] }, 'plan', 'Plan 1 of 1 done'],
    ['view_image', { path: '/a.png' }, 'read', 'Read /a.png'],
    ['web_search', { query: 'x' }, 'web-search', 'Search the web x'],
    ['exec', 'await tools.x();\nmore()', 'command', 'Run code await tools.x(); …'],
    // OpenCode
    ['bash', { command: 'wc -c a', description: 'Count' }, 'command', 'Run wc -c a', 'Count'],
    ['read', { filePath: '/a/b.ts' }, 'read', 'Read /a/b.ts'],
    ['edit', { filePath: '/a/b.ts', oldString: 'a', newString: 'b' }, 'edit', 'Edit /a/b.ts'],
    ['grep', { pattern: 'x', include: '*.ts' }, 'search', 'Search x', '*.ts'],
    ['webfetch', { url: 'https://x.dev' }, 'fetch', 'Fetch https://x.dev'],
    ['todowrite', { todos: [] }, 'plan', 'Plan'],
    // Others
    ['mcp__github__create_issue', { title: 'Bug', body: 'x' }, 'other', 'create_issue Bug', 'github'],
    ['deploy', { environment: 'prod' }, 'other', 'deploy prod'],
    ['deploy', { count: 3, list: [1] }, 'other', 'deploy'],
    ['deploy', undefined, 'other', 'deploy'],
    ['constructor', { path: 'a' }, 'other', 'constructor a'],
  ])('%s %j is a %s', ([toolName, input, kind, title, detail]) => {
    const description = describeToolUse({ toolName, input });
    expect([description.kind, description.title, description.detail]).toEqual([kind, title, detail]);
    expect(description.title).toBe(
      [description.verb, description.subject].filter((part) => part !== undefined).join(' '),
    );
  });

  test('reads input that the model is still writing, and input that is no JSON', () => {
    expect(describeToolUse({ toolName: 'Bash', inputText: '{"command":"ls"}' }).title).toBe('Run ls');
    expect(describeToolUse({ toolName: 'Bash', inputText: '{"command":"l' }).kind).toBe('command');
  });

  test('is one line of bounded length for any input, and never throws', () => {
    const names = fc.oneof(
      fc.constantFrom('Bash', 'Read', 'Edit', 'apply_patch', 'TodoWrite', 'AskUserQuestion', 'mcp__a__b'),
      fc.string(),
    );
    const fields = fc.constantFrom(
      'command',
      'file_path',
      'todos',
      'questions',
      'edits',
      'old_string',
      'new_string',
      'plan',
      'changes',
      'offset',
    );
    const input = fc.oneof(
      fc.dictionary(fields, fc.jsonValue({ maxDepth: 3 })),
      fc.jsonValue(),
      fc.string({ maxLength: 2000 }),
    );
    fc.assert(
      fc.property(names, input, (toolName, given) => {
        const { title, detail = '', verb } = describeToolUse({ toolName, input: given });
        for (const line of [title, detail, verb]) expect(line).not.toMatch(/\n/);
        expect(title.length).toBeLessThan(800);
        expect(Array.isArray(toolUseContents({ toolName, input: given }))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('toolUseContents', () => {
  test('an edit is a diff, a written file is code, a plan is steps; the rest is data', () => {
    expect(
      toolUseContents({
        toolName: 'Edit',
        input: { file_path: 'a', old_string: 'x\ny', new_string: 'x\nz', replace_all: true },
      }),
    ).toEqual([
      { type: 'diff', text: ' x\n-y\n+z' },
      { type: 'data', data: { replace_all: true } },
    ]);
    expect(toolUseContents({ toolName: 'Write', input: { file_path: 'a.ts', content: 'x' } })).toEqual([
      { type: 'code', text: 'x', language: 'ts' },
    ]);
    expect(toolUseContents({ toolName: 'update_plan', input: { plan: [{ step: 'a', status: 'pending' }] } })).toEqual([
      { type: 'steps', steps: [{ text: 'a', status: 'pending' }] },
    ]);
    expect(toolUseContents({ toolName: 'apply_patch', input: { input: PATCH } })).toEqual([
      { type: 'diff', text: PATCH },
    ]);
    expect(toolUseContents({ toolName: 'Bash', input: { command: 'ls', timeout: 5 } })).toEqual([
      { type: 'data', data: { timeout: 5 } },
    ]);
    expect(toolUseContents({ toolName: 'Bash', input: { command: 'a\nb' } })).toEqual([
      { type: 'code', text: 'a\nb', language: 'sh' },
    ]);
  });

  test('every text of the input is in the title, the detail or a content', () => {
    const tools = fc.constantFrom(
      'Bash',
      'Read',
      'Write',
      'Edit',
      'MultiEdit',
      'apply_patch',
      'Grep',
      'TodoWrite',
      'Task',
      'mcp__a__b',
      'deploy',
    );
    const names = fc.constantFrom(
      'command',
      'cmd',
      'file_path',
      'path',
      'content',
      'old_string',
      'new_string',
      'pattern',
      'prompt',
      'description',
      'input',
      'plan',
      'x',
    );
    const words = fc
      .array(fc.constantFrom('one', 'two words', 'three\nlines\nhere', 'w'.repeat(400)), { minLength: 1, maxLength: 2 })
      .map((parts) => parts.join(' '));
    fc.assert(
      fc.property(tools, fc.dictionary(names, words), (toolName, input) => {
        const use = { toolName, input };
        const { title, detail = '' } = describeToolUse(use);
        const written = JSON.stringify([title, detail, toolUseContents(use)]).replace(/\\n[-+ ]?/g, '\n');
        for (const value of Object.values(input)) {
          for (const line of value.split('\n')) expect(written).toContain(line);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('lineDiff', () => {
  const texts = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'));

  test('without the added lines it is a part of the old text, without the removed ones a part of the new text', () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const lines = lineDiff(before, after)
          .split('\n')
          .filter((line) => line !== '@@');
        const side = (sign: string): string[] =>
          lines.filter((line) => !line.startsWith(sign) && line !== '').map((line) => line.slice(1));
        expect(isWithin(side('+'), before.split('\n'))).toBe(true);
        expect(isWithin(side('-'), after.split('\n'))).toBe(true);
      }),
    );
  });

  test('leaves out lines that are far from a change', () => {
    const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
    const changed = lines.with(15, 'changed');
    expect(lineDiff(lines.join('\n'), changed.join('\n'))).toBe(
      ['@@', ' line 12', ' line 13', ' line 14', '-line 15', '+changed', ' line 16', ' line 17', ' line 18', '@@'].join(
        '\n',
      ),
    );
  });

  test('long texts that differ everywhere are shown as replaced', () => {
    const before = Array.from({ length: 20_000 }, (_, i) => `a${i}`).join('\n');
    const after = Array.from({ length: 20_000 }, (_, i) => `b${i}`).join('\n');
    expect(lineDiff(before, after).split('\n')).toHaveLength(40_000);
  });
});

/** Whether these are lines of the text, in its order. */
function isWithin(lines: readonly string[], text: readonly string[]): boolean {
  let at = 0;
  for (const line of lines) {
    at = text.indexOf(line, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
