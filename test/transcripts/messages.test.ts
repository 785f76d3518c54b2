import { describe, expect, test } from 'vitest';
import { type ConversationMessage, callsOf, textOf } from '../../src/core/log/messages.ts';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { toAnthropic } from '../../src/formats/anthropic-messages.ts';
import { NO_RESULT } from '../../src/formats/placeholders.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';
import { memoryStore, openSession, scriptedModel } from '../../src/index.ts';
import type { Architecture } from '../../src/transcripts/agent-names.ts';
import type { ImportedMessagesOptions } from '../../src/transcripts/message-builder.ts';
import { transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import type { RawTranscript } from '../../src/transcripts/raw-transcript.ts';
import { asks, at, call, returns, says, text } from './claude-builders.ts';
import {
  CLAUDE_RUNS,
  claudeSession,
  fixture,
  type Line,
  openCodeSession,
  realSession,
  textOfLines,
} from './fixtures.ts';

const claude = (lines: readonly Line[], options?: ImportedMessagesOptions): readonly ConversationMessage[] =>
  transcriptToMessages('claude-sdk', textOfLines(lines), options);

/** Roles and texts, and the ids of calls and results. */
function outline(messages: readonly ConversationMessage[]): string[] {
  return messages.map((message) => {
    if (message.role === 'tool') return `tool ${message.toolCallId}: ${textOf(message)}`;
    const calls = callsOf(message).map(({ callId }) => ` [${callId}]`);
    return `${message.role}: ${textOf(message)}${calls.join('')}`;
  });
}

describe('I4: imported messages can be sent to any model', () => {
  const sessions: readonly (readonly [string, Architecture, RawTranscript])[] = [
    ...CLAUDE_RUNS.map((folder) => [folder, 'claude-sdk', claudeSession(folder)] as const),
    ...['short.jsonl', 'tool_heavy.jsonl', 'subagent.jsonl.gz'].map(
      (name) => [name, 'claude-sdk', fixture('claude-code-2.1.38', name)] as const,
    ),
    ['the real session', 'claude-sdk', realSession()],
    ...['serve-tools', 'serve-nested', 'serve-resume-kill', 'sub'].map(
      (folder) => [folder, 'opencode', openCodeSession(folder)] as const,
    ),
  ];

  test.for(sessions)('%s', ([, architecture, raw]) => {
    for (const from of ['start', 'compaction'] as const) {
      const messages = transcriptToMessages(architecture, raw, { from });
      expect(checkCoherence(messages).violations).toEqual([]);
      expect(messages[0]?.role).toBe('user');
      expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_, index) => index));
      expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    }
  });

  test('our own loop continues from imported messages (D50)', async () => {
    const messages = transcriptToMessages('claude-sdk', claudeSession('killmcp-both'), { evaluationId: 'imported' });
    const session = await openSession({ store: memoryStore(), id: 'continued' });
    const identity = { evaluationId: 'imported', promptNs: 'import', promptKey: 'transcript' };
    await session.append([
      { type: 'evaluation/started', conversationId: 'main', promptHash: '', inputHash: '', ...identity },
      ...messages.map((message) => ({ type: 'message/recorded', message })),
      { type: 'evaluation/completed', evaluationId: 'imported' },
    ]);
    const requests: (readonly ConversationMessage[])[] = [];
    const model = scriptedModel((request) => {
      requests.push(request.messages);
      return 'Going on.';
    });
    const prompt = definePrompt({ ns: 'test', key: 'continue', instructions: 'Help.', tools: [] });
    const response = await createAdapter({ model }).evaluate(prompt, {
      session,
      continues: 'imported',
      input: 'Go on',
    });
    expect(response.text).toBe('Going on.');
    const sent = outline(requests[0] ?? []);
    expect(sent.filter((line) => !line.startsWith('system:'))).toEqual([...outline(messages), 'user: Go on']);
  });
});

describe('Claude Code', () => {
  test('the lines of one response are one message, its results follow in the order of the calls (D10, D15)', () => {
    const messages = claude([
      asks('p', 'Go'),
      says('a1', 'm', { type: 'thinking', thinking: 'Hm', signature: 'sig' }),
      says('a2', 'm', text('Two calls')),
      says('a3', 'm', call('c')),
      says('a4', 'm', call('d')),
      returns('r2', 'd', 'second'),
      returns('r1', 'c', 'first'),
      says('a5', 'm2', text('Done')),
    ]);
    expect(outline(messages)).toEqual([
      'user: Go',
      'assistant: Two calls [c] [d]',
      'tool c: first',
      'tool d: second',
      'assistant: Done',
    ]);
    expect(messages.map(({ turn }) => turn)).toEqual([0, 1, 1, 1, 2]);
    expect(messages[1]?.content[0]).toMatchObject({
      type: 'reasoning',
      text: 'Hm',
      signature: 'sig',
      provider: 'anthropic',
    });
    expect(messages[1]).toMatchObject({ providerMessageId: 'm', toolCalls: [{ arguments: '{"command":"ls"}' }, {}] });
  });

  test('a call that Anthropic ran is recorded with its result, and toAnthropic sends both back as they were', () => {
    const ran = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rain' } };
    const found = [{ type: 'web_search_result', url: 'u', title: 't', encrypted_content: 'e' }];
    const result = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: found };
    const messages = claude([
      asks('p', 'Weather?'),
      says('a1', 'm', ran),
      says('a2', 'm', result),
      says('a3', 'm', text('It rains.')),
    ]);
    expect(messages[1]).toMatchObject({ toolCalls: [{ callId: 'srvtoolu_1', providerExecuted: { result: found } }] });
    expect(toAnthropic(messages).messages[1]?.content).toEqual([ran, result, { type: 'text', text: 'It rains.' }]);
  });

  test('a plain text document is recorded as base64, and toAnthropic sends its text', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'Grüße' };
    const messages = claude([returns('p', 'none', 'x'), asks('q', [{ type: 'document', source, title: 'a.txt' }])]);
    expect(messages.at(-1)?.content).toMatchObject([{ type: 'file', data: Buffer.from('Grüße').toString('base64') }]);
    expect(toAnthropic(messages).messages.at(-1)?.content).toEqual([{ type: 'document', source, title: 'a.txt' }]);
  });

  test('a text after a call keeps its position', () => {
    const [, answer] = claude([
      asks('p', 'Go'),
      says('a1', 'm', call('c')),
      says('a2', 'm', text('Called')),
      returns('r', 'c', 'x'),
    ]);
    expect(answer).toMatchObject({ content: [{ text: 'Called' }], toolCalls: [{ callId: 'c', after: 0 }] });
  });

  test('user messages that were typed while calls were open follow their results', () => {
    const queued = {
      type: 'attachment',
      uuid: 'q',
      sessionId: 's',
      timestamp: at(),
      attachment: { type: 'queued_command', prompt: 'Also this' },
    };
    const messages = claude([
      asks('p', 'Go'),
      says('a1', 'm', call('c')),
      queued,
      returns('r', 'c', 'x'),
      says('a2', 'm2', text('Done')),
    ]);
    expect(outline(messages)).toEqual([
      'user: Go',
      'assistant:  [c]',
      'tool c: x',
      'user: Also this',
      'assistant: Done',
    ]);
  });

  test('a call without a result gets a result with an unknown outcome', () => {
    const messages = claude([asks('p', 'Go'), says('a1', 'm', call('c')), asks('p2', 'Go on')]);
    expect(outline(messages)).toEqual(['user: Go', 'assistant:  [c]', `tool c: ${NO_RESULT}`, 'user: Go on']);
    expect(messages[2]).toMatchObject({ isError: true });
  });

  test('superseded and repeated lines and those of the harness are left out', () => {
    const synthetic = { role: 'assistant', id: 'x', model: '<synthetic>', content: [text('No response requested.')] };
    const prompt = asks('p1', 'One', { parentUuid: null });
    const messages = claude([
      prompt,
      says('a1', 'm1', text('Answer'), { parentUuid: 'p1' }),
      prompt,
      asks('p2', 'Wrong', { parentUuid: 'a1' }),
      says('a2', 'm2', text('Wrong too'), { parentUuid: 'p2' }),
      asks('p3', 'Right', { parentUuid: 'a1' }),
      { ...says('a3', 'x', text('')), message: synthetic },
      says('a4', 'm3', text('\n\n')),
      asks('n1', '<local-command-stdout>noise</local-command-stdout>'),
    ]);
    expect(outline(messages)).toEqual(['user: One', 'assistant: Answer', 'user: Right']);
  });

  test('from a compaction on, the messages start with the summary', () => {
    const lines = [
      asks('p1', 'One'),
      says('a1', 'm1', text('Answer one')),
      asks('s1', 'In short: one.', { isCompactSummary: true }),
      asks('p2', 'Two'),
    ];
    expect(outline(claude(lines))).toEqual(['user: One', 'assistant: Answer one', 'user: Two']);
    expect(outline(claude(lines, { from: 'compaction' }))).toEqual(['user: In short: one.', 'user: Two']);
  });

  test('a subagent is its call and its result, without its own messages', () => {
    expect(
      outline(transcriptToMessages('claude-sdk', claudeSession('nested'))).map((line) => line.slice(0, 30)),
    ).toEqual([
      'user: Nest [[script:nested]]',
      'assistant: Level 0. [toolu_fak',
      'tool toolu_fake000002lfn9hygl:',
      'assistant: Level 0 done.',
    ]);
  });

  test('images become media parts', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const [user, , result] = claude([
      asks('p', [text('See'), image]),
      says('a', 'm', call('c')),
      returns('r', 'c', [image]),
    ]);
    expect(user?.content[1]).toEqual({ type: 'image', mediaType: 'image/png', data: 'AAAA' });
    expect(result?.content).toEqual([{ type: 'image', mediaType: 'image/png', data: 'AAAA' }]);
  });
});

describe('OpenCode', () => {
  test('a call that a kill left running gets a result with an unknown outcome', () => {
    const outlined = outline(transcriptToMessages('opencode', openCodeSession('serve-resume-kill')));
    expect(outlined).toEqual([
      'user: Kill [[script:ockill]]',
      'assistant: Starting long. [call_fake0000243jx2n02x]',
      `tool call_fake0000243jx2n02x: ${NO_RESULT}`,
      'user: Go on [[script:again]]',
      'assistant: Continuing after resume: all good.',
    ]);
  });

  test('the text after a step’s results is a response of its own', () => {
    const part = (id: string, more: Line): Line => ({ id, messageID: 'm', sessionID: 's', ...more });
    const done = { status: 'completed', input: {}, output: 'out' };
    const parts = [
      part('p1', { type: 'step-start' }),
      part('p2', { type: 'tool', tool: 'bash', callID: 'c', state: done }),
      part('p3', { type: 'step-finish' }),
      part('p4', { type: 'step-start' }),
      part('p5', { type: 'text', text: 'Seen' }),
    ];
    const messages = transcriptToMessages('opencode', {
      info: { id: 's' },
      messages: [{ info: { id: 'm', role: 'assistant' }, parts }],
    });
    expect(outline(messages)).toEqual(['assistant:  [c]', 'tool c: out', 'assistant: Seen']);
  });
});
