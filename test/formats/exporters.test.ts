/** One behaviour: what the codecs write is what the exporters write, for every real transcript of `test/fixtures`. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConversationMessage } from '../../src/core/log/messages.ts';
import { toAnthropic } from '../../src/formats/anthropic-messages.ts';
import type { FormatLoss, FormatOptions } from '../../src/formats/losses.ts';
import { toOpenAIChat } from '../../src/formats/openai-chat.ts';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import { transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import { conversation, vandalised } from '../history/arbitraries.ts';
import { claudeSession, FIXTURES, fixture, openCodeSession, realSession } from '../transcripts/fixtures.ts';
import { logOf, makeMessages, toolCall } from '../transcripts/own-log-builders.ts';

const below = (folder: string, holds: string): readonly string[] =>
  readdirSync(join(FIXTURES, folder)).filter((name) => existsSync(join(FIXTURES, folder, name, holds)));

const transcripts: readonly (readonly [string, () => readonly ConversationMessage[]])[] = [
  ...below('claude-code-2.1.325', 'projects').map(
    (name) => [`Claude Code: ${name}`, () => transcriptToMessages('claude-sdk', claudeSession(name))] as const,
  ),
  ...readdirSync(join(FIXTURES, 'claude-code-2.1.38'))
    .filter((name) => /\.jsonl(?:\.gz)?$/.test(name))
    .map((name) => [name, () => transcriptToMessages('claude-sdk', fixture('claude-code-2.1.38', name))] as const),
  ['the real session', () => transcriptToMessages('claude-sdk', realSession())],
  ...below('opencode-1.18.33', 'export.json').map(
    (name) => [`OpenCode: ${name}`, () => transcriptToMessages('opencode', openCodeSession(name))] as const,
  ),
];

const codecs = { anthropic: toAnthropic, openai: toOpenAIChat };
const formats = Object.keys(codecs) as (keyof typeof codecs)[];

function exported(source: Parameters<typeof exportConversation>[0], format: keyof typeof codecs): unknown {
  return JSON.parse(exportConversation(source, { format }).content);
}

function written(
  messages: readonly ConversationMessage[],
  format: keyof typeof codecs,
  options?: FormatOptions,
): unknown {
  return JSON.parse(JSON.stringify(codecs[format](messages, options)));
}

describe.for(formats)('the exporter and the codec of %s write the same', (format) => {
  test.for(transcripts)('%s', ([, read]) => {
    const messages = read();
    expect(exported(messages, format)).toEqual(written(messages, format));
  });

  test('for any conversation, coherent or not, and its log', () => {
    const scene = conversation().chain((original) => fc.oneof(vandalised(original), fc.constant(original)));
    fc.assert(
      fc.property(scene, (messages) => {
        const codec = written(messages, format);
        expect(exported(messages, format)).toEqual(codec);
        expect(exported(logOf(...messages), format)).toEqual(codec);
      }),
    );
  });

  test('for media that cannot be sent, when the codec reports losses; else the codec throws', () => {
    const m = makeMessages();
    const stored = { type: 'image', mediaType: 'image/png', data: 'sha256:aa' } as const;
    const sheet = { type: 'file', mediaType: 'text/csv', data: 'AAAA' } as const;
    const local = { type: 'image', mediaType: 'image/png', data: 'file:///a.png' } as const;
    for (const medium of [stored, sheet, local]) {
      const messages = [
        m.user('', { content: [medium, { type: 'text', text: 'See.' }] }),
        m.assistant('', [toolCall('c')]),
        m.tool('c', '', { content: [medium] }),
      ];
      const losses: FormatLoss[] = [];
      const codec = written(messages, format, { onLoss: (loss) => losses.push(loss) });
      expect(exported(messages, format)).toEqual(codec);
      expect(losses.map(({ what }) => what)).toContain(medium === sheet ? 'medium of type text/csv' : 'medium');
      expect(() => codecs[format](messages)).toThrow(
        expect.objectContaining({ code: medium === stored ? 'CONTENT_NOT_FOUND' : 'INVALID_ARGUMENT' }),
      );
    }
  });
});
