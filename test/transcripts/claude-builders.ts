/** Builds short lines of Claude Code and messages of its SDK. */
import type { Line } from './fixtures.ts';

let time = 0;

/** A time after all earlier ones. */
export function at(): string {
  return new Date(Date.UTC(2026, 0, 1) + ++time * 1000).toISOString();
}

/** A line of the assistant with one block. */
export function says(uuid: string, messageId: string, block: Line, more: Line = {}): Line {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = { id: messageId, role: 'assistant', model: 'claude', content: [block], usage };
  return { type: 'assistant', uuid, sessionId: 's', timestamp: at(), message, ...more };
}

export function text(value: string): Line {
  return { type: 'text', text: value };
}

export function call(id: string, name = 'Bash', input: unknown = { command: 'ls' }): Line {
  return { type: 'tool_use', id, name, input };
}

/** A line of the user with the result of a call. */
export function returns(uuid: string, callId: string, content: unknown, more: Line = {}): Line {
  const message = { role: 'user', content: [{ type: 'tool_result', tool_use_id: callId, content }] };
  return { type: 'user', uuid, sessionId: 's', timestamp: at(), message, ...more };
}

/** A line of the user with a text. */
export function asks(uuid: string, content: unknown, more: Line = {}): Line {
  return { type: 'user', uuid, sessionId: 's', timestamp: at(), message: { role: 'user', content }, ...more };
}

/** The SDK's partial messages. */
export function partial(event: Line, parentToolUseId: string | null = null): Line {
  return { type: 'stream_event', event, parent_tool_use_id: parentToolUseId, session_id: 's' };
}

export function messageStart(id: string, parent: string | null = null): Line {
  const message = { id, model: 'claude', usage: { input_tokens: 10, output_tokens: 1 } };
  return partial({ type: 'message_start', message }, parent);
}

export function blockStart(index: number, block: Line, parent: string | null = null): Line {
  return partial({ type: 'content_block_start', index, content_block: block }, parent);
}

export function blockDelta(index: number, delta: Line, parent: string | null = null): Line {
  return partial({ type: 'content_block_delta', index, delta }, parent);
}

export function blockStop(index: number, parent: string | null = null): Line {
  return partial({ type: 'content_block_stop', index }, parent);
}

export const INIT: Line = { type: 'system', subtype: 'init', session_id: 's', uuid: 'init' };
export const DONE: Line = { type: 'result', subtype: 'success', is_error: false, session_id: 's', uuid: 'done' };
