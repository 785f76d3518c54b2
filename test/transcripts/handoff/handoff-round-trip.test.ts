/** What is written for an agent and read again has the same texts, calls and results, in the same order. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../../../src/core/log/messages.ts';
import { ImportedMessages } from '../../../src/formats/imported-messages.ts';
import type { HandoffTarget } from '../../../src/transcripts/handoff/build-transcript.ts';
import type { HandoffSource } from '../../../src/transcripts/handoff/handoff-source.ts';
import { transcriptToMessages } from '../../../src/transcripts/parse-transcript.ts';
import { claudeSession, fixture, openCodeSession, realSession } from '../fixtures.ts';
import { isHanded, type SaidItem, saidItems } from './said-items.ts';
import { build, readBack, TARGETS } from './written.ts';

/** Codex does not record whether a result is an error. */
function recordable(items: readonly SaidItem[], to: HandoffTarget): readonly SaidItem[] {
  return to === 'codex' ? items.map((item) => ('result' in item ? { ...item, isError: false } : item)) : items;
}

const SOURCES: Readonly<Record<string, HandoffSource>> = {
  ...Object.fromEntries(
    [
      'fork-killmcp',
      'killmcp-both',
      'long-6',
      'nested',
      'parallel',
      'plain',
      'resume-killmcp',
      'sub',
      'subbg',
      'thinking',
      'tools',
    ].map((name) => [`Claude Code: ${name}`, { architecture: 'claude-sdk', raw: claudeSession(name) }] as const),
  ),
  'Claude Code: short': { architecture: 'claude-sdk', raw: fixture('claude-code-2.1.38', 'short.jsonl') },
  'Claude Code: tool_heavy': { architecture: 'claude-sdk', raw: fixture('claude-code-2.1.38', 'tool_heavy.jsonl') },
  'Claude Code: subagent': { architecture: 'claude-sdk', raw: fixture('claude-code-2.1.38', 'subagent.jsonl.gz') },
  'Claude Code: a long real session': { architecture: 'claude-sdk', raw: realSession() },
  ...Object.fromEntries(
    ['serve-nested', 'serve-resume-kill', 'serve-tools', 'sub'].map(
      (name) => [`OpenCode: ${name}`, { architecture: 'opencode', raw: openCodeSession(name) }] as const,
    ),
  ),
};

describe.for(TARGETS)('a transcript written for %s', (to) => {
  test.for(Object.entries(SOURCES))('has every text, call and result of a real session (%s)', ([, source]) => {
    const { architecture, raw } = source as Extract<HandoffSource, { raw: unknown }>;
    const messages = transcriptToMessages(architecture, raw);
    expect(messages.length).toBeGreaterThan(1);
    const { content } = build(source, to);
    expect(readBack(content, to)).toEqual(recordable(saidItems(messages), to));
    if (to === 'codex') return; // items, not messages
    expect(transcriptToMessages(to, content).map(({ role }) => role)).toEqual(
      messages.filter(isHanded).map(({ role }) => role),
    );
  });

  test('has every text, call and result of any coherent conversation', () => {
    fc.assert(
      fc.property(conversations, (messages) => {
        expect(readBack(build(messages, to).content, to)).toEqual(recordable(saidItems(messages), to));
      }),
      { numRuns: 150 },
    );
  });

  test('pairs each call with one result under a fitting id, whatever the conversation holds', () => {
    fc.assert(
      fc.property(brokenConversations, (messages) => {
        const items = readBack(build(messages, to).content, to);
        const [first = { said: 'assistant' as const, text: '' }] = items;
        expect('said' in first ? first.said : 'of' in first && first.of).toBe('user');
        const calls = items.flatMap((item) => ('call' in item ? [item.call] : []));
        const results = items.flatMap((item) => ('result' in item ? [item.result] : []));
        expect(results).toEqual(calls);
        expect(new Set(calls).size).toBe(calls.length);
        for (const item of items) {
          if (!('call' in item)) continue;
          expect(item.call).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(item.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(item.input).toBeTypeOf('object');
        }
      }),
      { numRuns: 150 },
    );
  });
});

const words = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
  fc.constantFrom('line\nline\u2028line', 'a\0b', '𝒳😀', '{"json": true}', '[1]', '  padded  '),
);
const said = words.map((text) => `${text}.`).filter((text) => text.trim() !== '');
const textPart = said.map((text) => ({ type: 'text', text }) as const);
const image = fc.constant({ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const);
const input = fc.dictionary(words, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3, noNullPrototype: true });

const exchange = fc.record({
  prompts: fc.array(fc.oneof(fc.tuple(textPart), fc.tuple(textPart, image)), { minLength: 1, maxLength: 2 }),
  texts: fc.array(said, { minLength: 1, maxLength: 2 }),
  thought: fc.boolean(),
  calls: fc.array(
    fc.record({ name: fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), input, output: said, isError: fc.boolean() }),
    { maxLength: 3 },
  ),
});

/** Conversations of which every target can hold everything but the reasoning. */
const conversations = fc.array(exchange, { minLength: 1, maxLength: 4 }).map((exchanges) => {
  const imported = new ImportedMessages();
  let n = 0;
  for (const { prompts, texts, thought, calls } of exchanges) {
    for (const content of prompts) imported.push({ role: 'user', content });
    const toolCalls = calls.map((call) => ({
      callId: `call_${++n}`,
      name: call.name,
      arguments: JSON.stringify(call.input),
    }));
    const content = texts.map((text) => ({ type: 'text', text }) as const);
    imported.push({
      ...{ role: 'assistant', content: thought ? [{ type: 'reasoning', text: 'Hm.' }, ...content] : content },
      ...(toolCalls.length > 0 && { toolCalls }),
    });
    for (const [i, { output, isError }] of calls.entries()) {
      const { callId: toolCallId = '', name: toolName = '' } = toolCalls[i] ?? {};
      imported.push({ role: 'tool', toolCallId, toolName, content: [{ type: 'text', text: output }], isError });
    }
  }
  return imported.messages;
});

const anyText = fc.oneof(words, fc.string(), fc.constantFrom('', ' ', '\ud800', '\udc00x'));
const anyPart = fc.oneof(
  anyText.map((text) => ({ type: 'text', text }) as const),
  image,
);
const anyId = fc.oneof(fc.constantFrom('', 'a', 'a', 'b/c', 'x'.repeat(80)), fc.string());
const anyMessage = fc.oneof(
  fc.record({ role: fc.constant('user' as const), content: fc.array(anyPart, { maxLength: 2 }) }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: fc.array(anyPart, { maxLength: 2 }),
    toolCalls: fc.array(
      fc.record({ callId: anyId, name: anyText, arguments: fc.oneof(anyText, fc.json()), after: fc.nat({ max: 3 }) }),
      { maxLength: 3 },
    ),
  }),
  fc.record({
    ...{ role: fc.constant('tool' as const), toolCallId: anyId, toolName: anyText },
    ...{ content: fc.array(anyPart, { maxLength: 2 }), isError: fc.boolean() },
  }),
);
/** Results without calls, calls without results, repeated ids, any beginning and any end. */
const brokenConversations = fc.array(anyMessage, { maxLength: 12 }).map((said): readonly ConversationMessage[] => {
  const imported = new ImportedMessages();
  for (const message of said) imported.push(message);
  imported.push({ role: 'user', content: [{ type: 'text', text: 'The end.' }] });
  return imported.messages;
});
