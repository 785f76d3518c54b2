/** What makes an exported document worth reading: words instead of JSON, nothing empty, long texts folded, a head with the facts. */
import { describe, expect, test } from 'vitest';
import type { ConversationBlock, ConversationEvent } from '../../src/conversation.ts';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import { call, completed, result, spawned, text, upsert } from '../conversation/builders.ts';
import { logOf, makeMessages, started, stateOf } from './own-log-builders.ts';

const DOCUMENTS = ['markdown', 'html'] as const;

function notice(id: string, type: 'system' | 'error' | 'skill' | 'compaction', fields: object = {}): ConversationBlock {
  return { ...text(id), type, content: '', ...fields } as ConversationBlock;
}

function exported(events: readonly ConversationEvent[], format: 'markdown' | 'html'): string {
  return exportConversation(stateOf(events), { format }).content;
}

const COMPACTION = { markdown: 'Compaction', html: 'Summary' };

/** The part below the head. */
const body = (content: string): string => content.replace(/^[\s\S]*?(?:<\/dl>|- Time: [^\n]*\n)/, '');

describe.for(DOCUMENTS)('%s', (format) => {
  test('empty thinking, blank texts and empty notices are not shown', () => {
    const empty = exported(
      [
        upsert(text('t', '', { type: 'thinking' })),
        upsert(text('b', ' \n ', {})),
        upsert(text('u', '', { type: 'user_message' })),
        upsert(notice('n', 'system', { subtype: 'turn_duration', data: { ms: 5 } })),
        upsert(notice('s', 'skill', { subtype: 'x', content: '  ' })),
      ],
      format,
    );
    expect(body(empty)).not.toMatch(/Thinking|Assistant|User|turn|Notice|Skill|<article/);
  });

  test('an error is shown even if its text is only in its data', () => {
    const data = { error: { message: 'Overloaded' } };
    expect(exported([upsert(notice('e', 'error', { subtype: 'api_error', data }))], format)).toContain('Overloaded');
    expect(exported([upsert(notice('e', 'error', { subtype: 'api_error' }))], format)).toContain('Error: api error');
  });

  test('commands that people gave to Claude Code are shown without their tags', () => {
    const content =
      '<command-name>/model</command-name>\n  <command-message>model</command-message>\n  <command-args>opus</command-args>';
    const shown = exported([upsert(notice('c', 'system', { subtype: 'command', content }))], format);
    expect(shown).toContain('/model opus');
    expect(shown).not.toContain('command-name');
  });

  test('a result names its call, or stands in it', () => {
    const shown = exported(
      [
        upsert(call('a', { toolName: 'Bash', input: { command: 'make a' } })),
        upsert(call('b', { toolName: 'Bash', input: { command: 'make b' } })),
        upsert(result('a', { output: 'A' })),
        upsert(result('b', { output: 'B' })),
        upsert(call('c', { toolName: 'Bash', input: { command: 'make c' } })),
        upsert(result('c', { output: 'C' })),
      ],
      format,
    );
    if (format === 'html') {
      const calls = shown.match(/<details[\s\S]*?<\/details>/g) ?? [];
      for (const [index, name] of ['a', 'b', 'c'].entries()) {
        expect(calls[index]).toContain(`>make ${name}</code>`);
        expect(calls[index]).toMatch(new RegExp(`<pre [^>]*>${name.toUpperCase()}</pre>`));
      }
      return;
    }
    const named = (name: string) => `of Run \`${name}\``;
    expect(shown).toContain(named('make a'));
    expect(shown).toContain(named('make b'));
    expect(shown).not.toContain(named('make c'));
  });

  test('long results, compactions and instructions are folded, and complete', () => {
    const long = Array.from({ length: 3000 }, (_, i) => `line ${i}`).join('\n');
    const shown = exported(
      [
        upsert(call('a', { toolName: 'Bash', input: { command: 'make' } })),
        upsert(result('a', { output: long })),
        upsert(notice('c', 'compaction', { content: 'The summary' })),
        upsert(notice('i', 'system', { subtype: 'instructions', content: 'Be brief', machinery: true })),
        upsert(call('w', { toolName: 'Write', input: { file_path: 'a.txt', content: long } })),
      ],
      format,
    );
    expect(shown.split(long)).toHaveLength(3);
    const summaries = [...shown.matchAll(/<details[^>]*>\s*<summary[^>]*>(.*?)<\/summary>/g)].map(
      ([all, name = '']) => [/^<details[^>]* open/.test(all), name.replace(/<[^>]*>/g, '')],
    );
    expect(summaries.length).toBeGreaterThanOrEqual(4);
    expect(summaries.every(([isOpen]) => isOpen === false)).toBe(true);
    const names = summaries.map(([, name]) => name).join('\n');
    for (const name of ['3,000 lines', COMPACTION[format], 'instructions']) expect(names).toContain(name);
  });

  test('edits are diffs, written files are code, plans are lists, and other input is short', () => {
    const shown = exported(
      [
        upsert(
          call('e', {
            toolName: 'Edit',
            input: { file_path: 'a.ts', old_string: 'let x = 1;\nrun();', new_string: 'let x = 2;\nrun();' },
          }),
        ),
        upsert(call('w', { toolName: 'Write', input: { file_path: 'b.ts', content: 'export const b = 1;\n' } })),
        upsert(call('t', { toolName: 'TodoWrite', input: { todos: [{ content: 'Look', status: 'completed' }] } })),
        upsert(call('s', { toolName: 'Bash', input: { command: 'ls', timeout: 500 } })),
      ],
      format,
    );
    const expected = {
      markdown: [
        '```diff\n-let x = 1;\n+let x = 2;\n run();\n```',
        '```ts\nexport const b = 1;\n```',
        '- [x] Look',
        '`timeout: 500`',
      ],
      html: [
        'let x = <b>1</b>;</span><span class="line line-added">',
        '>export const b = 1;\n</pre>',
        'line-through">Look</span>',
        '>{&quot;timeout&quot;:500}<',
      ],
    }[format];
    for (const part of expected) expect(shown).toContain(part);
    expect(shown).not.toContain('old_string');
  });

  test('a call without a result, a failed one and a running subagent say so', () => {
    const shown = exported(
      [
        upsert(call('a', { toolName: 'Bash', input: { command: 'one' } })),
        upsert(call('b', { toolName: 'Bash', input: { command: 'two' } })),
        upsert(result('b', { isError: true, output: 'boom' })),
        spawned('s', { prompt: 'p', subagentType: 'explorer' }),
      ],
      format,
    );
    const words = { markdown: ['no result', 'failed', 'Error', 'running'], html: ['no result', 'failed', 'running'] };
    for (const word of words[format]) expect(shown).toContain(word);
  });

  test('the head names project, agent, models, time and totals, each only if it is known', () => {
    const message = { id: 'm', model: 'model-1', usage: { inputTokens: 12_345, outputTokens: 678, costUsd: 0.5 } };
    const state = stateOf([
      upsert(text('u', 'go', { type: 'user_message', timestamp: '2026-01-01T23:59:00+02:00' })),
      upsert(text('a', 'yes', { message, timestamp: '2026-01-02T00:01:00+02:00' })),
      upsert(call('c', { toolName: 'Bash', input: { command: 'x' }, timestamp: '2026-01-02T00:02:00+02:00' })),
      upsert(result('c', { isError: true, timestamp: '2026-01-02T00:03:00+02:00' })),
      spawned('s', { prompt: 'p' }),
      upsert(text('x', 'in', { message: { id: 'n', model: 'model-2' }, timestamp: '2026-01-02T00:02:30+02:00' }), 's'),
      completed('s', { output: 'done' }),
    ]);
    const about = { project: '/srv/shop', agent: 'Codex', version: '0.166.0', session: 's-1', branch: 'main' };
    const { content } = exportConversation(state, { format, title: 'T', about });
    const plain = content.replace(/<[^>]*>/g, ' ').replaceAll(/[`\\]/g, '');
    for (const fact of ['/srv/shop', 'Codex 0.166.0', 'model-1, model-2', 's-1', 'main']) expect(plain).toContain(fact);
    expect(plain).toContain('1 turn · 2 calls, 1 failed · 12,345 tokens in, 678 out · $0.5000');
    expect(plain).toMatch(/UTC to 2026-01-02 00:03:00 UTC\+02:00/);
    const nothing = exportConversation(stateOf([]), { format, title: 'T' }).content;
    expect(nothing).not.toMatch(/Project|Totals|Time/);
  });

  test('a log gives the document its title, and secrets in the head are redacted', () => {
    const m = makeMessages();
    const log = logOf(started(), { type: 'session/described', title: 'Fix the cart' }, m.user('go'));
    expect(exportConversation(log, { format }).content).toContain('Fix the cart');
    expect(exportConversation(log, { format, title: 'Mine' }).content).not.toContain('Fix the cart');
    const secret = 'k7Qz2Wv9'.repeat(3);
    const { content } = exportConversation(log, {
      format,
      redact: true,
      about: { project: `https://ci:${secret}@git.dev/x` },
    });
    expect(content).not.toContain(secret);
  });
});

test.for(DOCUMENTS)('the cost of %s grows with the conversation, not with its square', (format) => {
  const conversation = (turns: number) =>
    stateOf(
      Array.from({ length: turns }, (_, i) => [
        upsert(text(`a${i}`, 'Some `code` and text.\n\n```ts\nconst a = 1;\n```\n')),
        upsert(
          call(`c${i}`, { toolName: 'Edit', input: { file_path: 'a', old_string: 'a\nb\nc', new_string: 'a\nx\nc' } }),
        ),
        upsert(result(`c${i}`, { output: 'done' })),
        spawned(`s${i}`, { prompt: 'p' }),
        upsert(text('x', 'inside'), `s${i}`),
      ]).flat(),
    );
  const [few, many] = [conversation(200), conversation(3200)];
  const cost = (state: typeof few): number => {
    const before = process.cpuUsage();
    exportConversation(state, { format, redact: true });
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  let ratio = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 5 && ratio > 48; i++) ratio = Math.min(ratio, cost(many) / Math.max(cost(few), 500));
  expect(ratio).toBeLessThan(100);
});
