import fc from 'fast-check';
import type { ContentPart, ConversationMessage, MediaPart, TextPart, ToolCall } from '../../src/core/log/messages.ts';
import { Conversation } from './converse.ts';

/** Random conversations that a log could hold: every call of ours has its result, in call order. */

/** Generators of what a format can represent, for the round trip of its codec. */
export interface Holds {
  readonly text: fc.Arbitrary<string>;
  readonly systemParts: fc.ArrayConstraints;
  readonly userMedia: fc.Arbitrary<MediaPart>;
  readonly resultParts: fc.Arbitrary<readonly (TextPart | MediaPart)[]>;
  readonly answerParts: fc.Arbitrary<readonly ContentPart[]>;
  readonly callId: fc.Arbitrary<string>;
  /** Ids are unique over the conversation: a format may not represent repeated ids, which a log may have (D11). */
  readonly uniqueIds: boolean;
  readonly name: fc.Arbitrary<string>;
  readonly arguments: fc.Arbitrary<string>;
  /** Puts calls between the parts of a response. */
  readonly place: (content: readonly ContentPart[]) => fc.Arbitrary<number | undefined>;
}

export const textPart = (text: fc.Arbitrary<string>): fc.Arbitrary<TextPart> =>
  text.map((said) => ({ type: 'text', text: said }));

export function conversation(holds: Holds, options: { readonly minLength?: number } = {}): fc.Arbitrary<Conversation> {
  const user = fc.record({
    kind: fc.constant('user' as const),
    content: fc.array(fc.oneof(textPart(holds.text), holds.userMedia), { minLength: 1, maxLength: 3 }),
  });
  const answer = holds.answerParts.chain((content) =>
    fc.record({
      kind: fc.constant('answer' as const),
      content: fc.constant(content),
      calls: fc.uniqueArray(
        fc.record({
          callId: holds.callId,
          name: holds.name,
          arguments: holds.arguments,
          after: holds.place(content),
          result: fc.record({ content: holds.resultParts, isError: fc.boolean() }),
        }),
        { selector: ({ callId }) => callId, maxLength: 3, minLength: content.length === 0 ? 1 : 0 },
      ),
    }),
  );
  return fc
    .record({
      system: fc.option(fc.array(textPart(holds.text), holds.systemParts), { nil: undefined }),
      first: user,
      steps: fc.array(fc.oneof(user, answer, answer), { maxLength: 5, ...options }),
    })
    .map(({ system, first, steps }) => {
      const chat = new Conversation();
      let ids = 0;
      if (system) chat.push({ role: 'system', content: system }, 0);
      for (const step of [first, ...steps]) {
        if (step.kind === 'user') {
          chat.user(step.content);
          continue;
        }
        const calls = step.calls.map((call) => ({
          ...call,
          callId: holds.uniqueIds ? `${call.callId}_${ids++}` : call.callId,
        }));
        const places = calls.map(({ after }) => after ?? step.content.length).sort((a, b) => a - b);
        const toolCalls = calls.map(({ callId, name, arguments: text }, i): ToolCall => {
          const after = places[i] ?? step.content.length;
          return { callId, name, arguments: text, ...(after < step.content.length ? { after } : {}) };
        });
        chat.assistant({ content: step.content as never, toolCalls });
        for (const { callId, name, result } of calls) chat.result(callId, name, result.content, result.isError);
      }
      return chat;
    });
}

/** Messages without fields that only our log has. */
export function bare(messages: readonly ConversationMessage[]): readonly object[] {
  return messages.map(
    ({
      id: _,
      evaluationId: _e,
      conversationId: _c,
      sequence: _s,
      promptNs: _n,
      promptKey: _k,
      createdAt: _a,
      ...said
    }) => said,
  );
}
