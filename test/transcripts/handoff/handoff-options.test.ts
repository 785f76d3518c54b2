/** What is handed over, what is changed on the way, and what is reported as lost. */
import { describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../../src/core/log/events.ts';
import type { ConversationMessage } from '../../../src/core/log/messages.ts';
import { PathMapper } from '../../../src/transcripts/handoff/handed-texts.ts';
import { parseTranscript, transcriptToMessages } from '../../../src/transcripts/parse-transcript.ts';
import { claudeSession, openCodeSession, realSession } from '../fixtures.ts';
import { saidItems } from './said-items.ts';
import { AT, assistant, build, calling, conversation, lost, readBack, result, TARGETS, user } from './written.ts';

const PNG = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
const PDF = { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0=' } as const;

describe.for(TARGETS)('a conversation for %s', (to) => {
  test('gets a placeholder before a response that nothing precedes, and one for a missing result', () => {
    const built = build(conversation(assistant('Hello.'), calling('read', '{}')), to);
    expect(readBack(built.content, to)).toEqual([
      { said: 'user', text: '[The beginning was left out.]' },
      { said: 'assistant', text: 'Hello.' },
      { call: 'c', name: 'read', input: {} },
      { result: 'c', text: expect.stringContaining('No result was recorded'), isError: to !== 'codex' },
    ]);
    expect(lost(built)).toEqual(expect.arrayContaining(['beginning', 'missing result']));
  });

  test('is refused when it says nothing', () => {
    const thought = { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }] } as const;
    for (const messages of [conversation(), conversation(user(' \n')), conversation(thought)]) {
      expect(() => build(messages, to)).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    }
    const empty = { architecture: 'claude-sdk', raw: '' } as const;
    expect(() => build(empty, to)).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  test('carries a call that a provider ran as a call with its result, without encrypted contents', () => {
    const found = [{ url: 'https://example.com', encrypted_content: 'proof' }];
    const toolCalls = [
      { callId: 's', name: 'web_search', arguments: '{"query":"x"}', providerExecuted: { result: found } },
    ];
    const built = build(
      conversation(user('Search.'), { role: 'assistant', content: [], toolCalls }, assistant('Done.')),
      to,
    );
    expect(readBack(built.content, to)).toContainEqual({
      ...{ result: 's', text: '[{"url":"https://example.com"}]', isError: false },
    });
    expect(lost(built)).toContain('call that a provider ran');
  });

  test('wraps arguments that are no object, and leaves out those that are nested too deeply', () => {
    const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
    const patch = '*** Begin Patch\n*** End Patch';
    const built = build(
      conversation(
        user('Go.'),
        calling('patch', patch, 'a'),
        result('ok', 'a'),
        calling('deep', deep, 'b'),
        result('ok', 'b'),
      ),
      to,
    );
    expect(readBack(built.content, to)).toContainEqual({ call: 'a', name: 'patch', input: { input: patch } });
    expect(readBack(built.content, to)).toContainEqual({
      call: 'b',
      name: 'deep',
      input: { input: expect.any(String) },
    });
    expect(built.losses.find(({ what }) => what === 'arguments of a call')).toBeDefined();
  });

  test('has whole characters only: a lone surrogate would make Codex skip the line', () => {
    const built = build(conversation(user('a\ud800b'), calling('t', '{"k\\udc00":"v\\ud800"}'), result('r\udfff')), to);
    expect(built.content).not.toMatch(/\\ud[89a-f]/i);
    expect(built.content.isWellFormed()).toBe(true);
    expect(readBack(built.content, to)).toMatchObject([
      { text: 'a\ufffdb' },
      { input: { 'k\ufffd': 'v\ufffd' } },
      { text: 'r\ufffd' },
    ]);
    expect(lost(built)).toContain('half a character');
  });

  test("has texts of the agent's program and instructions left out, and says so", () => {
    const built = build(
      conversation(
        { role: 'system', content: [{ type: 'text', text: 'You are kind.' }] },
        user('<environment_context>\n<cwd>/x</cwd>\n</environment_context>'),
        user('# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>'),
        user('<system-reminder>Remember.</system-reminder>\n\nReally asked.'),
        user('<details>kept</details>'),
        assistant('Yes.'),
      ),
      to,
    );
    expect(readBack(built.content, to)).toEqual([
      { said: 'user', text: 'Really asked.' },
      { said: 'user', text: '<details>kept</details>' },
      { said: 'assistant', text: 'Yes.' },
    ]);
    expect(built.losses).toContainEqual(expect.objectContaining({ what: 'injected text', count: 3 }));
    expect(built.losses).toContainEqual(expect.objectContaining({ what: 'instructions', count: 1 }));
  });

  test('carries images in prompts and results, and reports media that the agent does not take', () => {
    const built = build(
      conversation(
        { role: 'user', content: [{ type: 'text', text: 'See.' }, PNG, PDF] },
        calling('view', '{}'),
        { role: 'tool', toolCallId: 'c', toolName: 'view', content: [PNG], isError: false },
        { role: 'assistant', content: [{ type: 'text', text: 'Seen.' }, PNG] },
        { role: 'user', content: [{ type: 'file', mediaType: 'text/csv', data: 'YQ==' }] },
        { role: 'user', content: [{ type: 'file', mediaType: 'text/plain', data: 'sha256:00', standsFor: 'text' }] },
      ),
      to,
    );
    const items = readBack(built.content, to);
    expect(items).toContainEqual({ medium: 'image/png', of: 'user' });
    expect(items).toContainEqual({ medium: 'image/png', of: 'c' });
    expect(items.some((item) => 'medium' in item && item.medium === 'application/pdf')).toBe(to !== 'codex');
    expect(items.slice(-2)).toEqual(Array(2).fill({ said: 'user', text: '(empty message)' }));
    const pdf = to === 'codex' ? ['medium of type application/pdf'] : [];
    const expected = ['image in a response', 'external content', 'medium of type text/csv', ...pdf];
    expect(
      lost(built)
        .filter((what) => what !== 'model' && what !== 'end')
        .toSorted(),
    ).toEqual(expected.toSorted());
  });

  test('has increasing times that end before the time of writing, whatever times the source has', () => {
    const times = ['2031-01-01T00:00:00Z', '', 'never', '2020-01-01T00:00:00Z', '-000001-01-01T00:00:00Z'];
    const messages = conversation(...times.flatMap((at) => [{ ...user('Hi.'), createdAt: at }, assistant('Ho.')]));
    const { content } = build(messages, to);
    const found = to === 'opencode' ? openCodeTimes(content) : lineTimes(content, to === 'codex' ? 1 : 0);
    expect(found.length).toBeGreaterThanOrEqual(10);
    expect(found).toEqual([...new Set(found)].sort((a, b) => a - b));
    expect(found[0]).toBeGreaterThanOrEqual(0);
    expect(found.at(-1)).toBeLessThan(AT);
  });

  test('is redacted on request, with the kinds counted', () => {
    const secret = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
    const messages = conversation(
      user(`Use ${secret}`),
      calling('login', JSON.stringify({ token: secret, password: 'hunter2' })),
      result(`GITHUB_TOKEN=${secret}`),
    );
    expect(build(messages, to).content).toContain(secret);
    const { content, redacted } = build(messages, to, { redact: true });
    expect(content).not.toContain(secret);
    expect(content).not.toContain('hunter2');
    expect(redacted).toEqual({ 'github-token': 3, 'secret-field': 1 });
  });

  test('names the directories of its new place in texts, inputs and results', () => {
    const messages = conversation(
      user('Read /old/app/a.ts and /old/app-2/b.ts.'),
      calling('read', JSON.stringify({ path: '/old/app/a.ts', all: ['/old/app'] })),
      result('/old/app/a.ts: 3 lines'),
    );
    expect(readBack(build(messages, to, { paths: { '/old/app': '/new/app' } }).content, to)).toEqual([
      { said: 'user', text: 'Read /new/app/a.ts and /old/app-2/b.ts.' },
      { call: 'c', name: 'read', input: { path: '/new/app/a.ts', all: ['/new/app'] } },
      { result: 'c', text: '/new/app/a.ts: 3 lines', isError: false },
    ]);
  });

  test('begins with the newest summary when the caller chooses so, and never has both', () => {
    const source = { architecture: 'claude-sdk', raw: realSession() } as const;
    const short = build(source, to, { past: 'summary' });
    const expected = saidItems(transcriptToMessages(source.architecture, source.raw, { from: 'compaction' }));
    expect(readBack(short.content, to).length).toBe(expected.length);
    expect(lost(short)).toContain('messages before the compaction');
    expect(lost(build(source, to))).not.toContain('messages before the compaction');
    const { state } = parseTranscript(source.architecture, source.raw);
    const [first] = readBack(build(state, to, { past: 'summary' }).content, to);
    expect(first).toEqual(expected[0]);
    expect(build(state, to).content).not.toContain('This session is being continued from a previous conversation');
  });
});

describe('a source', () => {
  test('may be what a screen shows: the subagent is a call and its result', () => {
    const { state } = parseTranscript('claude-sdk', claudeSession('sub'));
    const built = build(state, 'codex');
    const items = readBack(built.content, 'codex');
    expect(items.find((item) => 'call' in item)).toMatchObject({ name: 'subagent' });
    expect(items.filter((item) => 'result' in item)).toHaveLength(1);
    expect(lost(built)).toContain('what a subagent did');
  });

  test('may be a transcript: transcripts of subagents are reported as lost', () => {
    for (const raw of [claudeSession('nested'), openCodeSession('serve-nested')]) {
      const architecture = 'main' in raw && String(raw.main).startsWith('{\n') ? 'opencode' : 'claude-sdk';
      const { losses } = build({ architecture, raw }, 'codex');
      expect(losses).toContainEqual(
        expect.objectContaining({ what: "subagent's own transcript", count: raw.subagents.length }),
      );
    }
  });

  test('may have parts of a newer version: they are lost, and the rest is handed over', () => {
    const newer = { type: 'hologram', url: 'x' } as never;
    const text = { type: 'text', text: 'Hi.' } as const;
    const messages = conversation({ role: 'user', content: [text, newer] }, calling('t', '{}'), {
      role: 'tool',
      toolCallId: 'c',
      toolName: 't',
      content: [newer],
      isError: false,
    });
    const built = build(messages, 'claude-sdk');
    expect(readBack(built.content, 'claude-sdk')).toHaveLength(3);
    expect(built.losses).toContainEqual(expect.objectContaining({ what: 'part of an unknown type', count: 2 }));
  });

  test('may be a log: erased contents and superseded evaluations are not handed over, continued ones are', () => {
    const log = (...events: readonly object[]): SessionEvent[] =>
      events.map((event, i) => ({ seq: i + 1, at: '2026-01-01T00:00:00.000Z', ...event }) as SessionEvent);
    const started = (evaluationId: string, continues?: string): object => ({
      ...{ type: 'evaluation/started', evaluationId, conversationId: 'main', promptNs: 'n', promptKey: 'k' },
      ...{ promptHash: '', inputHash: '', ...(continues !== undefined && { continues }) },
    });
    const said = (
      evaluationId: string,
      sequence: number,
      text: string,
    ): { message: ConversationMessage; type: string } => ({
      type: 'message/recorded',
      message: {
        ...{ id: `${evaluationId}:${sequence}`, evaluationId, conversationId: 'main', sequence, turn: sequence },
        ...{ promptNs: 'n', promptKey: 'k', createdAt: '2026-01-01T00:00:00.000Z' },
        ...(sequence === 0 ? { role: 'user' } : { role: 'assistant' }),
        content: [{ type: 'text', text }],
      } as ConversationMessage,
    });
    const superseded = (evaluationId: string, by: string): object => ({
      type: 'evaluation/superseded',
      evaluationId,
      by,
    });
    const built = build(
      log(
        ...[started('a'), said('a', 0, 'First.'), superseded('a', 'b')],
        ...[started('b', 'a'), said('b', 0, 'Second.'), superseded('b', 'c')],
        ...[started('c', 'a'), said('c', 0, 'Third.'), said('c', 1, 'A secret.'), said('c', 2, 'Bye.')],
        { type: 'message/erased', messageId: 'c:1' },
      ),
      'codex',
    );
    const texts = readBack(built.content, 'codex').map((item) => ('text' in item ? item.text : ''));
    expect(texts).toEqual(['First.', 'Third.', '[erased]', 'Bye.']);
    expect(lost(built)).toContain('superseded message');
  });

  test.for([
    ['nothing', undefined],
    ['a text', 'hello'],
    ['an object', {}],
    ['a list of other things', [{ role: 'user', content: 'hi' }]],
    ['a transcript without text', { architecture: 'opencode', raw: undefined }],
    ['a transcript of an unknown agent', { architecture: 'gemini', raw: '' }],
    ['a damaged state', { blocks: [{ type: 'user_message' }, null], subagents: 'none' }],
    ['a damaged log', [{ seq: 1, type: 'message/recorded' }, null, { seq: 2 }]],
  ] as const)('is refused when it is %s', ([, source]) => {
    expect(() => build(source as never, 'codex')).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('losses', () => {
  test('name long results and failed results of Codex, whose cut counts bytes', () => {
    const of = (text: string): readonly string[] =>
      lost(build(conversation(user('Go.'), calling('t', '{}'), result(text)), 'codex'));
    expect(of('x'.repeat(48_000))).toEqual([]);
    expect(of('x'.repeat(48_001))).toEqual(['long result']);
    expect(of('é'.repeat(24_001))).toEqual(['long result']);
    expect(of('😀'.repeat(12_000))).toEqual([]);
    expect(of('😀'.repeat(12_001))).toEqual(['long result']);
    expect(of('漢'.repeat(16_001))).toEqual(['long result']);
    const failed = build(conversation(user('Go.'), calling('t', '{}'), result('no', 'c', true)), 'codex');
    expect(lost(failed)).toEqual(['mark of a failed result']);
  });

  test('name commands that may still run', () => {
    const built = build(
      conversation(
        user('Go.'),
        ...[calling('Bash', '{"run_in_background":true}', 'a'), result('started', 'a')],
        ...[calling('exec_command', '{}', 'b'), result('Process running with session ID 7\nOutput:', 'b')],
      ),
      'claude-sdk',
    );
    expect(built.losses).toContainEqual(expect.objectContaining({ what: 'background command', count: 2 }));
  });

  test('name the model that OpenCode needs and was not given', () => {
    const messages = conversation(user('Hi.'));
    expect(lost(build(messages, 'opencode'))).toEqual(['model']);
    expect(lost(build(messages, 'opencode', { model: 'anthropic/claude/x' }))).toEqual([]);
    expect(build(messages, 'opencode', { model: 'anthropic/claude/x' }).content).toContain('"modelID": "claude/x"');
  });
});

describe('options that cannot work', () => {
  const messages = conversation(user('Hi.'));
  test.for([
    ['a relative cwd', { cwd: 'work' }],
    ['an empty cwd', { cwd: '' }],
    ['a cwd with a NUL', { cwd: '/a\0b' }],
    ['a session id that is no UUID', { sessionId: '../../etc/passwd' }],
    ['another past', { past: 'some' as never }],
    ['a relative path to map', { paths: { old: '/new' } }],
    ['the root as a path to map', { paths: { '/': '/new' } }],
    ['a model that looks like an option', { model: '--dangerously-skip-permissions' }],
    ['a model with spaces', { model: 'a b' }],
  ] as const)('are refused: %s', ([, options]) => {
    expect(() => build(messages, 'claude-sdk', options)).toThrowError(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});

describe('paths', () => {
  const mapper = new PathMapper({ '/old/app/': '/new', '/old': '/older', 'C:\\work': '/srv' });

  test.for([
    ['/old/app', '/new'],
    ['/old/app/', '/new/'],
    ['cd "/old/app" && ls', 'cd "/new" && ls'],
    ['A=/old/app:/old/b', 'A=/new:/older/b'],
    ['in /old/app.', 'in /new.'],
    ['(/old/app) [/old/app] =/old/app ,/old/app', '(/new) [/new] =/new ,/new'],
    ['file:///old/app/a', 'file:///new/a'],
    ['/old/app2 /old/app-2 /old/app.bak', '/older/app2 /older/app-2 /older/app.bak'],
    [
      '/very/old/app ./old/app ~/old/app https://x.org/old/app',
      '/very/old/app ./old/app ~/old/app https://x.org/old/app',
    ],
    ['/oldest', '/oldest'],
    ['C:\\work\\a', '/srv\\a'],
  ] as const)('are replaced as whole segments: %s', ([given, expected]) => {
    expect(mapper.text(given)).toBe(expected);
  });

  test('can be exchanged: a replaced path is not replaced again', () => {
    expect(new PathMapper({ '/a': '/b', '/b': '/a' }).text('/a /b')).toBe('/b /a');
  });
});

function lineTimes(content: string, from: number): readonly number[] {
  const lines = content.trimEnd().split('\n').slice(from);
  return lines.map((line) => Date.parse((JSON.parse(line) as { timestamp: string }).timestamp));
}

function openCodeTimes(content: string): readonly number[] {
  const { messages } = JSON.parse(content) as {
    messages: { info: { id: string; time: { created: number } }; parts: { id: string }[] }[];
  };
  const ids = messages.flatMap(({ info, parts }) => [info.id.slice(4, 16), ...parts.map(({ id }) => id.slice(4, 16))]);
  expect(ids).toEqual([...new Set(ids)].sort());
  return messages.map(({ info }) => info.time.created);
}
