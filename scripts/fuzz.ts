/**
 * `npm run fuzz [-- --count <n>] [--seed <n>] [--from <n>] [--format <name>]`: converts damaged transcripts and streams of every format, and
 * exits with 1 when one throws, leaves a conversation open or gives a history that a provider would refuse.
 */
import { parseArgs } from 'node:util';
import { randomFrom, SEED, seedOf } from '../test/support/random.ts';
import { ARCHITECTURES, fuzzStream, fuzzTranscript } from '../test/transcripts/fuzz-targets.ts';

const options = {
  count: { type: 'string' },
  seed: { type: 'string' },
  from: { type: 'string' },
  format: { type: 'string' },
} as const;
const { values } = parseArgs({ options });
const count = Number(values.count ?? 100_000);
const seed = Number(values.seed ?? SEED);
const from = Number(values.from ?? 0);
const formats = ARCHITECTURES.filter((name) => values.format === undefined || values.format === name);
if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(seed) || from < 0 || formats.length === 0) {
  console.error(`usage: npm run fuzz [-- --count <n>] [--seed <n>] [--from <n>] [--format ${ARCHITECTURES.join('|')}]`);
  process.exit(2);
}

/** Every fourth input is a stream. */
const KINDS = [fuzzTranscript, fuzzTranscript, fuzzTranscript, fuzzStream] as const;
const MAX_SHOWN = 20;
const STEP = 10_000;
const start = performance.now();
let failures = 0;
console.log(`fuzz: ${count} inputs of ${formats.join(', ')}, seed ${seed}`);
for (let index = from; index < from + count; index++) {
  const format = formats[index % formats.length] ?? 'claude-sdk';
  const run = KINDS[Math.floor(index / formats.length) % KINDS.length] ?? fuzzTranscript;
  try {
    run(format, randomFrom(seedOf(seed, index)));
  } catch (error) {
    failures++;
    if (failures <= MAX_SHOWN)
      console.error(`${format}, ${run.name}, --seed ${seed} --from ${index} --count 1:`, error);
  }
  const done = index - from + 1;
  if (done % STEP === 0) {
    const perSecond = Math.round(done / ((performance.now() - start) / 1000));
    console.log(`${String(done).padStart(9)} inputs, ${failures} failures, ${perSecond} a second`);
  }
}
console.log(failures === 0 ? 'no input failed' : `${failures} inputs failed`);
process.exit(failures === 0 ? 0 : 1);
