import fc from 'fast-check';
import type { ConversationMessage, ToolCall } from '../../src/core/log/messages.ts';
import type { BuiltInManager } from '../../src/history/history-manager.ts';
import { clearToolResults } from '../../src/history/managers/clear-tool-results.ts';
import { compose } from '../../src/history/managers/compose.ts';
import { keepImportant } from '../../src/history/managers/keep-important.ts';
import { passthrough } from '../../src/history/managers/passthrough.ts';
import { pin } from '../../src/history/managers/pin.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import { summarize } from '../../src/history/managers/summarize.ts';
import { tokenBudget } from '../../src/history/managers/token-budget.ts';
import { truncateToolResults } from '../../src/history/managers/truncate-tool-results.ts';
import { Conversation } from './conversation.ts';

/**
 * Random conversations: parallel calls whose results finish in any order, failures, calls left pending, ids that repeat
 * between turns, calls the provider ran itself, several evaluations, images, reasoning, messages sent between a call and its result.
 */

const text = fc.oneof(
  fc.lorem({ maxCount: 12 }),
  fc.constantFrom('{"path":"src/a.ts","lines":[1,2,3]}', '把文件写到磁盘上。', '👩‍🚀🚀', 'a'.repeat(300)),
);

type Part = NonNullable<Parameters<Conversation['says']>[1]>[number];
const reasoning: fc.Arbitrary<Part> = fc.record(
  { type: fc.constant('reasoning' as const), text, signature: fc.constantFrom('sig-1', 'sig-2') },
  { requiredKeys: ['type', 'text'] },
);
const image: fc.Arbitrary<Part & { type: 'image' }> = fc.constant({
  type: 'image',
  mediaType: 'image/png',
  data: 'aGVsbG8=',
});
const said: fc.Arbitrary<Part> = text.map((text) => ({ type: 'text', text }));

interface Call {
  readonly id: string;
  readonly kind: 'ok' | 'failed' | 'provider' | 'pending';
  readonly result: string;
  /** Results arrive in this order. */
  readonly speed: number;
}
const call: fc.Arbitrary<Omit<Call, 'id'>> = fc.record({
  kind: fc.constantFrom('ok', 'ok', 'ok', 'failed', 'provider'),
  result: fc.oneof(text, fc.constant('')),
  speed: fc.nat(9),
});

type Step =
  | { readonly kind: 'user'; readonly text: string; readonly image?: Part & { type: 'image' } }
  | { readonly kind: 'says'; readonly content: readonly Part[] }
  | {
      readonly kind: 'calls';
      readonly thinks: readonly Part[];
      readonly calls: readonly Call[];
      readonly steer: boolean;
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('user' as const), text, image }, { requiredKeys: ['kind', 'text'] }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.array(reasoning, { maxLength: 1 }), said)
      .map(([thinks, part]) => ({ kind: 'says' as const, content: [...thinks, part] })),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({
        thinks: fc.array(reasoning, { maxLength: 1 }),
        calls: fc.array(call, { minLength: 1, maxLength: 4 }),
        prefix: fc.constantFrom('call', 'c'),
        steer: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      })
      .map(({ thinks, calls, prefix, steer }) => ({
        kind: 'calls' as const,
        thinks,
        steer,
        calls: calls.map((one, i) => ({ ...one, id: `${prefix}_${i + 1}` })),
      })),
  },
);

const evaluation = fc.record({
  system: fc.option(text, { nil: undefined }),
  steps: fc.array(step, { maxLength: 12 }),
  /** How many calls of the last step have no result. */
  pending: fc.nat(2),
});

/** Options of `conversation`: without pending calls the conversation is one that a loop would send. */
export interface ConversationOptions {
  readonly pending?: boolean;
  readonly steered?: boolean;
  readonly maxEvaluations?: number;
}

/** A recorded conversation as a loop would leave it. */
export function conversation(options: ConversationOptions = {}): fc.Arbitrary<readonly ConversationMessage[]> {
  const { pending = true, steered = true, maxEvaluations = 3 } = options;
  return fc
    .tuple(fc.array(evaluation, { minLength: 1, maxLength: maxEvaluations }), text)
    .map(([evaluations, first]) => {
      const messages: ConversationMessage[] = [];
      evaluations.forEach((one, number) => {
        const build = new Conversation(`e${number}`, messages);
        if (one.system !== undefined && number === 0) build.system(one.system);
        build.user(first);
        one.steps.forEach((step, i) => {
          const open = pending && i === one.steps.length - 1 ? one.pending : 0;
          addStep(build, steered ? step : { ...step, steer: false }, open);
        });
      });
      return messages;
    });
}

function addStep(build: Conversation, step: Step | (Step & { steer: boolean }), open: number): void {
  if (step.kind === 'user') {
    build.user(step.text, step.image ? [{ type: 'text', text: step.text }, step.image] : undefined);
  } else if (step.kind === 'says') {
    build.says('', step.content);
  } else {
    const calls = step.calls.map(
      (one): ToolCall => ({
        callId: one.id,
        name: `tool_${one.id}`,
        arguments: '{"q":1}',
        ...(one.kind === 'provider' && { providerExecuted: { result: one.result } }),
      }),
    );
    build.asks(...calls);
    if (step.thinks.length > 0) {
      const asking = build.messages.at(-1) as ConversationMessage & { role: 'assistant' };
      build.messages[build.messages.length - 1] = { ...asking, content: step.thinks };
    }
    const ours = step.calls.filter((one) => one.kind !== 'provider');
    const answered = ours.slice(0, Math.max(0, ours.length - open)).sort((a, b) => a.speed - b.speed);
    answered.forEach((one, i) => {
      if (step.steer && i === 0) build.user('and one more thing');
      build.result(one.id, one.result, one.kind === 'failed');
    });
  }
}

/** The same messages, damaged: dropped, repeated, swapped, invented, emptied. */
export function vandalised(messages: readonly ConversationMessage[]): fc.Arbitrary<readonly ConversationMessage[]> {
  const act = fc.tuple(
    fc.constantFrom('drop', 'copy', 'swap', 'invent', 'empty', 'rename', 'turn'),
    fc.nat(),
    fc.nat(),
  );
  return fc.array(act, { maxLength: 8 }).map((acts) => {
    const result = [...messages];
    for (const [kind, a, b] of acts) {
      const i = result.length === 0 ? 0 : a % result.length;
      const j = result.length === 0 ? 0 : b % result.length;
      const message = result[i];
      const other = result[j];
      if (!message || !other) break;
      if (kind === 'drop') result.splice(i, 1);
      else if (kind === 'copy') result.splice(j, 0, message);
      else if (kind === 'swap') [result[i], result[j]] = [other, message];
      else if (kind === 'invent') result.splice(i, 0, { ...message, id: `invented-${b}` });
      else if (kind === 'empty') result[i] = { ...message, content: [] };
      else if (kind === 'rename' && message.role === 'tool') result[i] = { ...message, toolCallId: 'call_9' };
      else if (kind === 'turn' && message.role === 'assistant') {
        result[i] = { ...message, toolCalls: [{ callId: 'call_1', name: 'tool_made_up', arguments: '{}' }] };
      }
    }
    return result;
  });
}

/** A built-in manager with random parameters, under a descriptive name. */
export interface NamedManager {
  readonly name: string;
  /** Creates a new one: two of them share no cache. */
  readonly make: () => BuiltInManager;
}

const window = fc.tuple(fc.nat(12), fc.nat(12)).map(([a, b]) => ({ size: Math.max(a, b), low: Math.min(a, b) }));

const single: fc.Arbitrary<NamedManager> = fc.oneof(
  fc.constant({ name: 'passthrough', make: passthrough }),
  fc.nat(12).map((size) => ({ name: `window ${size}`, make: () => slidingWindow({ size }) })),
  window.map((options) => ({ name: `window ${JSON.stringify(options)}`, make: () => slidingWindow(options) })),
  fc.nat(60).map((maxLength) => ({ name: `truncate ${maxLength}`, make: () => truncateToolResults({ maxLength }) })),
  window.map((options) => ({ name: `clear ${JSON.stringify(options)}`, make: () => clearToolResults(options) })),
  fc
    .record({ max: fc.integer({ min: 1, max: 3000 }), low: fc.constantFrom(0, 0.3, 0.5, 1) })
    .map((options) => ({ name: `budget ${JSON.stringify(options)}`, make: () => tokenBudget(options) })),
  window.map((options) => ({
    name: `important ${JSON.stringify(options)}`,
    make: () =>
      keepImportant({ ...options, score: (group) => group.reduce((sum, one) => sum + one.content.length, 0) }),
  })),
  fc
    .tuple(window, fc.nat(11))
    .filter(([{ low }, ahead]) => low > ahead)
    .map(([options, ahead]) => ({ ...options, ahead }))
    .map((options) => ({ name: `summarize ${JSON.stringify(options)}`, make: () => summarize(options) })),
  fc
    .record({ tools: fc.subarray(['tool_call_1', 'tool_c_2']), last: fc.nat(4) })
    .map((what) => ({ name: `pin ${JSON.stringify(what)}`, make: () => pin(what) })),
);

/** A random composition of built-in managers. */
export const manager: fc.Arbitrary<NamedManager> = fc.oneof(
  single,
  fc.array(single, { minLength: 2, maxLength: 4 }).map((parts) => ({
    name: parts.map((part) => part.name).join(' | '),
    make: () => compose(...parts.map((part) => part.make())),
  })),
);

/** Summaries as a model would write them, from the key alone. */
export const summaries = (key: string): string => `what happened in ${key}`;
