/** Conversation state: the cost of reducing, streaming into a long conversation, and transcripts of any size. */
import {
  type ConversationEvent,
  createConversationState,
  reduceConversation,
  reduceConversationEvents,
  type SessionConversationState,
} from '../src/conversation.ts';
import { type LiteralState, literalReducer } from './conversation/literal-reducer.ts';
import { type ReactChat, reactChat } from './conversation/react-chat.ts';
import { deltasFor, longConversation, sessionEvents } from './conversation/session-events.ts';
import { transcriptFigures } from './conversation/transcripts.ts';
import { atLeast, atMost, type Figure, info, median, type Section } from './figure.ts';

const SECTION = 'conversation';
const ROUNDS = 11;

export const section: Section = {
  name: SECTION,
  about: 'the reducer against JSON.parse, the document’s own reducer and the AI SDK’s chat state; large transcripts',
  async *run() {
    yield* reducing();
    yield* streaming();
    yield* transcriptFigures(SECTION);
  },
};

/** The milliseconds of `work`. Its return value is kept, so that it cannot be optimised away. */
function time(work: () => unknown): number {
  const start = performance.now();
  const result = work();
  const elapsed = performance.now() - start;
  if (result === undefined) throw new Error('a contestant returned nothing');
  return elapsed;
}

/** Runs the contestants alternately, round by round, so that a slow moment of the machine affects them all. */
function compare<K extends string>(contestants: Readonly<Record<K, () => unknown>>): Record<K, readonly number[]> {
  const names = Object.keys(contestants) as K[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<K, number[]>;
  for (let round = -2; round < ROUNDS; round++) {
    for (const name of names) {
      const elapsed = time(contestants[name]);
      if (round >= 0) samples[name].push(elapsed); // the first two warm up
    }
  }
  return samples;
}

/** The ratio of two costs, taken round by round. */
function ratio(one: readonly number[], other: readonly number[]): number {
  return median(one.map((ms, round) => ms / (other[round] ?? Number.NaN)));
}

function* reducing(): Iterable<Figure> {
  const lines = sessionEvents(50_000).map((event) => JSON.stringify(event));
  const parseAll = (): ConversationEvent[] => lines.map((line) => JSON.parse(line) as ConversationEvent);
  const events = parseAll();
  const oneByOne = (): SessionConversationState => events.reduce(reduceConversation, createConversationState());
  const inBatches = (): SessionConversationState => reduceConversationEvents(createConversationState(), events);
  const answer = JSON.stringify(oneByOne());
  same('a batch', JSON.stringify(inBatches()), answer);
  const { parse, each, batch } = compare({ parse: parseAll, each: oneByOne, batch: inBatches });
  const note = `${lines.length} events, ${Math.round(lines.join('\n').length / 1e5) / 10} MB; parse ${median(parse).toFixed(0)} ms`;
  yield atMost(
    SECTION,
    'reducing 50,000 parsed events, a state after each / JSON.parse of them',
    ratio(each, parse),
    1.2,
    note,
  );
  yield atMost(SECTION, 'reducing them as one batch / JSON.parse of them', ratio(batch, parse), 1.2);
}

const DELTAS = 40_000;

function streamOurs(start: SessionConversationState, deltas: readonly ConversationEvent[]): SessionConversationState {
  return deltas.reduce(reduceConversation, start);
}

function streamLiteral(start: LiteralState, deltas: readonly ConversationEvent[]): LiteralState {
  return deltas.reduce(literalReducer, start);
}

function streamReact(chat: ReactChat, deltas: readonly { readonly delta: string }[]): string {
  let messages: ReturnType<ReactChat['write']> = [];
  for (const { delta } of deltas) messages = chat.write(delta);
  const part = messages.at(-1)?.parts[0];
  return part?.type === 'text' ? part.text : '';
}

function* streaming(): Iterable<Figure> {
  const short = conversation(100);
  const long = conversation(10_000);
  const spread = deltasIntoMany(10_000);
  const spreadShort = deltasIntoMany(100);
  const few = long.deltas.slice(0, 300); // the input of the slow contestants
  const said = few.map(({ delta }) => delta).join('');
  const lastOf = (state: { readonly blocks: { at(i: number): unknown } }): string =>
    (state.blocks.at(-1) as { content: string }).content;
  same('our reducer', lastOf(streamOurs(long.ours, few)), said);
  same('the literal reducer', lastOf(streamLiteral(long.literal, few)), said);
  same('the React chat state', streamReact(reactChat(long.texts), few), said);
  same('our reducer at 100', lastOf(streamOurs(short.ours, short.deltas.slice(0, few.length))), said);

  const cost = compare({
    at100: () => streamOurs(short.ours, short.deltas),
    at10000: () => streamOurs(long.ours, long.deltas),
    spread100: () => streamOurs(spreadShort.state, spreadShort.deltas),
    spread10000: () => streamOurs(spread.state, spread.deltas),
  });
  const perDelta = (rounds: readonly number[], count = DELTAS): number => (median(rounds) * 1e6) / count;
  const ours = perDelta(cost.at10000);
  const note = `${ours.toFixed(0)} ns a delta at 10,000, ${perDelta(cost.at100).toFixed(0)} ns at 100`;
  yield atMost(SECTION, 'a streamed delta at 10,000 blocks / at 100', ratio(cost.at10000, cost.at100), 1.3, note);
  yield info(
    SECTION,
    'the same with deltas going to every block in turn',
    ratio(cost.spread10000, cost.spread100),
    `${perDelta(cost.spread10000).toFixed(0)} ns at 10,000`,
  );

  const chat = reactChat(long.texts);
  const peers = compare({
    literal: () => streamLiteral(long.literal, few),
    react: () => streamReact(chat, few),
  });
  const literal = perDelta(peers.literal, few.length);
  const react = perDelta(peers.react, few.length);
  yield atLeast(
    SECTION,
    'times faster than the document’s reducer at 10,000 blocks',
    literal / ours,
    60,
    `${(literal / 1000).toFixed(1)} µs a delta`,
  );
  yield atLeast(
    SECTION,
    'times faster than the AI SDK’s React chat state at 10,000 messages',
    react / ours,
    20,
    `${(react / 1000).toFixed(1)} µs a delta`,
  );
}

function conversation(count: number): {
  readonly ours: SessionConversationState;
  readonly literal: LiteralState;
  readonly texts: readonly string[];
  readonly deltas: ReturnType<typeof deltasFor>;
} {
  const events = longConversation(count);
  const ours = reduceConversationEvents(createConversationState(), events);
  const blocks = ours.blocks.toJSON();
  return {
    ours,
    literal: { blocks, subagents: [] },
    texts: blocks.map((block) => ('content' in block ? block.content : '')),
    deltas: deltasFor(`block_${count - 1}`, DELTAS),
  };
}

/** All blocks are streaming, and get deltas alternately. */
function deltasIntoMany(count: number): {
  readonly state: SessionConversationState;
  readonly deltas: readonly ConversationEvent[];
} {
  const events = longConversation(count).map(
    (event): ConversationEvent =>
      event.type === 'block:upsert' ? { ...event, block: { ...event.block, status: 'pending' } } : event,
  );
  const deltas = Array.from({ length: DELTAS }, (_, i): ConversationEvent => {
    const blockId = `block_${(i * 7919) % count}`;
    return {
      type: 'block:delta',
      conversationId: 'main',
      timestamp: '2026-01-01T00:00:00.000Z',
      blockId,
      delta: 'more ',
    };
  });
  return { state: reduceConversationEvents(createConversationState(), events), deltas };
}

function same(who: string, answer: string, expected: string): void {
  if (answer !== expected) throw new Error(`${who} gives another result: ${answer.slice(0, 80)} …`);
}
