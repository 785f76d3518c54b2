import type { AnySession, ConversationMessage } from '../../src/index.ts';

/** Every conversation's messages without ids and times, results in the order of their calls. */
export function normalized(session: AnySession): readonly unknown[] {
  const { evaluations } = session.state.record;
  const conversations = evaluations.items.map(({ id, status }) => {
    const messages = session.messages({ evaluationId: id });
    const order = callOrder(messages);
    const sorted = messages.toSorted((a, b) => place(a, order) - place(b, order));
    return { status, messages: sorted.map(withoutIds) };
  });
  // The order in which two children start depends on timing.
  return conversations.map((one) => JSON.stringify(one)).sort();
}

function withoutIds(message: ConversationMessage): unknown {
  const { id: _, createdAt: __, evaluationId: ___, sequence: ____, conversationId: _____, ...rest } = message;
  return rest;
}

function callOrder(messages: readonly ConversationMessage[]): ReadonlyMap<string, number> {
  const order = new Map<string, number>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const [n, { callId }] of message.toolCalls?.entries() ?? []) {
      order.set(`${message.turn}/${callId}`, message.turn + (n + 1) / 100);
    }
  }
  return order;
}

function place(message: ConversationMessage, order: ReadonlyMap<string, number>): number {
  if (message.role === 'tool') return order.get(`${message.turn}/${message.toolCallId}`) ?? Number.POSITIVE_INFINITY;
  return message.role === 'assistant' ? message.turn : -1;
}
