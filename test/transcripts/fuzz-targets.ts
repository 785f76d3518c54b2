/**
 * Damaged transcripts and streams of every agent, made of the lines of real ones. The table has an entry for each format in
 * `transcript-formats.ts`: a new format does not compile without its fixtures here.
 */
import type { ConversationEvent } from '../../src/conversation/events.ts';
import { isConversationEvent } from '../../src/conversation/is-conversation-event.ts';
import type { Architecture } from '../../src/transcripts/agent-names.ts';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import { codexStreamConverter } from '../../src/transcripts/codex/stream-converter.ts';
import { openCodeStreamConverter } from '../../src/transcripts/opencode/stream-converter.ts';
import { transcriptToEvents, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import type { RawTranscript } from '../../src/transcripts/raw-transcript.ts';
import type { StreamConverter } from '../../src/transcripts/stream-converter.ts';
import type { Random } from '../support/random.ts';
import { CODEX_LINES, CODEX_STREAM, RolloutBuilder, threadId } from './codex-fixtures.ts';
import { type Line, stateOf, textOfLines } from './fixtures.ts';
import {
  CLAUDE_LINES,
  CLAUDE_STREAM,
  damageOrder,
  mutateText,
  mutateValue,
  OPENCODE_MESSAGES,
  OPENCODE_STREAM,
  pick,
  someLines,
} from './mutations.ts';
import { refusals } from './refusals.ts';

/** How the inputs of one format are made. */
interface FuzzTarget {
  transcript(random: Random): RawTranscript;
  /** The agent's live stream, where there is a converter for it. */
  readonly stream?: { readonly converter: () => StreamConverter; readonly messages: readonly Line[] };
}

export const FUZZ_TARGETS: { readonly [A in Architecture]: FuzzTarget } = {
  'claude-sdk': {
    transcript(random) {
      const main = damagedText(random, CLAUDE_LINES);
      if (random() < 0.5) return main;
      const meta = mutateValue(random, { toolUseId: 't' });
      const thread = { id: pick(random, ['agent-x', 'main', '']), transcript: damagedText(random, CLAUDE_LINES), meta };
      return { main, subagents: random() < 0.6 ? [thread] : [] };
    },
    stream: { converter: claudeStreamConverter, messages: CLAUDE_STREAM },
  },
  codex: {
    transcript(random) {
      const meta = random() < 0.5 ? new RolloutBuilder({ id: threadId(1) }).text : '';
      const main = `${meta}${damagedText(random, CODEX_LINES)}`;
      return random() < 0.5
        ? main
        : { main, subagents: [{ id: threadId(2), transcript: damagedText(random, CODEX_LINES) }] };
    },
    stream: { converter: codexStreamConverter, messages: CODEX_STREAM },
  },
  opencode: {
    transcript(random) {
      const main = damagedExport(random);
      return random() < 0.6 ? main : { main, subagents: [{ id: 'ses_2', transcript: damagedExport(random) }] };
    },
    stream: { converter: openCodeStreamConverter, messages: OPENCODE_STREAM },
  },
};

/** The names of the formats. */
export const ARCHITECTURES = Object.keys(FUZZ_TARGETS) as readonly Architecture[];

/** Converts one damaged transcript to events and to messages; throws when a conversation or a request of them would not be valid. */
export function fuzzTranscript(architecture: Architecture, random: Random): void {
  checkTranscript(architecture, random, FUZZ_TARGETS[architecture].transcript(random));
}

/** Converts a transcript, and checks what comes of it. */
export function checkTranscript(architecture: Architecture, random: Random, raw: RawTranscript): void {
  checkState(transcriptToEvents(architecture, raw).events);
  const messages = transcriptToMessages(architecture, raw, { from: pick(random, ['start', 'compaction']) });
  const refused = refusals(messages);
  if (refused.length > 0) throw new Error(`would be refused: ${JSON.stringify(refused)}`);
}

/** Converts one damaged stream; throws when its conversation is not valid. Does nothing for an agent without a converter. */
export function fuzzStream(architecture: Architecture, random: Random): void {
  const { stream } = FUZZ_TARGETS[architecture];
  if (stream === undefined) return;
  const converter = stream.converter();
  const events = damagedLines(random, stream.messages).flatMap((line) => converter.push(line));
  if (random() < 0.3) events.push(...converter.end(), ...converter.push(pick(random, stream.messages)));
  checkState([...events, ...converter.end(pick(random, [undefined, 'completed', 'interrupted', 'failed'] as const))]);
}

/** Checks what holds for every conversation that has ended. */
function checkState(events: readonly ConversationEvent[]): void {
  for (const event of events) if (!isConversationEvent(event)) throw new Error(`no event: ${JSON.stringify(event)}`);
  const state = stateOf(events);
  for (const thread of [state.blocks, ...state.subagents.map(({ blocks }) => blocks)]) {
    const ids = new Set<string>();
    for (const { id, status, type } of thread) {
      if (ids.has(id)) throw new Error(`two blocks ${id}`);
      ids.add(id);
      if (status === 'pending' && type !== 'subagent') throw new Error(`${type} ${id} never ended`);
    }
  }
  JSON.stringify(state); // no value in it is too deep for that
}

/** Some lines of a pool, whole or damaged, in their order or not. */
export function damagedLines(random: Random, pool: readonly Line[]): Line[] {
  const lines = someLines(random, pool, random() < 0.2 ? 40 : 5);
  return damageOrder(random, lines).map((line) => (random() < 0.3 ? (mutateValue(random, line) as Line) : line));
}

/** A text of such lines, itself whole or damaged: for a format of one JSON object a line. */
export function damagedText(random: Random, pool: readonly Line[]): string {
  const text = textOfLines(damagedLines(random, pool));
  return random() < 0.5 ? mutateText(random, text) : text;
}

function damagedExport(random: Random): string {
  const messages = damageOrder(random, someLines(random, OPENCODE_MESSAGES, 3));
  let damaged: unknown = { info: { id: 'ses_1' }, messages };
  for (let times = Math.floor(random() * 4); times > 0; times--) damaged = mutateValue(random, damaged);
  const text = JSON.stringify(damaged);
  return random() < 0.2 ? mutateText(random, text) : text;
}
