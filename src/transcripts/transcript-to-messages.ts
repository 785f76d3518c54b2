import type { ConversationMessage } from '../core/messages.ts';
import { claudeMessages } from './claude/messages.ts';
import type { ImportedMessagesOptions } from './message-builder.ts';
import { openCodeMessages } from './opencode/messages.ts';
import { unknownArchitecture } from './parse-transcript.ts';
import type { Architecture, RawTranscript } from './source.ts';

/**
 * The main conversation of a transcript as messages that our own loop can go on from, with any model: every call has its result,
 * what was superseded is left out, and a subagent is the call that started it and its answer.
 */
export function transcriptToMessages(
  architecture: Architecture,
  raw: RawTranscript,
  options: ImportedMessagesOptions = {},
): readonly ConversationMessage[] {
  switch (architecture) {
    case 'claude-sdk':
      return claudeMessages(raw, options);
    case 'opencode':
      return openCodeMessages(raw, options);
    default:
      throw unknownArchitecture(architecture satisfies never);
  }
}
