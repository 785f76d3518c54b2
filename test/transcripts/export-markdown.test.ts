/** Reads exported Markdown with a CommonMark parser: whatever was said, the document around it has the structure that the export wrote. */
import { type Node, Parser } from 'commonmark';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConversationBlock } from '../../src/conversation.ts';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import { containedMarkdown, escapedMarkdown } from '../../src/transcripts/export/contained-markdown.ts';
import { call, completed, result, spawned, text, upsert } from '../conversation/builders.ts';
import { stateOf } from './own-log-builders.ts';

/** All nodes of a document, in order. */
function nodesOf(markdown: string): Node[] {
  const walker = new Parser().parse(markdown).walker();
  const nodes: Node[] = [];
  for (let step = walker.next(); step; step = walker.next()) if (step.entering) nodes.push(step.node);
  return nodes;
}

/** The text that a reader sees of a node. */
function shown(node: Node): string {
  let result = '';
  for (let child = node.firstChild; child; child = child.next) result += (child.literal ?? '') + shown(child);
  return result;
}

const headings = (markdown: string): string[] =>
  nodesOf(markdown)
    .filter((node) => node.type === 'heading')
    .map(shown);
const rawHtml = (markdown: string): string[] =>
  nodesOf(markdown)
    .filter((node) => node.type === 'html_block' || node.type === 'html_inline')
    .map((node) => node.literal ?? '');

const OWN_HTML = /^(?:<details>\n<summary>[^<>\n]*<\/summary>|<\/details>)\s*$/;

/** A conversation with this text in every place, between two texts of its own. */
function around(said: string): string {
  const notice = (id: string, type: 'system' | 'error' | 'compaction'): ConversationBlock => ({
    ...{ ...text(id), type, subtype: said, content: said },
  });
  const state = stateOf([
    upsert(text('u', said, { type: 'user_message' })),
    upsert(text('a', said)),
    upsert(text('t', `x ${said}`, { type: 'thinking' })),
    upsert(call('c', { toolName: said, input: { command: said, [said]: said } })),
    upsert(call('w', { toolName: 'Write', input: { file_path: said, content: said } })),
    upsert(
      call('e', { toolName: 'Edit', input: { file_path: said, old_string: said, new_string: `${said}\n${said}` } }),
    ),
    upsert(call('p', { toolName: 'TodoWrite', input: { todos: [{ content: said, status: said }] } })),
    upsert(result('c', { output: said })),
    spawned('s', { prompt: said, subagentType: said, description: said }),
    upsert(text('x', said), 's'),
    completed('s', { output: said }),
    upsert(notice('n', 'system')),
    upsert(notice('f', 'error')),
    upsert(notice('k', 'compaction')),
    upsert(text('last', 'THE END', { type: 'user_message' })),
  ]);
  return exportConversation(state, { format: 'markdown', title: said, about: { project: said, agent: said } }).content;
}

const HOSTILE = [
  '```',
  '````js\nunclosed',
  '~~~',
  '- item\n  ```\n  in a list',
  '1. a\n\n    ```\n    deep',
  '> ```\n> in a quote',
  '> > ~~~\n> text',
  '- ```js\n  x',
  '<!--',
  '<!-- open\n\nand on',
  '<details>',
  '<details><summary>x',
  '</details></details>',
  '<script>alert(1)',
  '<style>',
  '<textarea>',
  '<![CDATA[',
  '<?php',
  '<!DOCTYPE',
  '<pre>\n\ntext',
  '<div\n',
  'a `b\n`<!-- `',
  '# a `\nb `<!--` c',
  '`` ` <!-- ``',
  '\\`<!--\\`',
  '| a ` | b |\n| --- | --- |\n| ` <!-- | ` |',
  '| a | b |\n| --- | --- |\n| unfinished',
  'text\n===',
  'text\n---',
  '# Heading\n## Heading',
  '[label]: https://example.com',
  '- [label]: https://example.com "title"',
  '[a\nb]: https://example.com',
  '[^1]: a footnote',
  '    indented\n\n    <!--',
  '*unclosed **emphasis [link](',
  '![pixel](https://example.com/p.png)',
  '[x](javascript:alert(1))',
  '<javascript:alert(1)>',
  '&lt;!-- &amp;',
  '\u0000<!--\u0000',
  'line\r\n```\rmixed',
  '$$\nx',
  ':::',
  '---\ntitle: x\n---',
  '\\',
];

describe('what was said ends where it ends', () => {
  test.for(HOSTILE)('%j swallows nothing', (said) => {
    const content = around(said);
    expect(rawHtml(content).filter((html) => !OWN_HTML.test(html))).toEqual([]);
    const open = rawHtml(content).filter((html) => html.startsWith('<details>')).length;
    expect(rawHtml(content).filter((html) => html.startsWith('</details>'))).toHaveLength(open);
    expect(headings(content).filter((heading) => heading.startsWith('User'))).toHaveLength(2);
    const last = nodesOf(content)
      .filter((node) => node.type === 'paragraph')
      .at(-1);
    expect(last && [last.parent?.type, shown(last)]).toEqual(['document', 'THE END']);
  });

  test('a text of any pieces swallows nothing', () => {
    const pieces = [
      ...[
        '`',
        '``',
        '```',
        '````',
        '~~~',
        '<',
        '<!--',
        '-->',
        '<details>',
        '</details>',
        '<b',
        '>',
        '> ',
        '|',
        '| --- |',
        '\\',
      ],
      ...[
        '\n',
        '\n',
        '\n\n',
        ' ',
        '    ',
        '\t',
        '- ',
        '1. ',
        '#',
        '# ',
        '===',
        '---',
        '[',
        ']',
        ']: ',
        '(',
        '!',
        '*',
        '&',
        'a',
        'http://x',
      ],
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 24 }), (parts) => {
        const content = `# T\n\n${containedMarkdown(parts.join(''))}\n\n## After\n\nTHE END\n`;
        expect(rawHtml(content)).toEqual([]);
        const after = nodesOf(content).filter(
          (node) => node.type === 'heading' && node.level === 2 && shown(node) === 'After',
        );
        expect(after.at(-1)?.parent?.type).toBe('document');
        expect(nodesOf(content).filter((node) => node.type === 'image')).toEqual([]);
        expect(nodesOf(content).some((node) => /^(?:javascript|data|vbscript):/i.test(node.destination ?? ''))).toBe(
          false,
        );
      }),
      { numRuns: 3000 },
    );
  });

  test('text is not lost: every word of it is in what a reader sees', () => {
    const pieces = [
      '```\n',
      '~~~\n',
      '\n',
      '\n\n',
      '> ',
      '- ',
      '# ',
      '`',
      '<',
      '[',
      ']: ',
      ' ',
      '    ',
      '| ',
      '---\n',
      '===\n',
    ];
    const word = fc.integer({ min: 100, max: 999 }).map((n) => `w${n}`);
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...pieces), word), { maxLength: 20 }), (parts) => {
        const said = parts.join(' ');
        const seen = nodesOf(containedMarkdown(said))
          .map((node) => `${node.literal ?? ''} ${node.info ?? ''} ${node.destination ?? ''}`)
          .join(' ');
        for (const [part] of said.matchAll(/w\d{3}/g)) expect(seen).toContain(part);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('Markdown that is well formed', () => {
  test('code, lists, quotes and tables stay as they were written', () => {
    const said = [
      'A `Map<string, T>` and **bold**.',
      '- one\n- two `<b>`',
      '> quoted `<i>`',
      '| a | b |\n| --- | --- |\n| `x<y>` | 2 |',
      '```ts\nconst a: Array<string> = [];\n<div>\n```',
    ].join('\n\n');
    expect(containedMarkdown(said)).toBe(said);
  });

  test('headings are below those of the document, and tags are shown', () => {
    expect(containedMarkdown('# One\n### Three\n\na <b>c</b>')).toBe('#### One\n###### Three\n\na &lt;b>c&lt;/b>');
  });

  test('code in a list is set apart without its indentation', () => {
    expect(containedMarkdown('1. Run\n   ```sh\n   a <b>\n     c\n   ```\n2. Look')).toBe(
      '1. Run\n\n```sh\na <b>\n  c\n```\n\n2. Look',
    );
  });
});

test('a title is shown as it is written, whatever it contains', () => {
  const titles = [
    ...HOSTILE,
    '*a* _b_ `c` [d](e) <f> # g',
    '1. x',
    '- x',
    'https://example.com a_b_c',
    '&amp; \\*',
    '~~x~~ $y$ | z',
  ];
  for (const title of titles) {
    const node = nodesOf(`# ${escapedMarkdown(title)}\n`).find(({ type }) => type === 'heading');
    expect(node && shown(node)).toBe(title.replaceAll('\0', '\ufffd').replace(/\s+/g, ' ').trim());
  }
});

test.for<[string, string]>([
  ['backticks', '`a '],
  ['fences', '```\n'],
  ['quotes', '> '],
  ['quotes in lines', '> > > > a\n'],
  ['brackets', '['],
  ['tags', '<!--'],
  ['underlines', '---\n'],
  ['different runs', Array.from({ length: 300 }, (_, i) => '`'.repeat(i + 1)).join(' ')],
])('containing %s costs about as much as their number', ([, piece]) => {
  const cost = (length: number): number => {
    const said = piece.repeat(Math.ceil(length / piece.length));
    const before = process.cpuUsage();
    containedMarkdown(said);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  let ratio = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 5 && ratio > 48; i++) ratio = Math.min(ratio, cost(800_000) / Math.max(cost(50_000), 200));
  expect(ratio).toBeLessThan(100);
});

describe('fences and headings', () => {
  test.for([
    'hi\n```\n---\n<img src=x>\n```\nbye',
    'hi\r\n~~~<script>\n===\n',
    'hi\n~~~\na\n~~~\n```\n---\n```',
    '- a\n  ```\n  ---\n  ```\n- b',
    '> hi\n> ```\n> ---\n> ```\n> bye',
  ])('every fence stands between empty lines: %j', (said) => {
    const lines = containedMarkdown(said)
      .split('\n')
      .map((line) => line.replace(/^> ?/, ''));
    const fences = lines.flatMap((line, i) => (/^(?:```|~~~)/.test(line) ? [i] : []));
    expect(fences.length % 2).toBe(0);
    for (const [n, i] of fences.entries()) expect(lines[n % 2 === 0 ? i - 1 : i + 1] ?? '').toBe('');
  });

  test.for([
    '- # x',
    'a\n- - # x',
    '1. ## x',
    '- a\n\n  # x',
    '- a\n\n    # x',
    '- > # x',
    '> # x',
    '> - # x',
    '> `a\n> # x',
    '* x\n  ===',
    '- x\n    ---',
    '-\t# x',
  ])('a heading in a list or a quote is lowered: %j', (said) => {
    const found = nodesOf(containedMarkdown(said)).filter((node) => node.type === 'heading');
    for (const node of found) expect(node.level).toBeGreaterThanOrEqual(4);
  });

  test('a comment in indented code is no heading', () => {
    expect(containedMarkdown('Run:\n\n    # install\n    npm ci')).toBe('Run:\n\n    # install\n    npm ci');
  });
});
