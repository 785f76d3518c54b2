/** A loaded transcript as the source of an export, and values that are no source. */
import { describe, expect, test } from 'vitest';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import type { ExportFormat } from '../../src/transcripts/export/export-with.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { asks, call, says, text } from './claude-builders.ts';
import { CODEX_CAPTURES, codexSession } from './codex-fixtures.ts';
import { textOfLines } from './fixtures.ts';

const FORMATS: readonly ExportFormat[] = ['markdown', 'html', 'json', 'jsonl', 'openai', 'anthropic', 'ai-sdk'];
const ENVELOPE = { cwd: '/srv/shop', version: '2.1.0', gitBranch: 'main' };
const CLAUDE = textOfLines([
  asks('u1', 'Fix the cart.\nPlease.', ENVELOPE),
  says('a1', 'm1', text('Done.'), { ...ENVELOPE, timestamp: '2026-01-01T00:00:00.900Z' }),
]);
const loaded = { architecture: 'claude-sdk', raw: CLAUDE } as const;

describe('a loaded transcript', () => {
  test.for(FORMATS)('is exported as %s', (format) => {
    expect(exportConversation(loaded, { format, redact: true }).content).toContain('Fix the cart.');
  });

  test('is the same data as its state', () => {
    const { state } = parseTranscript('claude-sdk', CLAUDE);
    for (const format of ['json', 'jsonl', 'ai-sdk'] as const) {
      expect(exportConversation(loaded, { format })).toEqual(exportConversation(state, { format }));
    }
  });

  test('names its agent, project, branch and session, unless the caller does', () => {
    const { content } = exportConversation(loaded, { format: 'markdown', about: { project: 'shop' } });
    expect(content.split('\n').slice(0, 6)).toEqual([
      ...['# Fix the cart.', '', '- Project: `shop`', '- Branch: `main`', '- Agent: `Claude Code 2.1.0`'],
      '- Model: `claude`',
    ]);
    expect(content).toContain('- Session: `s`');
  });

  test('has the newest title that its agent recorded', () => {
    const titled = (title: string): object => ({ type: 'ai-title', aiTitle: title, sessionId: 's' });
    const raw = `${CLAUDE}${JSON.stringify(titled('Old'))}\n${JSON.stringify(titled('Cart'))}\n`;
    expect(exportConversation({ ...loaded, raw }, { format: 'markdown' }).content).toMatch(/^# Cart\n/);
    const main = { info: { id: 'ses_1', title: 'Shop', directory: '/srv' }, messages: [] };
    const openCode = { architecture: 'opencode', raw: { main, subagents: [] } } as const;
    expect(exportConversation(openCode, { format: 'markdown' }).content).toMatch(
      /^# Shop\n\n- Project: `\/srv`\n- Agent: `OpenCode`\n/,
    );
  });

  test('reports what a chat leaves out, and names the project of Codex', () => {
    const capture = CODEX_CAPTURES.find(({ folder }) => folder === 'reasoning') as (typeof CODEX_CAPTURES)[number];
    const codex = { architecture: 'codex', raw: codexSession(capture) } as const;
    const { losses } = exportConversation(codex, { format: 'openai' });
    expect(losses).toContainEqual(expect.objectContaining({ what: 'reasoning', count: 2 }));
    expect(exportConversation(codex, { format: 'markdown' }).content).toMatch(
      /^- Project: `\/.*\n.*- Agent: `Codex /ms,
    );
  });

  test('has no secret in the title that its first prompt gives', () => {
    const raw = textOfLines([asks('u1', 'Use password="correct horse battery staple" please')]);
    const { content } = exportConversation({ ...loaded, raw }, { format: 'markdown', redact: true });
    expect(content).not.toContain('horse');
  });
});

test('a conversation within one second shows one time', () => {
  const at = (ms: string): { timestamp: string } => ({ timestamp: `2026-01-01T19:15:22.${ms}Z` });
  const raw = textOfLines([asks('u1', 'a', at('100')), says('a1', 'm1', text('b'), at('900'))]);
  const { content } = exportConversation({ ...loaded, raw }, { format: 'markdown' });
  expect(content).toContain('- Time: 2026-01-01 19:15:22 UTC\n');
});

test.for([
  ['nothing', undefined],
  ['null', null],
  ['a path', '/tmp/session.jsonl'],
  ['a promise', Promise.resolve(loaded)],
  ['an object', {}],
  ['a list of other things', [1, null]],
  ['a state without blocks', { blocks: 3, subagents: [] }],
  ['a transcript of an unknown agent', { architecture: 'gemini', raw: '' }],
] as const)('an export of %s is refused', ([, source]) => {
  for (const format of FORMATS) {
    expect(() => exportConversation(source as never, { format, redact: true })).toThrowError(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  }
});

test('a state that was parsed from JSON is exported like the state itself', () => {
  const { state } = parseTranscript('claude-sdk', CLAUDE);
  const plain = JSON.parse(JSON.stringify(state));
  for (const format of FORMATS) {
    expect(exportConversation(plain, { format })).toEqual(exportConversation(state, { format }));
  }
});

test('a document is well-formed text, also of half a character', () => {
  const raw = textOfLines([asks('u1', 'a\ud800b'), says('a1', 'm1', text('\udfff'))]);
  for (const format of ['markdown', 'html'] as const) {
    const { content } = exportConversation({ ...loaded, raw }, { format });
    expect(content.isWellFormed()).toBe(true);
    expect(content).toContain('a\ufffdb');
  }
});

test('the result that UI messages invent for an open call is a loss', () => {
  const raw = textOfLines([asks('u1', 'q'), says('a1', 'm1', call('t1'))]);
  const { losses } = exportConversation({ ...loaded, raw }, { format: 'ai-sdk' });
  expect(losses).toEqual([expect.objectContaining({ what: 'missing result', count: 1, examples: ['t1'] })]);
});
