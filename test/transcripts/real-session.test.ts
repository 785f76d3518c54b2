/** A real session of 3 MB, compared with figures that this file computes from its lines, without our code. */
import { describe, expect, test } from 'vitest';
import { usageTotals } from '../../src/conversation/selectors.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { fixture, type Line, linesOf, plain, realSession } from './fixtures.ts';

interface Block {
  readonly type: string;
  readonly name?: string;
  readonly tool_use_id?: string;
  readonly text?: string;
  readonly thinking?: string;
}

interface Message {
  readonly id: string;
  readonly content: string | readonly Block[];
  readonly usage: Readonly<Record<string, number>>;
}

const session = realSession();
const main = linesOf(session.main);
const agent = linesOf(session.subagents[0]?.transcript as string);
const messageOf = (line: Line): Message => line.message as Message;

/** The content blocks of a kind of line. */
function contentOf(lines: readonly Line[], type: string): Block[] {
  return lines.flatMap((line) => {
    const content = line.type === type ? messageOf(line).content : [];
    return typeof content === 'string' ? [{ type: 'text', text: content }] : [...content];
  });
}

/** Whether a page would show something for it. */
function isShown({ type, text, thinking }: Block): boolean {
  return (type !== 'text' && type !== 'thinking') || (text ?? thinking ?? '').trim() !== '';
}

function count<T>(items: readonly T[], of: (item: T) => boolean): number {
  return items.filter(of).length;
}

describe('the real session', () => {
  const { state, diagnostics } = parseTranscript('claude-sdk', session);
  const { blocks, subagents } = plain(state);
  const ofType = (type: string): number => count(blocks, (block) => block.type === type);
  const said = contentOf(main, 'assistant').filter(isShown);
  const answered = contentOf(main, 'user');
  const tasks = said.filter(({ name }) => name === 'Task');

  test('shows every text, reasoning, call and result of its lines once', () => {
    expect(ofType('assistant_text')).toBe(count(said, ({ type }) => type === 'text'));
    expect(ofType('thinking')).toBe(count(said, ({ type }) => type === 'thinking'));
    expect(ofType('tool_use')).toBe(count(said, ({ type }) => type === 'tool_use') - tasks.length);
    expect(ofType('tool_result')).toBe(count(answered, ({ type }) => type === 'tool_result') - tasks.length);
    expect(ofType('subagent')).toBe(tasks.length);
    expect(new Set(blocks.map(({ id }) => id)).size).toBe(blocks.length);
    expect([ofType('assistant_text'), ofType('thinking'), ofType('tool_use'), ofType('subagent')]).toEqual([
      84, 14, 149, 1,
    ]);
  });

  test('shows prompts, the compaction and notices as such', () => {
    const texts = main.filter((line) => line.type === 'user' && typeof messageOf(line).content === 'string');
    const summaries = texts.filter((line) => line.isCompactSummary === true);
    const notifications = texts.filter((line) => String(messageOf(line).content).startsWith('<task-notification>'));
    const notices = main.filter(
      (line) => line.type === 'system' && line.subtype !== 'compact_boundary' && (line.content ?? '') !== '',
    );
    expect(ofType('user_message')).toBe(texts.length - summaries.length - notifications.length);
    expect(ofType('compaction')).toBe(count(main, (line) => line.subtype === 'compact_boundary'));
    expect(ofType('system')).toBe(notices.length + notifications.length);
    expect(blocks.find(({ type }) => type === 'compaction')?.content).toBe(messageOf(summaries[0] ?? {}).content);
    expect(ofType('unknown')).toBe(0);
  });

  test('keeps the order of its lines, and every call has its outcome', () => {
    const calls = said.flatMap((block) => (block.type === 'tool_use' && block.name !== 'Task' ? [block as never] : []));
    const ids = (calls as { id: string }[]).map(({ id }) => id);
    expect(blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)).toEqual(ids);
    const failed = new Set(
      (answered as { tool_use_id?: string; is_error?: boolean }[]).flatMap((result) =>
        result.is_error === true ? [result.tool_use_id] : [],
      ),
    );
    for (const block of blocks) {
      if (block.type === 'tool_use')
        expect([block.id, block.status]).toEqual([block.id, failed.has(block.id) ? 'error' : 'complete']);
    }
  });

  test('has its subagent with all its lines, without the compaction run (D38, D41)', () => {
    const spoken = contentOf(agent, 'assistant').filter(isShown);
    const expected = spoken.length + contentOf(agent, 'user').length;
    expect(subagents).toHaveLength(tasks.length);
    expect(subagents[0]?.agentId).toBe('a2898e3');
    expect(subagents[0]?.status).toBe('success');
    expect(subagents[0]?.blocks).toHaveLength(expected);
    expect(expected).toBe(74);
  });

  test('counts the usage of each response once, from its last line', () => {
    const last = new Map<string, Message['usage']>();
    for (const line of [...main, ...agent])
      if (line.type === 'assistant') last.set(messageOf(line).id, messageOf(line).usage);
    let [input, cached, written, output] = [0, 0, 0, 0];
    for (const usage of last.values()) {
      cached += usage.cache_read_input_tokens ?? 0;
      written += usage.cache_creation_input_tokens ?? 0;
      input += usage.input_tokens ?? 0;
      output += usage.output_tokens ?? 0;
    }
    const totals = usageTotals(state);
    expect(totals.messages).toBe(last.size);
    expect(totals.usage).toMatchObject({
      inputTokens: input + cached + written,
      outputTokens: output,
      cachedInputTokens: cached,
      cacheWriteTokens: written,
    });
    expect(output).toBeGreaterThan(10_000);
  });

  test('every block of a response carries the same usage', () => {
    const usages = new Map<string, Set<string>>();
    for (const block of [...blocks, ...subagents.flatMap((thread) => thread.blocks)]) {
      const message = block.message as { id: string; usage?: unknown } | undefined;
      if (!message) continue;
      usages.set(message.id, (usages.get(message.id) ?? new Set()).add(JSON.stringify(message.usage)));
    }
    expect([...usages.values()].filter((seen) => seen.size > 1)).toEqual([]);
  });

  test('reports the number of lines by type (D49)', () => {
    const expected = new Map<string, number>();
    for (const line of [...main, ...agent]) {
      const data = line.data as { type: string } | undefined;
      const type = [line.type, line.type === 'system' ? line.subtype : data?.type].filter(Boolean).join('/');
      expected.set(type, (expected.get(type) ?? 0) + 1);
    }
    expect(diagnostics.counts).toEqual(Object.fromEntries(expected));
    expect(diagnostics.unknown).toEqual({});
    expect(diagnostics.problems).toEqual([]);
  });
});

describe('the smaller real sessions', () => {
  test.for(['short.jsonl', 'tool_heavy.jsonl', 'subagent.jsonl.gz'])('%s is read without a problem', (name) => {
    const text = fixture('claude-code-2.1.38', name);
    const { state, diagnostics } = parseTranscript('claude-sdk', text);
    const calls = contentOf(linesOf(text), 'assistant').filter(({ type }) => type === 'tool_use');
    const shown = plain(state).blocks.filter(({ type }) => type === 'tool_use' || type === 'subagent');
    expect(shown).toHaveLength(calls.length);
    expect(shown.filter(({ status }) => status === 'pending')).toEqual([]);
    expect(diagnostics.problems).toEqual([]);
    expect(diagnostics.unknown).toEqual({});
  });

  test('a subagent without a file is read from the progress lines of its parent', () => {
    const lines = linesOf(fixture('claude-code-2.1.38', 'subagent.jsonl.gz'));
    const told = lines.filter((line) => (line.data as { type?: string } | undefined)?.type === 'agent_progress');
    const { subagents } = plain(parseTranscript('claude-sdk', textOf(lines)).state);
    expect(subagents).toHaveLength(1);
    expect(subagents[0]?.blocks).toHaveLength(told.length);
    expect(subagents[0]).toMatchObject({ agentId: 'afb92ff', status: 'success', parentConversationId: 'main' });
  });
});

function textOf(lines: readonly Line[]): string {
  return lines.map((line) => JSON.stringify(line)).join('\n');
}
