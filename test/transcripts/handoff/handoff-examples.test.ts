/** Written transcripts have the form of minimal ones that the real agents resumed (`test/fixtures/handoff-examples`). */
import { expect, test } from 'vitest';
import type { ConversationMessage } from '../../../src/core/log/messages.ts';
import { transcriptToMessages } from '../../../src/transcripts/parse-transcript.ts';
import { fixture, type Line, linesOf } from '../fixtures.ts';
import { readRollout, shownInCodex } from './read-rollout.ts';
import { saidItems } from './said-items.ts';
import { build } from './written.ts';

const CLAUDE = fixture('handoff-examples', 'claude-code', 'a8ac3656-838f-4382-8c8f-7f2f67e9743c.jsonl');
const CODEX = fixture(
  ...['handoff-examples', 'codex', 'rollout-2026-01-01T00-00-00-019b76da-a800-7c88-84f5-e1cce585454b.jsonl'],
);
const OPENCODE = fixture('handoff-examples', 'opencode', 'import.json');

const said: readonly ConversationMessage[] = transcriptToMessages('claude-sdk', CLAUDE);

/** A value with the types of its ids and times instead of themselves, and without a list of fields. */
function formOf(value: unknown, without: ReadonlySet<string> = new Set()): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => formOf(item, without));
  const fields = Object.entries(value).filter(([name]) => !without.has(name));
  return Object.fromEntries(
    fields.map(([name, field]) => [name, VARIES.has(name) ? typeof field : formOf(field, without)]),
  );
}

const VARIES = new Set([
  ...['uuid', 'timestamp', 'sessionId', 'id', 'call_id', 'tool_use_id', 'turn_id', 'cwd', 'root', 'directory'],
  ...['sessionID', 'messageID', 'parentID', 'callID', 'created', 'updated', 'completed', 'start', 'end'],
]);

test("Claude Code's lines have the fields and contents of the example", () => {
  const { content } = build(said, 'claude-sdk', { model: 'handoff' });
  const form = (line: Line): unknown => ({ ...(formOf(line) as Line), parentUuid: typeof line.parentUuid });
  expect(linesOf(content).map(form)).toEqual(linesOf(CLAUDE).map(form));
  const lines = linesOf(content);
  expect(lines.map(({ parentUuid }) => parentUuid)).toEqual([null, ...lines.slice(0, -1).map(({ uuid }) => uuid)]);
});

test("Codex's lines have the fields and contents of the example", () => {
  const { content } = build(said, 'codex');
  expect(linesOf(content).map((line) => formOf(line))).toEqual(linesOf(CODEX).map((line) => formOf(line)));
  expect(readRollout(content)).toMatchObject(saidItems(said));
  expect(shownInCodex(content)).toEqual(shownInCodex(CODEX));
});

test("OpenCode's session has the fields and contents of the example", () => {
  const { content } = build(said, 'opencode', { model: 'fake/fake-model' });
  // Texts that only its screen shows, and tools that the example names in OpenCode's way.
  const free = new Set(['title', 'tool']);
  expect(formOf(JSON.parse(content), free)).toEqual(formOf(JSON.parse(OPENCODE), free));
});
