const AT = '2026-01-01T00:00:00.000Z';

/** A message as it stands in a log, for sessions that no agent ran. */
export function recordedMessage(sequence: number, turn: number, message: object): never {
  const place = { evaluationId: 'e', conversationId: 'main', promptNs: 'studio', promptKey: 'assistant' };
  const base = { id: `m${sequence}`, sequence, turn, createdAt: AT, ...place };
  return { type: 'message/recorded', at: AT, message: { ...base, ...message } } as never;
}
