/** Nothing is lost and nothing is invented: states and messages have what an independent count of the fixtures finds. */
import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { callsOf, textOf } from '../../src/core/log/messages.ts';
import { NO_RESULT } from '../../src/formats/placeholders.ts';
import type { Architecture } from '../../src/transcripts/agent-names.ts';
import { parseTranscript, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import type { CombinedTranscript } from '../../src/transcripts/raw-transcript.ts';
import { CLAUDE_RUNS, claudeSession, fixture, openCodeSession, plain, realSession } from './fixtures.ts';
import { type Counts, countClaude, countOpenCode } from './independent-counts.ts';
import { refusals } from './refusals.ts';

const CLAUDE: readonly (readonly [string, CombinedTranscript])[] = [
  ...CLAUDE_RUNS.map((folder) => [folder, claudeSession(folder)] as const),
  ...['short.jsonl', 'tool_heavy.jsonl', 'subagent.jsonl.gz'].map(
    (name) => [name, { main: fixture('claude-code-2.1.38', name), subagents: [] }] as const,
  ),
  ['the real session', realSession()],
];
const OPENCODE = ['plain', 'tools', 'sub', 'serve-tools', 'serve-nested', 'serve-resume-kill'].map(
  (folder) => [folder, openCodeSession(folder)] as const,
);

/** What a page shows. */
function shown(architecture: Architecture, raw: CombinedTranscript): Counts {
  const { blocks, subagents } = plain(parseTranscript(architecture, raw).state);
  const count = (...types: readonly string[]): number => blocks.filter(({ type }) => types.includes(type)).length;
  const called = subagents.filter(({ parentConversationId }) => parentConversationId === 'main');
  const ended = called.filter(({ output }) => output !== undefined);
  return {
    prompts: count('user_message'),
    texts: count('assistant_text', 'error'),
    calls: count('tool_use', 'subagent'),
    results: count('tool_result') + ended.length,
    subagents: subagents.length,
  };
}

/** What a model gets. Its subagents are calls like any other. */
function sent(messages: readonly ConversationMessage[]): Omit<Counts, 'prompts' | 'subagents'> {
  const said = messages.filter(({ role }) => role === 'assistant');
  return {
    texts: said.flatMap(({ content }) => content.filter(({ type }) => type === 'text')).length,
    calls: said.flatMap(callsOf).length,
    results: messages.filter((message) => message.role === 'tool' && textOf(message) !== NO_RESULT).length,
  };
}

describe('states', () => {
  test.for(CLAUDE)('Claude Code: %s', ([name, raw]) => {
    const ids = raw.subagents.map(({ id }) => id);
    const expected = countClaude(raw.main as string, ids, true);
    const counts = shown('claude-sdk', raw);
    // The result of a call that starts a subagent in the background is not shown: the subagent's end is.
    expect(name === 'subbg' ? { ...counts, results: expected.results } : counts).toEqual(expected);
  });

  test.for(OPENCODE)('OpenCode: %s', ([, raw]) => {
    expect(shown('opencode', raw)).toEqual(
      countOpenCode(
        raw.main as string,
        raw.subagents.map(({ id }) => id),
      ),
    );
  });
});

describe('messages', () => {
  test.for(CLAUDE)('Claude Code: %s', ([, raw]) => {
    const { prompts, subagents: _, ...expected } = countClaude(raw.main as string, [], false);
    const messages = transcriptToMessages('claude-sdk', raw);
    expect(sent(messages)).toEqual(expected);
    const typed = messages.filter((one) => one.role === 'user' && !/^\s*(<|\[Request|Base dir)/.test(textOf(one)));
    expect(typed.length).toBeGreaterThanOrEqual(prompts); // and the texts that commands expand to
    expect(refusals(messages)).toEqual([]);
  });

  test.for(OPENCODE)('OpenCode: %s', ([, raw]) => {
    const { prompts, subagents: _, ...expected } = countOpenCode(raw.main as string, []);
    const messages = transcriptToMessages('opencode', raw);
    expect(sent(messages)).toEqual(expected);
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(prompts);
    expect(refusals(messages)).toEqual([]);
  });
});
