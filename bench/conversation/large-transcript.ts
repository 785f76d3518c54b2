/** Claude Code sessions of any size, made of the lines of a real one with fresh ids. */
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { gunzipSync } from 'node:zlib';

const FIXTURES = join(import.meta.dirname, '../../test/fixtures/claude-code-2.1.38');
const SESSION = '4d5611e5-241a-462a-8d15-5122611a9569';
const AGENT = 'a2898e3';
/** The placeholder for ids that are new in each copy. */
const FRESH = '\u0001';

/** A session on disk, and its known content. */
export interface LargeTranscript {
  readonly path: string;
  readonly bytes: number;
  readonly copies: number;
}

/** Lines with placeholders for new ids. */
class Template {
  readonly bytes: number;
  readonly #parts: readonly string[];

  constructor(lines: readonly string[]) {
    const text = lines.map((line) => `${line}\n`).join('');
    this.bytes = Buffer.byteLength(text);
    this.#parts = text
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b/g, (id, rest: string) =>
        id === SESSION ? id : FRESH + rest,
      )
      .replaceAll('toolu_01', `toolu_${FRESH}`)
      .replaceAll('msg_01', `msg_${FRESH}`)
      .split(FRESH);
  }

  /** A copy with its own ids and its own days, for one agent: lines with equal times and texts would count as written twice. */
  copy(id: number, agent: number): string {
    const text = this.#parts.join(id.toString(16).padStart(8, '0')).replaceAll(AGENT, `${AGENT}${agent}`);
    return text.replaceAll(
      /"timestamp":"\d{4}-\d\d-(\d\d)T/g,
      (_, day: string) => `"timestamp":"${2026 + agent}-01-${day}T`,
    );
  }
}

function linesOf(name: string): readonly string[] {
  const text = gunzipSync(readFileSync(join(FIXTURES, `${name}.jsonl.gz`))).toString('utf8');
  return text.split('\n').filter((line) => line !== '');
}

const isProgress = (line: string): boolean => (JSON.parse(line) as { type: string }).type === 'progress';

/** Copies of the real session, each with its subagent's file, up to this many bytes. */
export async function writeCopies(directory: string, bytes: number): Promise<LargeTranscript> {
  const session = new Template(linesOf(SESSION));
  const agent = new Template(linesOf(`agent-${AGENT}`));
  const copies = Math.ceil(bytes / (session.bytes + agent.bytes));
  return await write(directory, copies, agent, (copy) => [session.copy(copy, copy)]);
}

/** This many bytes, of which this share is progress: a session with very active hooks. */
export async function writeMostlyProgress(directory: string, bytes: number, share: number): Promise<LargeTranscript> {
  const lines = linesOf(SESSION);
  const said = new Template(lines.filter((line) => !isProgress(line)));
  const progress = new Template(lines.filter((line) => isProgress(line) && !line.includes('"agent_progress"')));
  const agent = new Template(linesOf(`agent-${AGENT}`));
  const copies = Math.max(1, Math.round((bytes * (1 - share)) / said.bytes));
  const repeats = Math.round((bytes * share) / progress.bytes / copies);
  return await write(directory, copies, agent, function* (copy) {
    yield said.copy(copy, copy);
    for (let i = 0; i < repeats; i++) yield progress.copy(copies + copy * repeats + i, copy);
  });
}

async function write(
  directory: string,
  copies: number,
  agent: Template,
  textsOf: (copy: number) => Iterable<string>,
): Promise<LargeTranscript> {
  const below = join(directory, SESSION, 'subagents');
  await mkdir(below, { recursive: true });
  const path = join(directory, `${SESSION}.jsonl`);
  const file = createWriteStream(path);
  let bytes = 0;
  for (let copy = 0; copy < copies; copy++) {
    const subagent = agent.copy(copy, copy);
    await writeFile(join(below, `agent-${AGENT}${copy}.jsonl`), subagent);
    bytes += Buffer.byteLength(subagent);
    for (const text of textsOf(copy)) {
      bytes += Buffer.byteLength(text);
      if (!file.write(text)) await once(file, 'drain');
    }
  }
  file.end();
  await finished(file);
  return { path, bytes, copies };
}
