import { expect, test } from 'vitest';
import { transcriptTexts } from '../../src/transcripts/raw-transcript.ts';
import { firstLines, TextLines } from '../../src/transcripts/text-lines.ts';

function linesOf(text: string): readonly (readonly [string, boolean])[] {
  const lines = new TextLines(text);
  const found: [string, boolean][] = [];
  for (let line = lines.next(); line !== undefined; line = lines.next()) found.push([line, lines.isTorn]);
  return found;
}

test.for<[string, readonly (readonly [string, boolean])[]]>([
  ['', []],
  ['a\n', [['a', false]]],
  [
    'a\n\nb',
    [
      ['a', false],
      ['', false],
      ['b', true],
    ],
  ],
  [
    '\uFEFFa\r\nb\u2028c\n',
    [
      ['a\r', false],
      ['b\u2028c', false],
    ],
  ],
])('lines end at a newline and at nothing else, and the last one may have none: %j', ([text, lines]) => {
  expect(linesOf(text)).toEqual(lines);
});

test('the first lines are as many as there are, up to a number', () => {
  expect([...firstLines('a\nb\nc\n', 2)]).toEqual(['a', 'b']);
  expect([...firstLines('a', 2)]).toEqual(['a']);
});

test('a session has the same texts as a value and as JSON, and what has no main text is none', () => {
  const combined = { main: '{}\n', subagents: [{ id: 'a', transcript: 'x', runId: 'r', isTorn: true }, { id: '' }, 7] };
  const texts = transcriptTexts(combined);
  expect(texts).toMatchObject({
    main: '{}\n',
    isTorn: false,
    subagents: [{ id: 'a', text: 'x', runId: 'r', isTorn: true }],
  });
  expect(transcriptTexts(JSON.stringify(combined))).toEqual(texts);
  expect(transcriptTexts('{"main": 7}')).toEqual({ main: '{"main": 7}', isTorn: false, subagents: [] });
  expect([7, null, { main: 7 }, []].map(transcriptTexts)).toEqual([undefined, undefined, undefined, undefined]);
});
