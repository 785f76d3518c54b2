import { expect, test } from 'vitest';
import { exportConversation } from '../../src/importers/export-conversation.ts';
import { everywhere } from './hostile-conversation.ts';

test.for(['markdown', 'html'] as const)('a document as %s has no character that a terminal obeys', (format) => {
  const said = 'a\u001b]0;title\u0007b\u001b[2Jc\bd\u009be\u007ff\0g';
  const { content } = exportConversation(everywhere(said), { format, title: said });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
  expect(content.match(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/)).toBeNull();
  expect(content).toContain('␛');
});
