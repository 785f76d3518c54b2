/** Small conversations, and transcripts built from them with ids and a time that are always the same. */
import type { ConversationMessage } from '../../../src/core/log/messages.ts';
import { ImportedMessages } from '../../../src/formats/imported-messages.ts';
import {
  type BuildTranscriptOptions,
  type BuiltTranscript,
  buildTranscript,
  type HandoffTarget,
} from '../../../src/transcripts/handoff/build-transcript.ts';
import type { HandoffSource } from '../../../src/transcripts/handoff/handoff-source.ts';
import { transcriptToMessages } from '../../../src/transcripts/parse-transcript.ts';
import { readRollout } from './read-rollout.ts';
import { type SaidItem, saidItems } from './said-items.ts';

export const AT: number = Date.parse('2026-11-17T12:00:00.000Z');
export const TARGETS: readonly HandoffTarget[] = ['claude-sdk', 'codex', 'opencode'];

export function build(
  source: HandoffSource,
  to: HandoffTarget,
  options: Partial<BuildTranscriptOptions> = {},
): BuiltTranscript {
  let n = 0;
  const newId = (): string => `00000000-0000-4000-8000-${(++n).toString(16).padStart(12, '0')}`;
  return buildTranscript(source, { to, cwd: '/home/dev/demo', at: AT, newId, ...options });
}

/** What the agent that continues reads. */
export function readBack(content: string, to: HandoffTarget): readonly SaidItem[] {
  return to === 'codex' ? readRollout(content) : saidItems(transcriptToMessages(to, content));
}

type Said = Parameters<ImportedMessages['push']>[0];

export function conversation(...said: readonly Said[]): readonly ConversationMessage[] {
  const imported = new ImportedMessages();
  for (const message of said) imported.push(message);
  return imported.messages;
}

export const user = (text: string): Said => ({ role: 'user', content: [{ type: 'text', text }] });
export const assistant = (text: string): Said => ({ role: 'assistant', content: [{ type: 'text', text }] });
export const calling = (name: string, input: string, callId = 'c'): Said => ({
  ...{ role: 'assistant', content: [], toolCalls: [{ callId, name, arguments: input }] },
});
export const result = (text: string, toolCallId = 'c', isError = false): Said => ({
  ...{ role: 'tool', toolCallId, toolName: '', content: [{ type: 'text', text }], isError },
});

/** The names of the losses. */
export function lost({ losses }: BuiltTranscript): readonly string[] {
  return losses.map(({ what }) => what);
}
