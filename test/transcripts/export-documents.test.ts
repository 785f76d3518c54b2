import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ConversationBlock,
  createConversationState,
  reduceConversationEvents,
  reviveConversationState,
  type SessionConversationState,
} from '../../src/conversation.ts';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import type { ExportFormat } from '../../src/transcripts/export/export-with.ts';
import { anyEvent } from '../conversation/arbitraries.ts';
import { call, completed, plain, result, spawned, text, upsert } from '../conversation/builders.ts';
import { INJECTIONS } from '../support/injections.ts';
import { everywhere, notice } from './hostile-conversation.ts';
import { makeMessages, stateOf, toolCall } from './own-log-builders.ts';

const FORMATS: readonly ExportFormat[] = ['markdown', 'html', 'json', 'jsonl', 'openai', 'anthropic', 'ai-sdk'];

const TAGS =
  'html head meta title style body main header h1 h2 dl dt dd article details summary span div p a b em strong del pre code ul ol li table thead tbody tr th td blockquote hr sup section progress svg path img'.split(
    ' ',
  );
const ATTRIBUTES =
  'lang charset http-equiv content name class id open href target rel title tabindex aria-label aria-hidden data-type data-streamdown src alt viewBox fill stroke stroke-width stroke-linecap stroke-linejoin d start max value data-footnotes data-footnote-backref data-footnote-ref aria-describedby dir'.split(
    ' ',
  );
/** Where a link or a picture of a document may lead. */
const SOURCES =
  /^"(?:#block-[^"<>]*|https?:[^"<>]*|mailto:[^"<>]*|data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=\s]*)"$/;

/** The tags and attributes of a document, as a browser reads them: a tag is `<` and a letter, anywhere. */
function markup(document: string): { tags: Set<string>; attributes: Set<string>; sources: string[] } {
  const body = document.replace(/<style>[\s\S]*?<\/style>/, '<style></style>');
  const tags = new Set<string>();
  const attributes = new Set<string>();
  const sources: string[] = [];
  for (const [, tag, rest] of body.matchAll(/<\/?([a-zA-Z][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)>/g)) {
    tags.add(tag ?? '');
    for (const [, name, value] of (rest ?? '').matchAll(/([^\s=/]+)(?:=("[^"]*"|'[^']*'|[^\s]*))?/g)) {
      attributes.add(name ?? '');
      if (name === 'src' || name === 'href') sources.push(value ?? '');
    }
  }
  return { tags, attributes, sources };
}

describe('HTML', () => {
  test.for(INJECTIONS)('%j is shown as text wherever it occurs', (said) => {
    const { content } = exportConversation(everywhere(said), {
      format: 'html',
      title: said,
      about: { project: said, agent: said, version: said, session: said, branch: said },
    });
    const { tags, attributes, sources } = markup(content);
    expect([...tags].filter((tag) => !TAGS.includes(tag))).toEqual([]);
    expect([...attributes].filter((name) => !ATTRIBUTES.includes(name))).toEqual([]);
    expect(sources.filter((source) => !SOURCES.test(source))).toEqual([]);
    expect(content).not.toContain('\0');
  });

  test('is one file without scripts and external resources, and its policy forbids them', () => {
    const { content, mediaType, extension } = exportConversation(everywhere('hi'), { format: 'html' });
    expect([mediaType, extension]).toEqual(['text/html', 'html']);
    const style = /<style>([\s\S]*?)<\/style>/.exec(content)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(content).toContain(
      `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'">`,
    );
    expect(content.replace(/\/\*![\s\S]*?\*\//, '')).not.toMatch(
      /<script|<link|<iframe|@import|url\(|https?:| style=/i,
    );
    expect(style).toMatch(/color-scheme:\s*light dark/);
  });

  test('sets code apart and keeps the text around it', () => {
    const said = 'Before\n\n```ts\nconst a = 1 < 2;\n```\n\nand `inline` after\n```\n```\n~~~\nopen to the end';
    const { content } = exportConversation(stateOf([upsert(text('a', said))]), { format: 'html' });
    expect(content).toContain('<p>Before</p>');
    expect(content).toMatch(/<pre class="output"[^>]*>const a = 1 &lt; 2;<\/pre>/);
    expect(content).toContain('<p>and <code>inline</code> after</p>');
    expect(content).toMatch(/<pre class="output"[^>]*>open to the end<\/pre>/);
  });

  test('shows images, and names and reports every other attachment', () => {
    const attachments = [
      { mediaType: 'image/png', data: 'AAAA', filename: 'a.png' },
      { mediaType: 'image/png', data: 'https://example.com/a.png' },
      { mediaType: 'text/csv', data: 'AAAA', filename: 'b.csv' },
    ];
    const { content, losses } = exportConversation(stateOf([upsert(text('a', '', { attachments }))]), {
      format: 'html',
    });
    expect(content).toMatch(/<img src="data:image\/png;base64,AAAA" alt="a.png"/);
    expect(content).not.toContain('example.com');
    expect(content).toContain('b.csv');
    expect(losses).toMatchObject([{ what: 'content of an attachment', count: 2, examples: ['a'] }]);
  });

  test('shows every conversation once: nested in its place, those without a parent at the end, loops once', () => {
    const thread = (toolUseId: string, parent: string, blocks: object[]): object => ({
      ...{ toolUseId, parentConversationId: parent, status: 'running', blocks },
    });
    const shows = (toolUseId: string, conversationId: string): object => ({
      ...{ id: `subagent:${toolUseId}`, type: 'subagent', conversationId, timestamp: '', status: 'pending', toolUseId },
    });
    const state = reviveConversationState({
      blocks: [shows('A', 'main')],
      subagents: [
        thread('A', 'B', [text('in-a', 'said in A', { conversationId: 'A' }), shows('B', 'A')]),
        thread('B', 'A', [text('in-b', 'said in B', { conversationId: 'B' }), shows('A', 'B')]),
        thread('C', 'gone', [text('in-c', 'said in C', { conversationId: 'C' })]),
      ],
    });
    for (const format of ['html', 'markdown'] as const) {
      const { content } = exportConversation(state, { format });
      for (const said of ['said in A', 'said in B', 'said in C']) expect(content.split(said)).toHaveLength(2);
    }
  });
});

describe('Markdown', () => {
  test('keeps the order of the conversation', () => {
    const m = makeMessages();
    const messages = [
      m.user('Fix it', { createdAt: '2026-01-01T10:00:00.000Z' }),
      m.assistant('Reading', [toolCall('c1', '{"path":"a","mode":"text"}')], { createdAt: '2026-01-01T10:00:01.000Z' }),
      m.tool('c1', 'text with ``` in it', { createdAt: '2026-01-01T10:00:02.000Z' }),
    ];
    expect(exportConversation(messages, { format: 'markdown', title: 'A *fix*' }).content).toBe(
      [
        '# A \\*fix\\*',
        '- Time: 2026-01-01 10:00:00 to 10:00:02 UTC\n- Totals: 1 turn · 1 call',
        '## User · 10:00:00',
        'Fix it',
        '## Assistant · 10:00:01',
        'Reading',
        '### Read `a` · 10:00:01',
        '`mode: text`',
        '**Result**',
        '````\ntext with ``` in it\n````\n',
      ].join('\n\n'),
    );
  });

  test('the output of a tool cannot end its own fence', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('`', '``', '```', '````', '\n', 'a', ' '), { maxLength: 20 }), (pieces) => {
        const output = `x${pieces.join('')}x`;
        const { content } = exportConversation(stateOf([upsert(result('c', { output }))]), { format: 'markdown' });
        const fence = /\*\*Result\*\*\n\n(`+)\n/.exec(content)?.[1] ?? '';
        expect(output.match(/`+/g)?.every((run) => run.length < fence.length) ?? true).toBe(true);
        expect(content.endsWith(`\n${output}\n${fence}\n`)).toBe(true);
      }),
    );
  });
});

const HOSTILE_PIECES = [
  ...[
    '` ',
    '\n',
    '~',
    '# ',
    '#',
    '**',
    '| ',
    '|',
    '- ',
    ' ',
    '>',
    '> ',
    '[',
    ']: ',
    '```\n',
    '| --- ',
    '=',
    'a|b\n-|-\n',
  ],
  ...['<command-args>', '<local-command-stdout>', '*** Add File: a\n', '\\', '![](', '`'],
];

test.for(['markdown', 'html'] as const)(
  'the cost of %s of long texts of signs and lines grows with their length',
  (format) => {
    const state = (length: number, piece: string) => {
      const said = `- ${piece.repeat(Math.ceil(length / piece.length))}x`;
      const command = {
        subtype: 'command',
        content: `<command-name>/x</command-name>${said}`,
      } as Partial<ConversationBlock>;
      const input = { file_path: 'a', old_string: said, new_string: `${said}\n${said}` };
      return stateOf([
        upsert(result('c', { output: said })),
        upsert(text('t', said)),
        upsert(notice('n', '', command)),
        upsert(call('e', { toolName: 'Edit', input })),
        upsert(call('p', { toolName: 'apply_patch', input: said })),
      ]);
    };
    for (const piece of HOSTILE_PIECES) {
      const [short, long] = [state(5000, piece), state(80_000, piece)];
      const cost = (given: SessionConversationState): number => {
        const before = process.cpuUsage();
        exportConversation(given, { format });
        const { user, system } = process.cpuUsage(before);
        return user + system;
      };
      let ratio = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 5 && ratio > 48; i++) ratio = Math.min(ratio, cost(long) / Math.max(cost(short), 200));
      expect(ratio, JSON.stringify(piece)).toBeLessThan(100);
    }
  },
);

describe('JSON and JSONL lose nothing', () => {
  const m = makeMessages();
  const messages = [m.user('Hi'), m.assistant('a', [toolCall('c')]), m.tool('c', 'x')];

  test('messages', () => {
    const asJson = exportConversation(messages, { format: 'json' });
    expect(JSON.parse(asJson.content)).toEqual(messages);
    const asLines = exportConversation(messages, { format: 'jsonl' });
    expect(
      asLines.content
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(messages);
    expect([...asJson.losses, ...asLines.losses]).toEqual([]);
  });

  test('a state is exported as itself, and as the events that reduce to it', () => {
    const state = stateOf([
      upsert(text('a', 'x')),
      spawned('t', { prompt: 'p' }),
      upsert(text('b', 'y'), 't'),
      completed('t', { output: 'z' }),
    ]);
    expect(plain(reviveConversationState(JSON.parse(exportConversation(state, { format: 'json' }).content)))).toEqual(
      plain(state),
    );
    const lines = exportConversation(state, { format: 'jsonl' }).content.trimEnd().split('\n');
    expect(
      plain(
        reduceConversationEvents(
          createConversationState(),
          lines.map((line) => JSON.parse(line)),
        ),
      ),
    ).toEqual(plain(state));
  });
});

describe('every format', () => {
  test('exports every state, and an empty conversation', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
        const state = reduceConversationEvents(createConversationState(), events);
        for (const format of FORMATS) expect(typeof exportConversation(state, { format }).content).toBe('string');
      }),
      { numRuns: 200 },
    );
    for (const format of FORMATS) {
      expect(exportConversation([], { format }).losses).toEqual([]);
      expect(exportConversation(createConversationState(), { format }).losses).toEqual([]);
    }
  });

  test('removes secrets on request, and counts them', () => {
    const secret = ['ghp', 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5'].join('_');
    const state = everywhere(`use ${secret} now`);
    const m = makeMessages();
    const messages = [
      m.user(secret),
      m.assistant(secret, [toolCall('c', JSON.stringify({ token: secret }))]),
      m.tool('c', secret),
    ];
    for (const format of FORMATS) {
      for (const source of [state, messages]) {
        expect(exportConversation(source, { format, title: secret }).content).toContain(secret);
        const { content, redacted } = exportConversation(source, { format, title: secret, redact: true });
        expect(content).not.toContain(secret);
        expect(redacted['github-token']).toBeGreaterThan(3);
      }
    }
    expect(exportConversation(messages, { format: 'json' }).redacted).toEqual({});
  });

  test('replaces values that are nested too deeply', () => {
    let data: unknown = 'bottom';
    for (let i = 0; i < 20_000; i++) data = { data };
    const state = stateOf([
      upsert({ ...text('a'), type: 'unknown', sourceType: 's', data }),
      upsert(call('c', { input: data })),
    ]);
    for (const format of FORMATS) expect(exportConversation(state, { format }).content).toContain('nested too deeply');
  });
});

test('an unknown format is rejected with a list of the known ones', () => {
  expect(() => exportConversation([], { format: 'pdf' as ExportFormat })).toThrow(
    /cannot export as "pdf"; the formats are markdown, html/,
  );
  expect(() => exportConversation([], { format: 'constructor' as ExportFormat })).toThrow(/cannot export/);
});
