import { describe, expect, test } from 'vitest';
import { findSubagent } from '../../src/conversation.ts';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { messagesToEvents } from '../../src/transcripts/own-log.ts';
import { at, type LogEntry, lines, logOf, makeMessages, show, started, stateOf, toolCall } from './own-log-builders.ts';

describe('events around the messages', () => {
  const m = makeMessages();
  const user = m.user('Go');
  const asking = m.assistant('', [toolCall('c1'), toolCall('c2')]);
  const call = { evaluationId: 'ev', turn: 1, callId: 'c1' };
  const suspended = {
    type: 'evaluation/suspended',
    evaluationId: 'ev',
    reason: 'APPROVAL_REQUIRED',
    message: 'Approve read',
    pending: [call],
  } as const;

  test('the notice of a suspension is pending until the evaluation is resumed; its calls stay pending', () => {
    expect(show(started(), user, asking, suspended)).toEqual([
      'complete user_message: Go',
      'pending read({})',
      'pending read({})',
      'pending system/suspended: Approve read',
    ]);
    expect(show(started(), user, asking, suspended, { type: 'tool/approved', ...call }, m.tool('c1', 'x'))).toEqual([
      'complete user_message: Go',
      'complete read({})',
      'pending read({})',
      'complete system/suspended: Approve read',
      'complete system/approved: Approved: read',
      'complete result: x',
    ]);
  });

  test.for<[string, object, string]>([
    [
      'denied',
      { type: 'tool/denied', ...call, reason: 'too risky' },
      'complete system/denied: Denied: read: too risky',
    ],
    ['denied without a reason', { type: 'tool/denied', ...call }, 'complete system/denied: Denied: read'],
    [
      'settled',
      { type: 'tool/settled', ...call, how: { result: 1 } },
      'complete system/settled: Settled: read: its result was supplied',
    ],
    [
      'allowed to run again',
      { type: 'tool/settled', ...call, how: { rerun: true } },
      'complete system/settled: Settled: read: may run again',
    ],
    [
      'forked',
      { type: 'session/forked', origin: { sessionId: 's', seq: 4 } },
      'complete system/forked: Forked from s at 4',
    ],
    [
      'summarized',
      { type: 'history/summarized', evaluationId: 'ev', key: 'k', text: 'Before: x' },
      'complete compaction/summary: Before: x',
    ],
  ])('%s', ([, event, expected]) => {
    expect(show(started(), user, asking, event as LogEntry).at(-1)).toBe(expected);
  });

  test('a request to cancel is machinery: the suspension shows it (D73)', () => {
    const cancels = { type: 'evaluation/cancel-requested', evaluationId: 'ev', by: 'ada', reason: 'no' } as const;
    const log = [started(), user, cancels] as const;
    expect(lines(stateOf(messagesToEvents(logOf(...log))))).toEqual(['complete user_message: Go']);
    expect(show(...log).at(-1)).toBe('complete system/cancel-requested: Cancel requested by ada: no');
  });

  test('the open calls of a superseded evaluation end as errors', () => {
    expect(
      show(started(), user, asking, { type: 'evaluation/superseded', evaluationId: 'ev', by: 'ev2' }, started('ev2')),
    ).toEqual([
      'complete user_message: Go',
      'error read({})',
      'error read({})',
      'complete system/superseded: Superseded by ev2',
    ]);
  });

  test('a failed evaluation has an error block, and its open calls end as errors', () => {
    const failed = {
      type: 'evaluation/failed',
      evaluationId: 'ev',
      error: { code: 'OUTPUT_INVALID', message: 'no JSON' },
    } as const;
    expect(show(started(), user, asking, failed)).toEqual([
      'complete user_message: Go',
      'error read({})',
      'error read({})',
      'complete error/OUTPUT_INVALID: no JSON',
    ]);
  });

  test('the end of one evaluation does not end the open calls of another', () => {
    const other = makeMessages({ evaluationId: 'other' });
    const log = [started(), user, asking, started('other'), other.user('2'), other.assistant('ok')];
    expect(show(...log, { type: 'evaluation/completed', evaluationId: 'other' }).slice(1, 3)).toEqual([
      'pending read({})',
      'pending read({})',
    ]);
  });

  test('superseding an evaluation ends its own open calls only', () => {
    const other = makeMessages({ evaluationId: 'other' });
    const log = [started(), user, asking, started('other'), other.assistant('', [toolCall('o1')])];
    expect(show(...log, { type: 'evaluation/superseded', evaluationId: 'ev' }).slice(1, 4)).toEqual([
      'error read({})',
      'error read({})',
      'pending read({})',
    ]);
  });

  test('adapter states and curations have one notice each, which shows the newest', () => {
    const captured = (id: string, resumable: boolean): object => ({
      type: 'adapter/captured',
      snapshot: { id, evaluationId: 'ev', state: { adapterType: 'claude-agent' }, resumable, capturedAt: at(0) },
    });
    const curated = (curatedCount: number): object => ({
      ...{ type: 'history/curated', evaluationId: 'ev', turn: 1, promptName: 'p', strategy: 'window' },
      ...{ originalCount: 9, curatedCount, estimatedTokens: 1, prefixKept: 1 },
    });
    const log = [
      started(),
      captured('1', false),
      curated(9),
      curated(5),
      captured('2', true),
      curated(4),
    ] as LogEntry[];
    expect(show(...log)).toEqual([
      'complete system/adapter: claude-agent: can be resumed',
      'complete system/history: Sent 4 of 9 messages (window)',
    ]);
  });

  test('a request that was rejected as too long has a notice of its own', () => {
    const curated = {
      ...{ type: 'history/curated', evaluationId: 'ev', turn: 1, promptName: 'p', strategy: 'passthrough' },
      ...{ originalCount: 9, estimatedTokens: 90, prefixKept: 1 },
    };
    const refused = { model: 'm', maxTokens: 45, status: 400, message: 'prompt is too long' };
    const log = [
      started(),
      { ...curated, curatedCount: 9, refused },
      { ...curated, curatedCount: 4, maxTokens: 45 },
    ] as LogEntry[];
    expect(show(...log)).toEqual([
      'complete system/refused: Refused as too long: 9 of 9 messages (passthrough): prompt is too long',
      'complete system/history: Sent 4 of 9 messages (passthrough)',
    ]);
  });

  test('an erased message shows only its position (D58)', () => {
    const said = m.assistant('', [toolCall('c9', '{"secret":1}')], {
      turn: 7,
      content: [
        { type: 'reasoning', text: 'secret thought' },
        { type: 'text', text: 'secret text' },
      ],
    });
    const result = m.tool('c9', 'secret result', { turn: 7 });
    const log = logOf(
      started(),
      user,
      said,
      result,
      { type: 'message/erased', messageId: said.id },
      { type: 'message/erased', messageId: result.id },
      { type: 'message/erased', messageId: user.id },
      { type: 'message/erased', messageId: 'nobody' },
    );
    const state = stateOf(messagesToEvents(log));
    expect(JSON.stringify(state)).not.toContain('secret');
    expect(lines(state).toSorted()).toEqual([
      'complete assistant_text: [erased]',
      'complete read({})',
      'complete result: [erased]',
      'complete user_message: [erased]',
    ]);
  });

  test('a snapshot that was restored into an empty session shows its conversation', () => {
    const restored = { type: 'session/restored', slices: { messages: [user, asking], plan: [1] } } as const;
    expect(show(restored)).toEqual([
      'complete user_message: Go',
      'pending read({})',
      'pending read({})',
      'complete system/restored: Restored: messages, plan',
    ]);
    expect(show(started(), user, restored)).toEqual([
      'complete user_message: Go',
      'complete system/restored: Restored: messages, plan',
    ]);
  });

  test('the application’s own events, descriptions and starts of tools are not shown', () => {
    const log = [
      started(),
      { type: 'plan/added', step: 1 },
      { type: 'session/described', title: 'x' },
      { type: 'tool/started', ...call, toolName: 'read', effect: 'once', attempt: 1 },
    ] as LogEntry[];
    expect(show(...log)).toEqual([]);
  });
});

describe('D52: child conversations', () => {
  const parent = { evaluationId: 'ev', turn: 1, callId: 'c1' };
  const conversationId = 'ev/1/c1/1';
  const m = makeMessages();
  const child = makeMessages({ evaluationId: 'kid', conversationId });
  const grandchild = makeMessages({ evaluationId: 'grand', conversationId: 'kid/1/x/look' });
  const childStarted = started('kid', { conversationId, parent, promptKey: 'helper' });
  const log = [
    started(),
    m.user('Go'),
    m.assistant('', [toolCall('c1', '{}', { name: 'delegate' })]),
    childStarted,
    child.system('Help'),
    child.user('Find it'),
    child.assistant('', [toolCall('x')]),
  ];

  test('a child is a subagent with the id of its conversation; the calling tool keeps its block', () => {
    const ended = [
      child.tool('x', 'y'),
      child.assistant('Found'),
      { type: 'evaluation/completed', evaluationId: 'kid' },
      m.tool('c1', 'Found'),
    ] as const;
    const state = stateOf(messagesToEvents(logOf(...log, ...ended), { machinery: true }));
    expect(lines(state)).toEqual([
      'complete user_message: Go',
      'complete delegate({})',
      'complete subagent helper: Find it -> Found',
      'complete result: Found',
    ]);
    expect(findSubagent(state, conversationId)).toMatchObject({
      status: 'success',
      prompt: 'Find it',
      output: 'Found',
      durationMs: 6000,
    });
    expect(lines(state, conversationId)).toEqual([
      'complete system/instructions: Help',
      'complete user_message: Find it',
      'complete read({})',
      'complete result: y',
      'complete assistant_text: Found',
    ]);
  });

  test.for([
    [
      { type: 'evaluation/failed', evaluationId: 'kid', error: { code: 'TURN_LIMIT', message: 'too long' } },
      'error',
      'too long',
    ],
    [{ type: 'evaluation/superseded', evaluationId: 'kid' }, 'error', undefined],
  ] as const)('a child that failed or was superseded ends as an error: %j', ([event, status, output]) => {
    const state = stateOf(messagesToEvents(logOf(...log, event)));
    expect(findSubagent(state, conversationId)).toMatchObject({ status, ...(output && { output }) });
    expect(lines(state, conversationId)).toContain('error read({})');
  });

  test('a suspended child is still running', () => {
    const waits = {
      type: 'evaluation/suspended',
      evaluationId: 'kid',
      reason: 'CANCELLED',
      message: 'stopped',
      pending: [],
    } as const;
    const state = stateOf(messagesToEvents(logOf(...log, waits)));
    expect(findSubagent(state, conversationId)).toMatchObject({ status: 'running' });
    expect(lines(state, conversationId).at(-1)).toBe('pending system/suspended: stopped');
  });

  test('the child of a child has that child as its parent', () => {
    const nested = started('grand', {
      conversationId: 'kid/1/x/look',
      parent: { evaluationId: 'kid', turn: 1, callId: 'x' },
    });
    const state = stateOf(messagesToEvents(logOf(...log, nested, grandchild.user('deep'))));
    expect(findSubagent(state, 'kid/1/x/look')).toMatchObject({ parentConversationId: conversationId, prompt: 'deep' });
  });

  test('a child is derived from messages alone, and has ended when no call lacks a result', () => {
    const events = [
      ...log.filter((item): item is ConversationMessage => 'role' in item),
      grandchild.user('deep'),
      grandchild.assistant('deep answer'),
    ];
    const state = stateOf(messagesToEvents(events));
    expect(findSubagent(state, conversationId)).toMatchObject({
      status: 'running',
      parentConversationId: 'main',
      prompt: 'Find it',
    });
    expect(findSubagent(state, 'kid/1/x/look')).toMatchObject({
      status: 'success',
      parentConversationId: conversationId,
      output: 'deep answer',
    });
  });
});
