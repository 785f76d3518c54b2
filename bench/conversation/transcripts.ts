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
import { parseLines } from './parse-lines.ts';
import { readToState } from './read-to-state.ts';

const SPEED_BYTES = 100_000_000;
const MEMORY_BYTES = 1_000_000_000;
const PROGRESS_SHARE = 0.95;
const ROUNDS = 5;
const FRESH_ROUNDS = 9;
/** Blocks of the main conversation in one copy of the real session. */
const BLOCKS_PER_COPY = 401;

/** The figures of this part of the section. */
export async function* transcriptFigures(section: string): AsyncGenerator<Figure> {
  yield* inDirectory((directory) => speed(section, directory));
  yield* inDirectory((directory) => memory(section, directory));
}

/** Both ways of parsing 100 MB, compared with `JSON.parse` of every line over buffers. */
async function* speed(section: string, directory: string): AsyncGenerator<Figure> {
  const transcript = await writeCopies(directory, SPEED_BYTES);
  yield* fresh(section, transcript);
  const buffers = await Promise.all((await filesOf(transcript)).map((file) => readFile(file)));
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

/** The same in processes of their own, from the files: nothing is compiled, and nothing in memory. */
async function* fresh(section: string, transcript: LargeTranscript): AsyncGenerator<Figure> {
  const files = await filesOf(transcript);
  const ratios: number[] = [];
  for (let round = 0; round < FRESH_ROUNDS; round++) {
    const floor = await inProcess('parse-lines.ts', ...files);
    const reading = await inProcess('read-to-state.ts', transcript.path);
    expectBlocks(reading.blocks ?? 0, transcript);
    ratios.push(floor.milliseconds / reading.milliseconds);
  }
  const figure = '100 MB Claude Code transcript from its files to state, in a fresh process: speed against JSON.parse';
  yield atLeast(
    section,
    figure,
    median(ratios),
    0.6,
    `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
  );
}

/** A process that reads 1 GB of which 95 % is progress, to state. */
async function* memory(section: string, directory: string): AsyncGenerator<Figure> {
  const transcript = await writeMostlyProgress(directory, MEMORY_BYTES, PROGRESS_SHARE);
  const told = await inProcess('read-to-state.ts', transcript.path);
  expectBlocks(told.blocks ?? 0, transcript);
  const gigabytes = transcript.bytes / 1e9;
  yield atMost(
    section,
    'memory (MB) of a process that reads a 1 GB transcript, 95 % of it progress, to state',
    told.megabytes ?? Number.NaN,
    300,
    `${gigabytes.toFixed(2)} GB`,
  );
  yield info(section, 'MB/s of that', transcript.bytes / 1000 / told.milliseconds);
}

async function filesOf({ path }: LargeTranscript): Promise<readonly string[]> {
  const below = join(path.slice(0, -'.jsonl'.length), 'subagents');
  const names = await readdir(below);
  return [path, ...names.map((name) => join(below, name))];
}

/** Runs a script of this folder in a process of its own; returns what it prints. */
async function inProcess(script: string, ...files: readonly string[]): Promise<Told> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, script), ...files]);
  return JSON.parse(stdout) as Told;
}

interface Told {
  readonly milliseconds: number;
  readonly megabytes?: number;
  readonly blocks?: number;
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
