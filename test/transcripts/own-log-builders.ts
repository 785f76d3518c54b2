/** Builds logs. */
import {
  type ConversationBlock,
  type ConversationEvent,
  createConversationState,
  isConversationEvent,
  reduceConversationEvents,
  type SessionConversationState,
} from '../../src/conversation.ts';
import type { BuiltInEvent, SessionEvent } from '../../src/core/log/events.ts';
import type { ConversationMessage, ToolCall } from '../../src/core/log/messages.ts';
import { messagesToEvents } from '../../src/transcripts/own-log.ts';

export function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
}

interface Place {
  readonly evaluationId?: string;
  readonly conversationId?: string;
  readonly turn?: number;
}

let created = 0;

/** Messages of evaluation `ev`, in the order in which they are made. */
export function makeMessages(place: Place = {}): {
  system(text: string): ConversationMessage;
  user(text: string, more?: Partial<ConversationMessage>): ConversationMessage;
  assistant(text: string, calls?: readonly ToolCall[], more?: Partial<ConversationMessage>): ConversationMessage;
  tool(callId: string, text: string, more?: Partial<ConversationMessage>): ConversationMessage;
} {
  const { evaluationId = 'ev', conversationId = 'main' } = place;
  let sequence = 0;
  let turn = 0;
  const base = (): Omit<ConversationMessage, 'role' | 'content'> => ({
    id: `${evaluationId}:${sequence}`,
    evaluationId,
    conversationId,
    sequence: sequence++,
    turn,
    promptNs: 'ns',
    promptKey: 'key',
    createdAt: at(++created % 60),
  });
  const make = (fields: object): ConversationMessage => fields as ConversationMessage;
  return {
    system: (text) => make({ ...base(), role: 'system', content: [{ type: 'text', text }] }),
    user: (text, more) => make({ ...base(), role: 'user', content: [{ type: 'text', text }], ...more }),
    assistant: (text, calls = [], more = {}) => {
      turn++;
      const content = text === '' ? [] : [{ type: 'text', text }];
      return make({ ...base(), role: 'assistant', content, ...(calls.length > 0 && { toolCalls: calls }), ...more });
    },
    tool: (toolCallId, text, more) =>
      make({
        ...base(),
        role: 'tool',
        toolCallId,
        toolName: 'read',
        content: [{ type: 'text', text }],
        isError: false,
        ...more,
      }),
  };
}

export function toolCall(callId: string, args = '{}', more: Partial<ToolCall> = {}): ToolCall {
  return { callId, name: 'read', arguments: args, ...more };
}

type WithoutPlace<T> = T extends unknown ? Omit<T, 'seq' | 'at'> : never;

/** An event without its seq, or a message to be recorded. */
export type LogEntry =
  | WithoutPlace<BuiltInEvent>
  | { readonly type: string; readonly [field: string]: unknown }
  | ConversationMessage;

/** A log of events, with seqs and times. */
export function logOf(...events: readonly LogEntry[]): SessionEvent[] {
  return events.map((event, i) => {
    const recorded = 'role' in event ? { type: 'message/recorded', message: event } : event;
    return { ...recorded, seq: i + 1, at: at(i) } as SessionEvent;
  });
}

export function started(evaluationId = 'ev', more: object = {}): LogEntry {
  return {
    type: 'evaluation/started',
    evaluationId,
    conversationId: 'main',
    promptNs: 'ns',
    promptKey: 'key',
    promptHash: 'h',
    inputHash: 'i',
    ...more,
  };
}

/** The state of the main conversation, machinery included. */
export function show(...events: readonly LogEntry[]): string[] {
  const converted = messagesToEvents(logOf(...events), { machinery: true });
  for (const event of converted) if (!isConversationEvent(event)) throw new Error(`no event: ${JSON.stringify(event)}`);
  return lines(stateOf(converted));
}

export function stateOf(events: Iterable<ConversationEvent>): SessionConversationState {
  return reduceConversationEvents(createConversationState(), events);
}

/** The blocks of the main conversation, one per line. */
export function lines(state: SessionConversationState, conversationId = 'main'): string[] {
  const blocks =
    conversationId === 'main'
      ? state.blocks
      : state.subagents.find((subagent) => subagent.toolUseId === conversationId)?.blocks;
  return blocks?.map(line) ?? [];
}

function line(block: ConversationBlock): string {
  switch (block.type) {
    case 'tool_use':
      return `${block.status} ${block.toolName}(${block.inputText ?? JSON.stringify(block.input)})`;
    case 'tool_result':
      return `${block.status} ${block.isError ? 'failed' : 'result'}: ${block.output}`;
    case 'subagent':
      return `${block.status} subagent ${block.name}: ${block.input} -> ${block.output}`;
    case 'unknown':
      return `unknown ${block.sourceType}`;
    case 'system':
    case 'error':
    case 'skill':
    case 'compaction':
      return `${block.status} ${block.type}/${block.subtype}: ${block.content}`;
    default:
      return `${block.status} ${block.type}: ${block.content}`;
  }
}
