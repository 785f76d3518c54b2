/** Transcripts: how fast a large one becomes a conversation, and how much memory a huge one takes. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SessionConversationState } from '../../src/conversation.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { loadTranscript } from '../../src/transcripts.ts';
import { atLeast, atMost, type Figure, info, median } from '../figure.ts';
import { type LargeTranscript, writeCopies, writeMostlyProgress } from './large-transcript.ts';
import { readToState } from './read-to-state.ts';

const SPEED_BYTES = 100_000_000;
const MEMORY_BYTES = 1_000_000_000;
const PROGRESS_SHARE = 0.95;
const ROUNDS = 5;
/** Blocks of the main conversation in one copy of the real session. */
const BLOCKS_PER_COPY = 412;

/** The figures of this part of the section. */
export async function* transcriptFigures(section: string): AsyncGenerator<Figure> {
  yield* inDirectory((directory) => speed(section, directory));
  yield* inDirectory((directory) => memory(section, directory));
}

/** Both ways of parsing 100 MB, compared with `JSON.parse` of every line over buffers. */
async function* speed(section: string, directory: string): AsyncGenerator<Figure> {
  const transcript = await writeCopies(directory, SPEED_BYTES);
  const buffers = await readAll(transcript);
  const { raw } = await loadTranscript(transcript.path);
  const samples = { floor: [] as number[], reading: [] as number[], parsing: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    const floor = await time(() => parseLines(buffers));
    const reading = await time(async () => check(await readToState(transcript.path), transcript));
    const parsing = await time(() => check(parseTranscript('claude-sdk', raw).state, transcript));
    if (round < 0) continue; // the first one warms up
    samples.floor.push(floor);
    samples.reading.push(reading);
    samples.parsing.push(parsing);
  }
  const megabytes = transcript.bytes / 1e6;
  const perSecond = (milliseconds: readonly number[]): number => megabytes / (median(milliseconds) / 1000);
  const share = (milliseconds: readonly number[]): number =>
    median(milliseconds.map((ms, round) => (samples.floor[round] ?? Number.NaN) / ms));
  const note = (milliseconds: readonly number[]): string =>
    `${Math.round(perSecond(milliseconds))} MB/s, the floor ${Math.round(perSecond(samples.floor))} MB/s`;
  yield atLeast(
    section,
    '100 MB Claude Code transcript from its files to state: speed against JSON.parse of its lines',
    share(samples.reading),
    0.6,
    note(samples.reading),
  );
  yield atLeast(section, 'the same from its text in memory', share(samples.parsing), 0.6, note(samples.parsing));
}

/** A process that reads 1 GB of which 95 % is progress, to state. */
async function* memory(section: string, directory: string): AsyncGenerator<Figure> {
  const transcript = await writeMostlyProgress(directory, MEMORY_BYTES, PROGRESS_SHARE);
  const script = join(import.meta.dirname, 'read-to-state.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, transcript.path]);
  const told = JSON.parse(stdout) as { megabytes: number; milliseconds: number; blocks: number };
  expectBlocks(told.blocks, transcript);
  const gigabytes = transcript.bytes / 1e9;
  yield atMost(
    section,
    'memory (MB) of a process that reads a 1 GB transcript, 95 % of it progress, to state',
    told.megabytes,
    300,
    `${gigabytes.toFixed(2)} GB`,
  );
  yield info(section, 'MB/s of that', transcript.bytes / 1000 / told.milliseconds);
}

/** The lower limit for any parser that reads every line. */
function parseLines(buffers: readonly Buffer[]): number {
  let lines = 0;
  for (const buffer of buffers) {
    for (let start = 0; start < buffer.length; ) {
      const newline = buffer.indexOf(10, start);
      const end = newline < 0 ? buffer.length : newline;
      if (end > start && JSON.parse(buffer.toString('utf8', start, end)) !== null) lines++;
      start = end + 1;
    }
  }
  return lines;
}

async function readAll({ path }: LargeTranscript): Promise<readonly Buffer[]> {
  const below = join(path.slice(0, -'.jsonl'.length), 'subagents');
  const names = await readdir(below);
  return await Promise.all([path, ...names.map((name) => join(below, name))].map((file) => readFile(file)));
}

function check(state: SessionConversationState, transcript: LargeTranscript): number {
  expectBlocks(state.blocks.length, transcript);
  if (state.subagents.length !== transcript.copies) throw new Error(`${state.subagents.length} subagents`);
  return state.blocks.length;
}

function expectBlocks(blocks: number, { copies }: LargeTranscript): void {
  if (blocks !== copies * BLOCKS_PER_COPY) throw new Error(`${blocks} blocks in ${copies} copies`);
}

async function time(work: () => unknown): Promise<number> {
  const start = performance.now();
  if ((await work()) === undefined) throw new Error('a contestant returned nothing');
  return performance.now() - start;
}

/** Runs a function on its own folder, which is removed afterwards. */
async function* inDirectory(body: (directory: string) => AsyncGenerator<Figure>): AsyncGenerator<Figure> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  try {
    yield* body(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
