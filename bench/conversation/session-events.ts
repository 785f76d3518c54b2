/** A generated, plausible session as conversation events: the same on every machine. */
import type { ConversationBlock, ConversationEvent } from '../../src/conversation.ts';

const WORDS = 'the file that reads a line and then writes it back where tests look for what was asked of them'.split(
  ' ',
);

function at(n: number): string {
  return new Date(Date.UTC(2026, 0, 1) + n * 250).toISOString();
}

function say(seed: number, count: number): string {
  return Array.from({ length: count }, (_, i) => WORDS[(seed * 31 + i * 7) % WORDS.length]).join(' ');
}

/** Turns of thinking, streamed text, tool calls and results, every eighth with a subagent, until there are `count` events. */
export function sessionEvents(count: number): ConversationEvent[] {
  const events: ConversationEvent[] = [];
  for (let turn = 0; events.length < count; turn++) {
    const conversationId = turn % 8 === 7 ? `toolu_${turn - 1}` : 'main';
    const message = { id: `msg_${turn}`, model: 'model-1', usage: { inputTokens: 1000 + turn, outputTokens: 200 } };
    const base = { conversationId, timestamp: at(turn), message } as const;
    const upsert = (block: ConversationBlock): void => {
      events.push({ type: 'block:upsert', conversationId, timestamp: at(turn), block });
    };
    const streamed = (id: string, type: 'thinking' | 'assistant_text', text: string): void => {
      upsert({ ...base, id, type, status: 'pending', content: '' });
      for (let offset = 0; offset < text.length; offset += 24) {
        const delta = text.slice(offset, offset + 24);
        events.push({ type: 'block:delta', conversationId, timestamp: at(turn), blockId: id, delta, offset });
      }
      upsert({ ...base, id, type, status: 'complete', content: text });
    };
    if (turn % 5 === 0) {
      upsert({ ...base, id: `user_${turn}`, type: 'user_message', status: 'complete', content: say(turn, 20) });
    }
    streamed(`msg_${turn}:0`, 'thinking', say(turn, 20));
    streamed(`msg_${turn}:1`, 'assistant_text', say(turn + 1, 40));
    if (turn % 8 === 6) {
      events.push({
        ...{ type: 'subagent:spawned', conversationId, timestamp: at(turn), toolUseId: `toolu_${turn}` },
        ...{ prompt: say(turn, 30), subagentType: 'explorer', description: 'Look around' },
      } as ConversationEvent);
      continue;
    }
    const toolUseId = `toolu_${turn}_call`;
    const input = { path: `src/file-${turn}.ts`, limit: 200, pattern: say(turn, 4) };
    upsert({ ...base, id: toolUseId, type: 'tool_use', status: 'pending', toolUseId, toolName: 'read', input });
    upsert({
      ...{ id: `result:${toolUseId}`, type: 'tool_result', status: 'complete', conversationId, timestamp: at(turn) },
      ...{ toolUseId, output: say(turn, 120), isError: turn % 13 === 0 },
    } as ConversationBlock);
    if (turn % 8 === 7) {
      events.push({
        ...{ type: 'subagent:completed', conversationId: 'main', timestamp: at(turn), toolUseId: conversationId },
        ...{ status: 'completed', output: say(turn, 30), durationMs: 1200 },
      } as ConversationEvent);
    }
  }
  return events.slice(0, count);
}

/** `count` finished texts and a last one that is streaming. */
export function longConversation(count: number): ConversationEvent[] {
  return Array.from({ length: count }, (_, i): ConversationEvent => {
    const last = i === count - 1;
    const block = {
      ...{ id: `block_${i}`, type: 'assistant_text', conversationId: 'main', timestamp: at(i) },
      ...{ status: last ? 'pending' : 'complete', content: last ? '' : say(i, 12) },
    } as ConversationBlock;
    return { type: 'block:upsert', conversationId: 'main', timestamp: at(i), block };
  });
}

/** Deltas, a few words each, for one block. */
export function deltasFor(blockId: string, count: number): (ConversationEvent & { type: 'block:delta' })[] {
  let offset = 0;
  return Array.from({ length: count }, (_, i) => {
    const delta = `${say(i, 3)} `;
    const event = { type: 'block:delta', conversationId: 'main', timestamp: at(i), blockId, delta, offset } as const;
    offset += delta.length;
    return event;
  });
}
