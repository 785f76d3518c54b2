/** Claude's lines as messages that providers take. */
import { expect } from 'vitest';
import { textOf } from '../../src/core/log/messages.ts';
import { transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import { type Line, textOfLines } from './fixtures.ts';
import { refusals } from './refusals.ts';

/** The messages of Claude's lines, one text for each, after a check that providers would take them. */
export function outlineOf(lines: readonly Line[] | string): readonly string[] {
  const raw = typeof lines === 'string' ? lines : textOfLines(lines);
  const messages = transcriptToMessages('claude-sdk', raw);
  expect(refusals(messages)).toEqual([]);
  return messages.map((message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ callId }) => ` [${callId}]`) : [];
    return `${message.role}: ${textOf(message)}${calls.join('')}`;
  });
}
