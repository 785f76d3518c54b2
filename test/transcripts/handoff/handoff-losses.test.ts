/** The losses of a transcript that was loaded are those of the same session as a state. */
import { describe, expect, test } from 'vitest';
import { parseTranscript } from '../../../src/transcripts/parse-transcript.ts';
import { asks, call, says, text } from '../claude-builders.ts';
import { CODEX_CAPTURES, codexSession } from '../codex-fixtures.ts';
import { textOfLines } from '../fixtures.ts';
import { build, lost, TARGETS } from './written.ts';

const counts = (built: ReturnType<typeof build>): Readonly<Record<string, number>> =>
  Object.fromEntries(built.losses.map(({ what, count }) => [what, count]));

describe.for(TARGETS)('losses of a transcript for %s', (to) => {
  test.for(['reasoning', 'kill-tool'])('name reasoning, notices, instructions and open calls of %s', (folder) => {
    const capture = CODEX_CAPTURES.find((known) => known.folder === folder && known.place === 'sessions');
    const raw = codexSession(capture as (typeof CODEX_CAPTURES)[number]);
    const loaded = counts(build({ architecture: 'codex', raw }, to));
    expect(loaded).toEqual(counts(build(parseTranscript('codex', raw).state, to)));
    expect(loaded).toMatchObject({ reasoning: folder === 'reasoning' ? 2 : 1, instructions: 1, notice: 1 });
    expect(loaded['missing result']).toBe(folder === 'kill-tool' ? 1 : undefined);
  });

  test('name a thought that nothing follows, and the result of an open call', () => {
    const raw = textOfLines([
      asks('u1', 'q'),
      says('a1', 'm1', call('t1')),
      asks('u2', 'next'),
      says('a2', 'm2', { type: 'thinking', thinking: 'Hm.', signature: 's' }),
    ]);
    expect(counts(build({ architecture: 'claude-sdk', raw }, to))).toMatchObject({
      ...{ reasoning: 1, 'missing result': 1 },
    });
  });

  test('name the thoughts and errors of an OpenCode session that no provider takes back', () => {
    const parts = [
      { id: 'p1', type: 'reasoning', text: 'Hm.' },
      { id: 'p2', type: 'text', text: 'Hello.' },
    ];
    const messages = [
      { info: { id: 'm1', role: 'user', time: { created: 1 } }, parts: [{ id: 'p0', type: 'text', text: 'q' }] },
      { info: { id: 'm2', role: 'assistant', time: { created: 2 }, error: { name: 'Aborted' } }, parts },
    ];
    const raw = JSON.stringify({ info: { id: 'ses_1' }, messages });
    expect(counts(build({ architecture: 'opencode', raw }, to))).toMatchObject({ reasoning: 1, notice: 1 });
  });
});

test('the line that closes a session of Claude Code is a loss, and no line is added after a text', () => {
  const open = { architecture: 'claude-sdk', raw: textOfLines([asks('u1', 'q')]) } as const;
  const closed = { ...open, raw: textOfLines([asks('u1', 'q'), says('a1', 'm1', text('Hello.'))]) };
  expect(lost(build(open, 'claude-sdk'))).toEqual(['end']);
  expect(lost(build(open, 'codex'))).toEqual([]);
  expect(lost(build(closed, 'claude-sdk'))).toEqual([]);
});
