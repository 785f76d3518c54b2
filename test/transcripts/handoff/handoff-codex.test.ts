/** Codex on both sides of a handover: its sessions written for every agent, and every agent's written for it, read by our own parser. */
import { describe, expect, test } from 'vitest';
import type { HandoffSource } from '../../../src/transcripts/handoff/handoff-source.ts';
import { parseTranscript, transcriptToMessages } from '../../../src/transcripts/parse-transcript.ts';
import { CODEX_CAPTURES, codexSession } from '../codex-fixtures.ts';
import { claudeSession, openCodeSession, realSession } from '../fixtures.ts';
import { type SaidItem, saidItems } from './said-items.ts';
import { build, TARGETS } from './written.ts';

type Transcript = Extract<HandoffSource, { readonly raw: unknown }>;

const CODEX: readonly (readonly [string, Transcript])[] = CODEX_CAPTURES.map((capture) => [
  `Codex ${capture.version}: ${capture.folder}, ${capture.place}`,
  { architecture: 'codex', raw: codexSession(capture) },
]);
const OTHERS: readonly (readonly [string, Transcript])[] = [
  ...['killmcp-both', 'long-6', 'nested', 'parallel', 'tools'].map(
    (name) => [`Claude Code: ${name}`, { architecture: 'claude-sdk', raw: claudeSession(name) }] as const,
  ),
  ['Claude Code: a long real session', { architecture: 'claude-sdk', raw: realSession() }],
  ...['serve-nested', 'serve-resume-kill', 'serve-tools'].map(
    (name) => [`OpenCode: ${name}`, { architecture: 'opencode', raw: openCodeSession(name) }] as const,
  ),
];

/** Items without the mark of a failed result, which a rollout does not hold, and without calls that a provider ran. */
function comparable(items: readonly SaidItem[]): readonly SaidItem[] {
  return items.flatMap((item): readonly SaidItem[] => {
    if ('result' in item) return item.text.startsWith('The provider ran this') ? [] : [{ ...item, isError: false }];
    return 'call' in item && item.name === 'web_search' ? [] : [item];
  });
}

const read = ({ architecture, raw }: Transcript): readonly SaidItem[] =>
  comparable(saidItems(transcriptToMessages(architecture, raw)));

describe('a session of Codex', () => {
  test.for(CODEX.flatMap(([name, source]) => TARGETS.map((to) => [name, to, source] as const)))(
    '%s, written for %s, has every text, call and result',
    ([, to, source]) => {
      expect(read({ architecture: to, raw: build(source, to).content })).toEqual(read(source));
    },
  );
});

describe('a session of another agent', () => {
  test.for(OTHERS)('%s, written for Codex, is read with every text, call and result', ([, source]) => {
    const { content } = build(source, 'codex');
    expect(read({ architecture: 'codex', raw: content })).toEqual(read(source));
    const { state, diagnostics } = parseTranscript('codex', content);
    expect(diagnostics.problems).toEqual([]);
    const shown = [...state.blocks].filter(({ type }) => type === 'user_message' || type === 'assistant_text').length;
    expect(shown).toBeGreaterThan(1);
  });
});
