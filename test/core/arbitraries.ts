/** Generated logs: with few ids, so that events refer to each other, and with repeated, late and contradictory events. */
import fc from 'fast-check';
import { type AnySlice, appendAll, defineSlice, replaceLatest, upsertBy } from '../../src/core/fold/slices.ts';
import type { SessionEvent } from '../../src/core/log/events.ts';
import { callOf, type Draft, logOf, messageOf, recorded, refOf, started, toolStarted } from './log.ts';

interface Note {
  readonly id: string;
  readonly text: string;
}

/** One slice of each kind: every ready-made reducer, a user's own, a value, and both settings of each option of D5. */
export const SLICES = [
  defineSlice({ name: 'plan', initial: [], on: { 'plan/added': appendAll } }),
  defineSlice({ name: 'notes', initial: [] as Note[], on: { 'note/set': upsertBy<Note>((note) => note.id) } }),
  defineSlice({
    name: 'audit',
    initial: ['begin'],
    rollback: false,
    on: {
      'plan/added': (lines: readonly string[], event: { step: string }) => [...lines, event.step],
      'message/recorded': (lines: readonly string[]) => (lines.length > 40 ? lines : [...lines, 'message']),
    },
  }),
  defineSlice({ name: 'focus', initial: [], persist: false, on: { 'plan/added': replaceLatest } }),
  defineSlice({
    name: 'progress',
    initial: { steps: 0, last: null as string | null },
    on: {
      'plan/added': ({ steps }: { steps: number }, event: { step: string }) => ({ steps: steps + 1, last: event.step }),
      'note/set': (progress: { steps: number; last: string | null }) => progress,
    },
  }),
] as const satisfies readonly AnySlice[];

const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('__proto__', 'constructor', '\ud800', '🎉', ''));
const evaluationId = fc.constantFrom('e1', 'e2', 'child');
const inputId = fc.constantFrom('m1', 'm2', '__proto__');
const callId = fc.constantFrom('a', 'b', '');
const count = fc.nat({ max: 3 });
const usage = fc.record(
  { inputTokens: count, outputTokens: count, costUsd: fc.constantFrom(0.25, 0.5), reasoningTokens: count },
  { requiredKeys: ['inputTokens', 'outputTokens'] },
);
const ref = fc.record({ evaluationId, turn: fc.nat({ max: 2 }), callId }).map((more) => refOf(more.callId, more));

const message = fc
  .record({
    role: fc.constantFrom('system', 'user', 'assistant', 'tool'),
    sequence: fc.nat({ max: 8 }),
    turn: fc.nat({ max: 2 }),
    evaluationId,
    callIds: fc.uniqueArray(callId, { maxLength: 2 }),
    text,
    isError: fc.boolean(),
    piece: fc.constantFrom(undefined, undefined, 'msg_1', 'msg_2'),
  })
  .map(({ role, sequence, turn, evaluationId: id, callIds, text: said, isError, piece }) =>
    messageOf(role, said, sequence, {
      evaluationId: id,
      conversationId: id === 'child' ? 'e1/1/a/0' : 'main',
      turn,
      ...(role === 'assistant' && callIds.length > 0 && { toolCalls: callIds.map((one) => callOf(one)) }),
      ...(role === 'assistant' && piece !== undefined && { providerMessageId: piece }),
      ...(role === 'tool' && { toolCallId: callIds[0] ?? 'a', isError }),
    }),
  );

const draft: fc.Arbitrary<Draft> = fc.oneof(
  { weight: 3, arbitrary: evaluationId.map((id) => started(id, id === 'child' ? child : {})) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(message, fc.option(usage, { nil: undefined }), fc.option(inputId, { nil: undefined }))
      .map(([one, spent, input]) =>
        recorded(one, { ...(spent && { usage: spent, model: 'm' }), ...(input !== undefined && { inputId: input }) }),
      ),
  },
  { weight: 3, arbitrary: fc.tuple(ref, fc.constantFrom('read', 'idempotent', 'once'), count).map(startOf) },
  ref.map((call): Draft => ({ type: 'tool/approved', ...call })),
  ref.map((call): Draft => ({ type: 'tool/denied', ...call, reason: 'no' })),
  fc
    .tuple(ref, fc.boolean())
    .map(([call, rerun]): Draft => ({ type: 'tool/settled', ...call, how: rerun ? { rerun: true } : { result: 1 } })),
  evaluationId.map(
    (id): Draft => ({ type: 'evaluation/suspended', evaluationId: id, reason: 'CANCELLED', message: '', pending: [] }),
  ),
  evaluationId.map((id): Draft => ({ type: 'evaluation/cancel-requested', evaluationId: id, by: 'ada' })),
  fc
    .tuple(evaluationId, count)
    .map(([id, after]): Draft => ({ type: 'evaluation/resumed', evaluationId: id, attempt: 2, by: 'p', after })),
  evaluationId.map(
    (id): Draft => ({ type: 'evaluation/resume-requested', evaluationId: id, budget: { maxTokens: 9 }, by: 'ada' }),
  ),
  {
    weight: 3,
    arbitrary: fc.tuple(inputId, fc.constantFrom('next', 'steer'), text).map(
      ([input, mode, said]): Draft => ({
        type: 'input/queued',
        inputId: input,
        mode,
        content: [{ type: 'text', text: said }],
      }),
    ),
  },
  inputId.map((input): Draft => ({ type: 'input/withdrawn', inputId: input, queuedSeq: 1 })),
  evaluationId.map((id): Draft => ({ type: 'evaluation/completed', evaluationId: id })),
  evaluationId.map(
    (id): Draft => ({
      type: 'evaluation/failed',
      evaluationId: id,
      error: { code: 'EVALUATION_FAILED', message: 'no' },
    }),
  ),
  evaluationId.map((id): Draft => ({ type: 'evaluation/superseded', evaluationId: id })),
  fc.nat({ max: 4 }).map((n): Draft => ({ type: 'message/erased', messageId: `e1:${n}` })),
  fc
    .tuple(evaluationId, text)
    .map(([id, said]): Draft => ({ type: 'history/summarized', evaluationId: id, key: 'k', text: said })),
  evaluationId.map(
    (id): Draft => ({
      type: 'adapter/captured',
      snapshot: { id: 'x', evaluationId: id, state: { adapterType: 't' }, resumable: true, capturedAt: 'then' },
    }),
  ),
  fc
    .tuple(
      text,
      fc.array(text, { maxLength: 2 }),
      fc.dictionary(text, fc.oneof(text, fc.constant(null)), { maxKeys: 2 }),
    )
    .map(([title, tags, metadata]): Draft => ({ type: 'session/described', title, tags, metadata })),
  fc.array(text, { maxLength: 2 }).map(
    (audit): Draft => ({
      type: 'session/restored',
      slices: { plan: [], audit, progress: [{ steps: audit.length, last: audit[0] ?? null }] },
    }),
  ),
  {
    weight: 5,
    arbitrary: fc.tuple(text, fc.boolean()).map(([step, gone]) => discardable({ type: 'plan/added', step }, gone)),
  },
  { weight: 3, arbitrary: fc.tuple(text, text).map(([id, said]): Draft => ({ type: 'note/set', id, text: said })) },
  fc.jsonValue({ maxDepth: 2 }).map((value): Draft => ({ type: 'thing/happened', value })),
);

const child = {
  conversationId: 'e1/1/a/0',
  parent: { evaluationId: 'e1', turn: 1, callId: 'a' },
} as const;

function startOf([call, effect, attempt]: readonly [
  ReturnType<typeof refOf>,
  'read' | 'idempotent' | 'once',
  number,
]): Draft {
  return toolStarted(call.callId, effect, attempt, call);
}

function discardable(event: Draft, discarded: boolean): Draft {
  return discarded ? { ...event, discarded: true } : event;
}

/** Events that are not in a log yet. */
export const arbitraryDrafts: fc.Arbitrary<Draft[]> = fc.array(draft, { maxLength: 60, size: 'max' });

/** A log as a store returns it: after JSON. */
export const arbitraryLog: fc.Arbitrary<SessionEvent[]> = arbitraryDrafts.map(
  (drafts) => JSON.parse(JSON.stringify(logOf(...drafts))) as SessionEvent[],
);
