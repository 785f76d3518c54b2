/** The programs of the pages run, and print what their page says. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { examples, pages, placeOf } from '../support/documents.ts';
import { actualTranscript, filesRunBy, transcriptsIn } from '../support/shell-transcript.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-programs-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Programs that listen, watch or are tests: each has a test of its own. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  'README.md chat-server.mts': 'test/examples/chat-server.test.ts',
  'docs/conversation.md watch.mts': 'test/documents/conversation.test.ts',
  'docs/conversation.md events-server.mts': 'test/documents/conversation.test.ts',
  'docs/conversation.md conversation.tsx': 'test/documents/conversation.test.ts',
  'docs/testing.md agent.test.mts': 'test/documents/testing.test.ts',
  'docs/writing-a-store.md my-store.test.ts': 'test/stores/writing-a-store.test.ts',
  'docs/writing-a-store.md kill.ts': 'test/stores/writing-a-store.test.ts',
};

const transcripts = pages().flatMap(transcriptsIn);

test.for(transcripts.map((fence) => [placeOf(fence), fence] as const))(
  'the commands at %s print what the page says',
  ([, fence]) => {
    expect(actualTranscript(directory, fence)).toBe(fence.code);
  },
);

test('every program of a page is run: by a command on its page, or by a test of its own', () => {
  const run = new Set(transcripts.flatMap((fence) => filesRunBy(fence).map((file) => `${fence.page} ${file}`)));
  const programs = examples().flatMap(({ page, file }) => (file === undefined ? [] : [`${page} ${file}`]));
  expect(programs.filter((program) => !run.has(program) && !(program in RUN_ELSEWHERE))).toEqual([]);
  expect(Object.keys(RUN_ELSEWHERE).filter((program) => !programs.includes(program))).toEqual([]);
});
