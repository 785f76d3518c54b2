import { replayCuration } from '../src/history/inspect/replay-curation.ts';
import { slidingWindow } from '../src/history/managers/sliding-window.ts';
import { atLeast, atMost, type Figure, info, median, type Section } from './figure.ts';
import { type GrowingConversation, growingConversation } from './history/growing-conversation.ts';
import { runOurs, runPlain, runPrune, runTrim } from './history/window-runs.ts';

/**
 * The cost of curating, and its effect on the provider's prompt cache. Contestants alternate round by round, so that a busy moment of
 * the machine affects them all; the numbers are medians over the rounds.
 */

const NAME = 'history';
const LENGTH = 10_000;
const TRIM_LENGTH = 2_000;
const ROUNDS = 9;
/** How many of the requests the slow contestants make. */
const STRIDE = 50;

export const section: Section = {
  name: NAME,
  about: 'windows that keep the prompt cache warm, and what they cost',
  async *run() {
    yield* cacheFigures();
    const conversation = growingConversation(LENGTH);
    yield* speedFigures(conversation);
    yield flatFigure(conversation);
  },
};

/** 200 turns, at most 50 groups sent and at least 25 kept. */
function* cacheFigures(): Iterable<Figure> {
  const { ours } = growingConversation(2 + 2 * 200);
  const messages = [...ours, { ...(ours[2] as (typeof ours)[number]), id: 'last' }];
  const folding = replayCuration(messages, slidingWindow({ size: 48, low: 25 }));
  const groups = folding.requests.map((request) => request.messages().filter(({ role }) => role !== 'tool').length);
  const most = Math.max(...groups);
  const least = Math.min(...groups.slice(50));
  if (folding.requests.length !== 201 || most > 50 || least < 25) {
    throw new Error(`the folding window sent ${least} to ${most} groups in ${folding.requests.length} requests`);
  }
  const note = `${least} to ${most} groups sent, ${folding.totals.breaks} folds in 200 turns`;
  yield atLeast(
    NAME,
    'mean share of the previous request kept, folding window',
    folding.totals.meanPrefixKept,
    0.95,
    note,
  );
  const plain = replayCuration(messages, slidingWindow({ size: 50 }));
  yield info(
    NAME,
    'the same, plain sliding window of 50',
    plain.totals.meanPrefixKept,
    `${plain.totals.breaks} breaks`,
  );
}

async function* speedFigures(conversation: GrowingConversation): AsyncIterable<Figure> {
  const times = { ours: [] as number[], plain: [] as number[], prune: [] as number[], trim: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    // The fast ones run several times; the first round is for the compiler.
    const quick = [...Array(round < 0 ? 30 : 9).keys()].map(() => [runOurs(conversation), runPlain(conversation)]);
    const prune = runPrune(conversation, STRIDE);
    // The cost of a turn is assumed to grow at most linearly with the messages, which favours the extrapolated contestant.
    const trim = (await runTrim(conversation, TRIM_LENGTH, STRIDE)) * (LENGTH / TRIM_LENGTH) ** 2;
    if (round < 0) continue;
    times.ours.push(median(quick.map(([ours = 0]) => ours)));
    times.plain.push(median(quick.map(([, plain = 0]) => plain)));
    times.prune.push(prune);
    times.trim.push(trim);
  }
  const ours = median(times.ours);
  const against = (samples: readonly number[], note: string): readonly [number, string] => [
    median(samples) / ours,
    `${shown(median(samples))} against ${shown(ours)}; ${note}`,
  ];
  yield info(
    NAME,
    'microseconds a request, 10,000 messages, window 50',
    (ours * 1000) / (LENGTH / 2),
    'check and token estimate included',
  );
  const [trim, trimNote] = against(
    times.trim,
    `extrapolated from ${TRIM_LENGTH} messages, every ${STRIDE}th request made`,
  );
  yield atLeast(NAME, 'times faster than trimMessages of @langchain/core', trim, 500, trimNote);
  const [prune, pruneNote] = against(times.prune, `every ${STRIDE}th request made`);
  yield atLeast(NAME, 'times faster than pruneMessages of ai', prune, 30, pruneNote);
  const [plain, plainNote] = against(times.plain, 'which neither checks nor counts');
  yield atLeast(NAME, 'times faster than a plain window manager', plain, 2, plainNote);
}

/** The cost of a turn at 10,000 messages compared with 100: the same growing run, timed over its 50 turns from 100 and its last 50. */
function flatFigure(conversation: GrowingConversation): Figure {
  const early: number[] = [];
  const late: number[] = [];
  for (let round = 0; round < 40; round++) {
    let mark = 0;
    runOurs(conversation, (messages) => {
      if (messages === 100 || messages === LENGTH - 100) mark = performance.now();
      if (messages === 200) early.push(performance.now() - mark);
      if (messages === LENGTH) late.push(performance.now() - mark);
    });
  }
  const note = `${((median(late) * 1000) / 50).toFixed(2)} against ${((median(early) * 1000) / 50).toFixed(2)} microseconds`;
  return atMost(NAME, 'cost of a turn at 10,000 messages against 100', median(late) / median(early), 1.2, note);
}

function shown(milliseconds: number): string {
  return milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${milliseconds.toFixed(1)} ms`;
}
