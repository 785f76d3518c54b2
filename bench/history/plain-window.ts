/**
 * A sliding window manager in its simplest form: copies and slices of arrays. It checks nothing, counts no tokens and caches
 * nothing.
 */
export interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly tool_call_id?: string;
}

export class SlidingWindowManager {
  readonly windowSize: number;

  constructor(windowSize: number) {
    this.windowSize = windowSize;
  }

  curate(messages: readonly Message[]): Message[] {
    if (messages.length <= 1) return [...messages];
    const system = messages[0]?.role === 'system' ? messages[0] : undefined;
    const rest = system ? messages.slice(1) : messages;
    if (rest.length <= this.windowSize) return [...messages];
    const kept = alignToCoherentBoundary(rest.slice(-this.windowSize));
    return system ? [system, ...kept] : kept;
  }
}

function alignToCoherentBoundary(messages: Message[]): Message[] {
  if (messages.length === 0) return messages;
  let start = 0;
  while (start < messages.length && messages[start]?.role === 'tool') start += 1;
  return messages.slice(start);
}
