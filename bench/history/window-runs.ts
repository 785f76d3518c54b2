import { type BaseMessage, type ToolMessage, trimMessages } from '@langchain/core/messages';
import { type ModelMessage, pruneMessages } from 'ai';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { checkCoherence } from '../../src/history/coherence/coherence.ts';
import { type CuratedRequest, curateRequest } from '../../src/history/curate-request.ts';
import { slidingWindow } from '../../src/history/managers/sliding-window.ts';
import type { GrowingConversation } from './growing-conversation.ts';
import { type Message, SlidingWindowManager } from './plain-window.ts';

/**
 * A window of 50 groups, a call and its result each, before every request of a conversation that grows by two messages a turn.
 * Each run returns milliseconds for all requests, and checks that the last one held the newest 50 groups and the instructions.
 */

export const GROUPS = 50;
const MESSAGES = 2 * GROUPS;

function expectWindow(who: string, sent: readonly unknown[], extra: number, firstRole: string, newest: boolean): void {
  if (sent.length !== MESSAGES + extra || firstRole !== 'system' || !newest) {
    throw new Error(`${who} did other work: ${sent.length} messages, first ${firstRole}`);
  }
}

/** Ours, as in the loop: select, check, repair, count tokens, compare with the previous request. */
export function runOurs(
  { ours }: Pick<GrowingConversation, 'ours'>,
  at: (messages: number) => void = () => {},
): number {
  const history = slidingWindow({ size: GROUPS });
  const grown: ConversationMessage[] = ours.slice(0, 2);
  let previous: CuratedRequest | undefined;
  const start = performance.now();
  for (let i = 2; ; i += 2) {
    previous = curateRequest(previous ? { history, messages: grown, previous } : { history, messages: grown });
    at(i);
    if (i >= ours.length) break;
    grown.push(ours[i] as ConversationMessage, ours[i + 1] as ConversationMessage);
  }
  const elapsed = performance.now() - start;
  const sent = previous.messages;
  expectWindow('ours', sent, 2, sent[0]?.role ?? '', sent.at(-1) === ours.at(-1));
  if (!checkCoherence(sent).ok) throw new Error('ours is not coherent');
  return elapsed;
}

/** The plain window manager. */
export function runPlain({ plain }: GrowingConversation): number {
  const manager = new SlidingWindowManager(MESSAGES);
  const grown: Message[] = plain.slice(0, 2);
  let sent: readonly Message[] = [];
  const start = performance.now();
  for (let i = 2; ; i += 2) {
    sent = manager.curate(grown);
    if (i >= plain.length) break;
    grown.push(plain[i] as Message, plain[i + 1] as Message);
  }
  const elapsed = performance.now() - start;
  expectWindow('the plain window', sent, 1, sent[0]?.role ?? '', sent.at(-1) === plain.at(-1));
  return elapsed;
}

/** `pruneMessages` of the AI SDK, at every `stride`th request, extrapolated to all of them. */
export function runPrune({ aiSdk }: GrowingConversation, stride: number): number {
  let elapsed = 0;
  let sent: readonly ModelMessage[] = [];
  for (let length = aiSdk.length; length >= 2; length -= 2 * stride) {
    const messages = aiSdk.slice(0, length);
    const start = performance.now();
    const pruned = pruneMessages({ messages, toolCalls: `before-last-${MESSAGES}-messages` });
    elapsed += performance.now() - start;
    if (length === aiSdk.length) sent = pruned;
  }
  expectWindow('pruneMessages', sent, 2, sent[0]?.role ?? '', sent.at(-1) === aiSdk.at(-1));
  return elapsed * stride;
}

/** `trimMessages` of LangChain, counting messages as tokens (which costs it nothing), at every `stride`th request up to `length`. */
export async function runTrim({ langchain }: GrowingConversation, length: number, stride: number): Promise<number> {
  let elapsed = 0;
  let sent: readonly BaseMessage[] = [];
  for (let n = length; n >= 2; n -= 2 * stride) {
    const messages = langchain.slice(0, n);
    const start = performance.now();
    const trimmed = await trimMessages(messages, {
      ...{ maxTokens: MESSAGES + 1, strategy: 'last', includeSystem: true, startOn: ['human', 'ai'] },
      tokenCounter: (list: readonly BaseMessage[]) => list.length,
    });
    elapsed += performance.now() - start;
    if (n === length) sent = trimmed;
  }
  const newest = (sent.at(-1) as ToolMessage).tool_call_id === (langchain[length - 1] as ToolMessage).tool_call_id;
  expectWindow('trimMessages', sent, 1, sent[0]?.getType() ?? '', newest);
  return elapsed * stride;
}
