/** OpenCode's events, made by hand, and the state that its converter gives. */
import type { ConversationEvent } from '../../src/conversation/events.ts';
import {
  type OpenCodeStreamConverterOptions,
  openCodeStreamConverter,
} from '../../src/transcripts/opencode/stream-converter.ts';
import { type Line, type PlainState, plain, stateOf } from './fixtures.ts';

export const now = (): string => '2030-01-01T00:00:00.000Z';

export const CREATED = Date.UTC(2026, 0, 1);

export function convert(
  events: readonly unknown[],
  options: OpenCodeStreamConverterOptions = {},
  ends = true,
): ConversationEvent[] {
  const converter = openCodeStreamConverter({ now, ...options });
  return [...events.flatMap((event) => converter.push(event)), ...(ends ? converter.end() : [])];
}

export function run(events: readonly unknown[], options?: OpenCodeStreamConverterOptions, ends?: boolean): PlainState {
  return plain(stateOf(convert(events, options, ends)));
}

export const event = (type: string, properties: Line): Line => ({ id: `evt_${type}`, type, properties });

export const session = (id: string, parentID?: string): Line =>
  event('session.created', { sessionID: id, info: { id, ...(parentID && { parentID }) } });

export const message = (sessionID: string, id: string, role = 'assistant', more: Line = {}): Line =>
  event('message.updated', { sessionID, info: { id, sessionID, role, time: { created: CREATED }, ...more } });

export const part = (sessionID: string, messageID: string, id: string, more: Line): Line =>
  event('message.part.updated', { sessionID, part: { id, sessionID, messageID, ...more }, time: CREATED + 1000 });

export const delta = (sessionID: string, messageID: string, partID: string, text: string): Line =>
  event('message.part.delta', { sessionID, messageID, partID, field: 'text', delta: text });

export const idle = (sessionID: string): Line => event('session.idle', { sessionID });

export const text = (value: string, time: Line = { start: CREATED }): Line => ({ type: 'text', text: value, time });

export const tool = (callID: string, state: Line, name = 'bash'): Line => ({ type: 'tool', tool: name, callID, state });

export const task = (state: Line): Line => tool('call', state, 'task');

export const INPUT = { description: 'Look', prompt: 'Look around', subagent_type: 'general' };
