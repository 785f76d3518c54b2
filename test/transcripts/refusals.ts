/** What providers would refuse in a converted history. */
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { canSend } from '../../src/history/coherence/coherence.ts';

/** A message of the user's: a request begins and ends with one. */
function typed(id: string): ConversationMessage {
  const place = { evaluationId: 'e', conversationId: 'main', sequence: 0, turn: 0, promptNs: 'n', promptKey: 'k' };
  return { ...place, id, role: 'user', createdAt: '', content: [{ type: 'text', text: 'Go on.' }] };
}

/** What OpenAI and Anthropic would refuse in a request with these messages. */
export function refusals(messages: readonly ConversationMessage[]): readonly unknown[] {
  const request = [typed('before'), ...messages, typed('after')];
  return (['openai', 'anthropic'] as const).flatMap((provider) =>
    canSend(request, provider).violations.map((violation) => [provider, violation]),
  );
}
