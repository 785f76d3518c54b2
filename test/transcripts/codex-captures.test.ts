/** Every real Codex session against a count that uses none of our parsers. */
import { describe, expect, test } from 'vitest';
import type { BlockList } from '../../src/conversation/blocks.ts';
import { usageTotals } from '../../src/conversation/selectors.ts';
import { type ConversationMessage, callsOf } from '../../src/core/log/messages.ts';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { canSend } from '../../src/history/coherence/coherence.ts';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import { memoryStore, openSession, scriptedModel } from '../../src/index.ts';
import { parseTranscript, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import { type CodexCount, countedLines, countThread } from './codex-count.ts';
import { CODEX_CAPTURES, type CodexCapture, codexSession } from './codex-fixtures.ts';
import { fixture } from './fixtures.ts';

const nameOf = ({ version, folder, place }: CodexCapture): string => `${version} ${folder} ${place}`;
const CAPTURES = CODEX_CAPTURES.map((capture) => [nameOf(capture), capture] as const);

/** The main thread of a capture as lines: of the fork, its parent's lines before the fork and its own. */
function mainLines(capture: CodexCapture): ReturnType<typeof countedLines> {
  const { main, subagents } = codexSession(capture);
  if (capture.folder !== 'fork') return countedLines(main);
  const before = countedLines(subagents[0]?.transcript as string).slice(0, 14);
  return [...before, ...countedLines(main)];
}

function countBlocks(blocks: BlockList): Omit<CodexCount, 'inputTokens' | 'outputTokens'> {
  const all = [...blocks];
  const of = (type: string): number => all.filter((block) => block.type === type).length;
  const calls = all.filter((block) => block.type === 'tool_use');
  const nested = calls.filter(({ id }) => id.startsWith('exec-')).length;
  const searches = calls.filter((block) => block.type === 'tool_use' && block.toolName === 'web_search').length;
  return {
    prompts: of('user_message'),
    texts: of('assistant_text'),
    thoughts: of('thinking'),
    calls: calls.length - nested - searches,
    nested,
    searches,
    results: of('tool_result') - nested,
    spawns: of('subagent'),
    compactions: of('compaction'),
  };
}

function countMessages(messages: readonly ConversationMessage[]): Record<string, number> {
  const calls = messages.flatMap((message) => callsOf(message));
  return {
    prompts: messages.filter(({ role }) => role === 'user').length,
    texts: messages.flatMap(({ role, content }) => (role === 'assistant' ? content : [])).length,
    calls: calls.length,
    results: messages.filter(({ role }) => role === 'tool').length,
  };
}

describe('independent counts of every capture', () => {
  test.for(CAPTURES)('%s: the state shows every prompt, text, call, result, subagent and token once', ([, capture]) => {
    const { state, diagnostics } = parseTranscript('codex', codexSession(capture));
    const { inputTokens, outputTokens, ...counted } = countThread(mainLines(capture));
    expect(countBlocks(state.blocks)).toEqual(counted);
    const children = capture.folder === 'subagent' ? codexSession(capture).subagents : [];
    expect(state.subagents).toHaveLength(children.length);
    children.forEach(({ transcript }, index) => {
      const { inputTokens: _, outputTokens: __, ...inChild } = countThread(countedLines(transcript as string));
      expect(countBlocks(state.subagents[index]?.blocks as BlockList)).toEqual(inChild);
    });
    const inChildren = children.map(({ transcript }) => countThread(countedLines(transcript as string)));
    const totals = usageTotals(state);
    expect(totals.usage.inputTokens).toBe(inChildren.reduce((sum, child) => sum + child.inputTokens, inputTokens));
    expect(totals.usage.outputTokens).toBe(inChildren.reduce((sum, child) => sum + child.outputTokens, outputTokens));
    expect([...totals.byModel.keys()]).toHaveLength(totals.messages > 0 ? 1 : 0);
    expect(diagnostics.problems).toEqual([]);
    expect(diagnostics.unknown).toEqual({});
  });

  test.for(CAPTURES)('%s: the messages hold every prompt, text and call, and a result for each call', ([, capture]) => {
    const counted = countThread(mainLines(capture));
    const calls = counted.calls + counted.spawns;
    expect(countMessages(transcriptToMessages('codex', codexSession(capture)))).toEqual({
      prompts: counted.prompts,
      texts: counted.texts,
      calls,
      results: calls,
    });
  });

  test.for(CAPTURES)('I4: %s can be continued with OpenAI and Anthropic', ([, capture]) => {
    for (const from of ['start', 'compaction'] as const) {
      const messages = transcriptToMessages('codex', codexSession(capture), { from });
      const [first] = messages;
      const next = { ...first, id: 'next', role: 'user', content: [{ type: 'text', text: 'Go on' }] };
      for (const provider of ['openai', 'anthropic'] as const) {
        expect(canSend([...messages, next as ConversationMessage], provider).violations).toEqual([]);
      }
      expect(first?.role).toBe('user');
      expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    }
  });

  test('our own loop continues a session that was killed inside a tool (D50)', async () => {
    const raw = codexSession({ version: '0.166.0', folder: 'kill-tool', place: 'sessions-after-kill' });
    const messages = transcriptToMessages('codex', raw);
    const session = await openSession({ store: memoryStore(), id: 'continued' });
    const identity = { evaluationId: 'imported', promptNs: 'import', promptKey: 'transcript' };
    await session.append([
      { type: 'evaluation/started', conversationId: 'main', promptHash: '', inputHash: '', ...identity },
      ...messages.map((message) => ({ type: 'message/recorded', message })),
      { type: 'evaluation/completed', evaluationId: 'imported' },
    ]);
    const model = scriptedModel(({ messages: sent }) => sent.map(({ role }) => role).join(' '));
    const prompt = definePrompt({ ns: 'test', key: 'continue', instructions: 'Help.', tools: [] });
    const { text } = await createAdapter({ model }).evaluate(prompt, {
      session,
      continues: 'imported',
      input: 'Go on',
    });
    expect(text).toBe('system user assistant tool user');
  });

  test('no block of a finished session is pending, and only calls without a result are errors', () => {
    for (const capture of CODEX_CAPTURES) {
      const { state } = parseTranscript('codex', codexSession(capture));
      expect(state.blocks.filter(({ status }) => status === 'pending')).toEqual([]);
      const failed = state.blocks.filter(({ status }) => status === 'error').length;
      const expected =
        capture.folder === 'toolerr' ? 14 : capture.folder === 'kill-tool' ? 1 : capture.version === '0.104.0' ? 2 : 0;
      expect([nameOf(capture), failed]).toEqual([nameOf(capture), expected]);
    }
  });

  test('a rollout that another program wrote for Codex is read like its own', () => {
    const text = fixture(
      'handoff-examples/codex',
      'rollout-2026-01-01T00-00-00-019b76da-a800-7c88-84f5-e1cce585454b.jsonl',
    );
    const counted = countThread(countedLines(text));
    const { state, diagnostics } = parseTranscript('codex', text);
    expect(countBlocks(state.blocks)).toMatchObject({ prompts: 3, texts: 4, calls: 2, results: 2 });
    expect(counted).toMatchObject({ prompts: 3, texts: 4, calls: 2, results: 2 });
    expect(diagnostics.problems).toEqual([]);
  });
});

describe('exports of every capture', () => {
  const FORMATS = ['markdown', 'html', 'json', 'jsonl', 'openai', 'anthropic', 'ai-sdk'] as const;

  test.for(FORMATS)('%s holds every prompt and every text, from the state and from the messages', (format) => {
    for (const capture of CODEX_CAPTURES) {
      const raw = codexSession(capture);
      const { state } = parseTranscript('codex', raw);
      const said = [...state.blocks].flatMap((block) =>
        block.type === 'user_message' || block.type === 'assistant_text'
          ? [block.content.split(' [[')[0] as string]
          : [],
      );
      for (const source of [state, transcriptToMessages('codex', raw)]) {
        const { content } = exportConversation(source, { format });
        expect(said.filter((text) => !content.includes(text))).toEqual([]);
      }
    }
  });
});

describe('what the captures show', () => {
  const capture = (folder: string): CodexCapture => ({ version: '0.166.0', folder, place: 'sessions' });

  test('a subagent is nested under the call that started it, with its own thread and its result', () => {
    const { state } = parseTranscript('codex', codexSession(capture('subagent')));
    const [thread] = state.subagents;
    expect(thread).toMatchObject({
      parentConversationId: 'main',
      status: 'success',
      prompt: 'Do child work. [[script:child]]',
      output: 'Child result: from-child',
      durationMs: 201,
    });
    expect(state.blocks.find(({ type }) => type === 'subagent')).toMatchObject({
      id: `subagent:${thread?.toolUseId}`,
      status: 'complete',
      output: 'Child result: from-child',
    });
  });

  test('a fork shows its past from the file of its parent, up to the fork', () => {
    const { state } = parseTranscript('codex', codexSession(capture('fork')));
    const prompts = state.blocks
      .filter(({ type }) => type === 'user_message')
      .map((block) => 'content' in block && block.content);
    expect(prompts).toEqual(['First turn [[script:plain]]', 'Another way [[script:again2]]']);
  });

  test('a fork whose parent is gone shows the rest and reports what is missing', () => {
    const { main } = codexSession(capture('fork'));
    const { state, diagnostics } = parseTranscript('codex', main);
    const prompts = state.blocks
      .filter(({ type }) => type === 'user_message')
      .map((block) => 'content' in block && block.content);
    expect(prompts).toEqual(['Another way [[script:again2]]']);
    expect(diagnostics.problems).toEqual([
      { code: 'missing-history', count: 1, where: ['01a1e3f5-cf09-7af1-b0ee-488aafd32058'] },
    ]);
  });

  test('after a compaction the messages are the ones that the model sees', () => {
    const messages = transcriptToMessages('codex', codexSession(capture('compact')), { from: 'compaction' });
    const texts = messages.map(
      ({ role, content }) => `${role}: ${content.map((part) => ('text' in part ? part.text : '')).join('')}`,
    );
    expect(texts.slice(0, 3)).toEqual([
      'user: First request [[script:bigturn]]',
      expect.stringMatching(/^user: Another language model started.*SUMMARY: the user asked/s),
      'user: Second request [[script:again2]]',
    ]);
    const { state } = parseTranscript('codex', codexSession(capture('compact')));
    expect(state.blocks.find(({ type }) => type === 'compaction')).toMatchObject({
      content: 'SUMMARY: the user asked for several things; file notes.txt was written; next step is to finish.',
    });
  });

  test('calls inside a script follow the call of the script, before its result', () => {
    const { state } = parseTranscript('codex', codexSession(capture('codemode')));
    const calls = [...state.blocks].flatMap((block) => (block.type === 'tool_use' ? [block.toolName] : []));
    expect(calls).toEqual(['exec', 'exec_command', 'exec', 'apply_patch', 'exec_command', 'mcp__demo__echo']);
  });

  test('an image that a tool returned is a part of its result', () => {
    const { state } = parseTranscript('codex', codexSession(capture('tools')));
    const result = state.blocks.find((block) => block.type === 'tool_result' && block.parts !== undefined);
    expect(result).toMatchObject({ parts: [{ type: 'image', mediaType: 'image/png' }] });
  });
});
