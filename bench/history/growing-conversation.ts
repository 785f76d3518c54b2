import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import type { ModelMessage } from 'ai';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import type { Message } from './plain-window.ts';

/** One long tool loop, in each contestant's own messages: instructions, a question, then a call and its result for each turn. */
export interface GrowingConversation {
  readonly ours: readonly ConversationMessage[];
  readonly plain: readonly Message[];
  readonly langchain: readonly BaseMessage[];
  readonly aiSdk: readonly ModelMessage[];
}

const INSTRUCTIONS = 'You review code. Read what you need, say what is wrong and why, and propose the smallest change.';
const QUESTION = 'Please review the repository and list what should change before the release.';
const RESULT_LENGTH = 200;

/** A conversation of `length` messages. */
export function growingConversation(length: number): GrowingConversation {
  const ours: ConversationMessage[] = [];
  const base = { evaluationId: 'e', conversationId: 'main', promptNs: 'bench', promptKey: 'history' };
  const place = (turn: number): Omit<ConversationMessage, 'role' | 'content'> & { sequence: number } => ({
    ...base,
    ...{ id: `e:${ours.length}`, sequence: ours.length, turn, createdAt: '2025-01-01T00:00:00.000Z' },
  });
  const text = (value: string): readonly [{ readonly type: 'text'; readonly text: string }] => [
    { type: 'text', text: value },
  ];
  ours.push({ ...place(0), role: 'system', content: text(INSTRUCTIONS) });
  ours.push({ ...place(0), role: 'user', content: text(QUESTION) });
  const plain: Message[] = [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: QUESTION },
  ];
  const langchain: BaseMessage[] = [new SystemMessage(INSTRUCTIONS), new HumanMessage(QUESTION)];
  const aiSdk: ModelMessage[] = [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: QUESTION },
  ];
  for (let turn = 1; ours.length < length; turn++) {
    const id = `call_${turn}`;
    const input = { path: `src/module-${turn % 97}.ts` };
    const args = JSON.stringify(input);
    const result = `export const value${turn} = compute(${turn});\n`.repeat(8).slice(0, RESULT_LENGTH);
    ours.push({
      ...place(turn),
      role: 'assistant',
      content: [],
      toolCalls: [{ callId: id, name: 'read_file', arguments: args }],
    });
    ours.push({
      ...place(turn),
      role: 'tool',
      toolCallId: id,
      toolName: 'read_file',
      content: text(result),
      isError: false,
    });
    plain.push({ role: 'assistant', content: null, tool_calls: [{ id, name: 'read_file', arguments: args }] });
    plain.push({ role: 'tool', content: result, tool_call_id: id });
    langchain.push(new AIMessage({ content: '', tool_calls: [{ id, name: 'read_file', args: input }] }));
    langchain.push(new ToolMessage({ content: result, tool_call_id: id }));
    aiSdk.push({ role: 'assistant', content: [{ type: 'tool-call', toolCallId: id, toolName: 'read_file', input }] });
    aiSdk.push({
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: id, toolName: 'read_file', output: { type: 'text', value: result } },
      ],
    });
  }
  return { ours: flat(ours), plain: flat(plain), langchain, aiSdk: flat(aiSdk) };
}

/** The same as if it had been read from a log or a network: flat strings, not slices of others. */
function flat<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
