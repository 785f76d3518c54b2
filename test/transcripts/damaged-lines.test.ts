/** Lines that hold whole records and are not JSON: every reader finds all of the records. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createConversationState, reduceConversationEvents } from '../../src/conversation.ts';
import { parseDamaged } from '../../src/transcripts/glued-records.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { recordTexts } from '../../src/transcripts/record-text.ts';
import { findTranscripts, readTranscript, transcriptToMessages } from '../../src/transcripts.ts';
import { folder, write } from '../importers/places.ts';
import { RolloutBuilder } from './codex-fixtures.ts';

const claude = (n: number, content: string): string =>
  JSON.stringify({
    parentUuid: n === 0 ? null : `u${n - 1}`,
    sessionId: 's1',
    type: 'user',
    message: { role: 'user', content: [{ type: 'text', text: content }] },
    uuid: `u${n}`,
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString(),
  });

const [FIRST, SECOND, THIRD] = [claude(0, 'first'), claude(1, 'second'), claude(2, 'third }{"')];
/** A record that a crash cut short, with a whole part in it. */
const TORN = claude(9, 'torn').slice(0, -60);

const DAMAGED: readonly (readonly [name: string, line: string, texts: readonly string[]])[] = [
  ['two whole records', FIRST + SECOND, ['first', 'second']],
  ['a torn record and a whole one', TORN + FIRST, ['first']],
  ['a torn record and two whole ones', TORN + FIRST + SECOND, ['first', 'second']],
  ['a whole record between torn ones', TORN + FIRST + TORN, ['first']],
  ['records on both sides of a torn one', FIRST + TORN + SECOND + THIRD, ['first', 'second', 'third }{"']],
  ['zeros before a record', `\0\0\0${FIRST}`, ['first']],
  ['zeros before glued records', `\0${FIRST}\0\0${SECOND}`, ['first', 'second']],
  ['white space between records', `${FIRST}\r${SECOND}\r${THIRD}`, ['first', 'second', 'third }{"']],
];

describe.for(DAMAGED)('a line with %s', ([, line, texts]) => {
  test('shows and sends each whole record once', () => {
    const { state, diagnostics } = parseTranscript('claude-sdk', `${line}\n`);
    expect(state.blocks.map((block) => ('content' in block ? block.content : block.type))).toEqual(texts);
    expect(diagnostics.problems).toHaveLength(1);
    expect(transcriptToMessages('claude-sdk', `${line}\n`)).toHaveLength(texts.length);
  });

  test('is found by the words of each whole record', () => {
    expect(recordTexts(line).map(({ text }) => text)).toEqual(texts);
  });
});

test('records of Codex on one line are read each, from a text and from a file', async () => {
  const [meta, ...rest] = new RolloutBuilder().prompt('Go').says('Hi').prompt('More').text.trimEnd().split('\n');
  const whole = [meta, ...rest].join('\n');
  const glued = `${meta}\n${rest.join('')}\n`;
  const blocks = (text: string): unknown =>
    parseTranscript('codex', text).state.blocks.map((block) => ('content' in block ? block.content : block.type));
  expect(blocks(glued)).toEqual(['Go', 'Hi', 'More']);
  expect(blocks(glued)).toEqual(blocks(`${whole}\n`));
  expect(blocks(glued.trimEnd())).toEqual(blocks(glued));
  const root = folder();
  const path = 'sessions/2026/01/01/rollout-2026-01-01T00-00-00-01a1e3f5-a75d-7563-b1a6-cd3afdc47c2b.jsonl';
  write(root, { [path]: glued });
  let state = createConversationState();
  for await (const events of readTranscript(join(root, path)).batches())
    state = reduceConversationEvents(state, events);
  expect(state.blocks).toEqual(parseTranscript('codex', glued).state.blocks);
  expect(await findTranscripts(root)).toMatchObject([{ title: 'Go', messages: 3 }]);
});

test('a search counts each message of a line, and no text that looks like the start of a record', async () => {
  const root = folder();
  const escaped = claude(3, `}{"parentUuid":null} and }{"type":"user"}`);
  write(root, { 'project/s1.jsonl': `${FIRST}${SECOND}\n${THIRD}\n${escaped}\n` });
  expect(await findTranscripts(root)).toMatchObject([{ messages: 4 }]);
});

test('objects behind a torn record are records only if they name a session or have a payload', () => {
  const torn = '{"parentUuid":"x","message":{"content":[{"type":"text","text":"';
  expect(parseDamaged(torn.repeat(10_000))).toBeUndefined();
  expect(parseDamaged(`${torn}{"type":"b"} {"type":"c","sessionId":"s"}`)?.records).toEqual([
    { type: 'c', sessionId: 's' },
  ]);
  expect(parseDamaged(`${'{"type":"b"} '.repeat(10_000)}${FIRST}`)?.records).toHaveLength(2);
});
