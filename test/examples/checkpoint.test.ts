/** A conversation in a file: saved after each step, resumed in another process, by hand and with a main loop. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  type CheckpointHandler,
  createAdapter,
  definePrompt,
  type EvaluationResponse,
  MainLoop,
  type Prompt,
  type ProviderAdapter,
} from '../../src/evaluate.ts';
import {
  type AnySession,
  defineTool,
  memoryStore,
  openSession,
  parseSnapshot,
  type Snapshot,
  scriptedModel,
  type ToolContext,
  textOf,
  toOpenAIChat,
} from '../../src/index.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-checkpoint-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

async function saveCheckpoint(session: AnySession, path: string): Promise<void> {
  await writeFile(path, JSON.stringify(session.snapshot()));
}

async function resumeFrom(
  adapter: ProviderAdapter,
  prompt: Prompt<unknown>,
  path: string,
): Promise<EvaluationResponse<unknown>> {
  const session = await openSession({ store: memoryStore(), id: 'resumed' });
  await session.restore(parseSnapshot(await readFile(path, 'utf8')));
  if (!session.latestEvaluation()) throw new Error('No conversation state in checkpoint');
  return adapter.evaluate(prompt, { session, resume: true });
}

const script = [
  { text: 'Reading.', toolCalls: [{ name: 'read_file', arguments: { path: 'a.ts' }, id: 'c1' }] },
  { toolCalls: [{ name: 'write_file', arguments: { path: 'a.ts' }, id: 'c2' }] },
  'Reviewed.',
];

/** A disk that counts writes. A write is stored with its call, so that repeating the call returns the first result. */
class Disk {
  writes = 0;
  readonly #executed = new Map<string, string>();
  /** Called within a write. */
  onWrite: (context: ToolContext) => unknown = () => {};

  prompt(): Prompt {
    const input = z.object({ path: z.string() });
    return definePrompt({
      ns: 'reviews',
      key: 'code-review',
      instructions: 'Review the code.',
      tools: [
        defineTool({ name: 'read_file', description: 'Read', input, effect: 'read', execute: () => 'const a = 1;' }),
        defineTool({
          name: 'write_file',
          description: 'Write',
          input,
          effect: 'idempotent',
          execute: async ({ path }, context) => {
            const known = this.#executed.get(context.idempotencyKey);
            if (known !== undefined) return known;
            this.writes++;
            const result = `wrote ${path}, resumed: ${context.isResume}`;
            this.#executed.set(context.idempotencyKey, result);
            await this.onWrite(context);
            return result;
          },
        }),
      ],
    });
  }
}

const adapter = (): ProviderAdapter => createAdapter({ model: scriptedModel(script) });

test('a session that was saved as JSON is resumed from the file', async () => {
  const disk = new Disk();
  const path = join(dir, 'checkpoint.json');
  const session = await openSession({ store: memoryStore(), id: 'first' });
  const dead = Promise.withResolvers<void>();
  disk.onWrite = async () => {
    await saveCheckpoint(session, path);
    dead.resolve();
    return new Promise(() => {}); // as if the process were killed here
  };
  void adapter().evaluate(disk.prompt(), { session, input: 'Review a.ts.' });
  await dead.promise;
  const next = new Disk();
  expect(await resumeFrom(adapter(), next.prompt(), path)).toMatchObject({ text: 'Reviewed.', turns: 3 });
  expect(next.writes).toBe(1); // another disk, without the call
});

test("a checkpoint without a conversation is rejected by the caller's own check", async () => {
  const path = join(dir, 'checkpoint.json');
  await saveCheckpoint(await openSession({ store: memoryStore(), id: 'empty' }), path);
  await expect(resumeFrom(adapter(), new Disk().prompt(), path)).rejects.toThrow('No conversation state');
});

test('a damaged checkpoint and another prompt are typed errors', async () => {
  expect(() => parseSnapshot('{"slices": []}')).toThrow(expect.objectContaining({ code: 'SNAPSHOT_INVALID' }));
  const session = await openSession({ store: memoryStore(), id: 's' });
  await adapter().evaluate(new Disk().prompt(), { session, input: 'Review.' });
  const other = definePrompt({ ns: 'reviews', key: 'other', instructions: 'Review the code.' });
  const evaluationId = session.latestEvaluation()?.id ?? '';
  await expect(adapter().evaluate(other, { session, resume: { evaluationId } })).rejects.toMatchObject({
    code: 'PROMPT_MISMATCH',
  });
});

interface ReviewRequest {
  readonly id: string;
}

class FileCheckpointHandler implements CheckpointHandler<ReviewRequest> {
  readonly #path = ({ id }: ReviewRequest): string => join(dir, `${id}.json`);

  async load(request: ReviewRequest): Promise<string | undefined> {
    return readFile(this.#path(request), 'utf8').catch(() => undefined);
  }

  async save(request: ReviewRequest, snapshot: Snapshot): Promise<void> {
    await writeFile(this.#path(request), JSON.stringify(snapshot));
  }

  async clear(request: ReviewRequest): Promise<void> {
    await rm(this.#path(request), { force: true });
  }
}

test('a main loop loads, saves after each turn, and clears at the end', async () => {
  const disk = new Disk();
  const loopOn = (): MainLoop<ReviewRequest> =>
    new MainLoop<ReviewRequest>({
      adapter: adapter(),
      checkpoints: new FileCheckpointHandler(),
      prepare: () => ({ prompt: disk.prompt(), input: 'Review a.ts.' }),
    });
  const dead = Promise.withResolvers<void>();
  disk.onWrite = () => {
    dead.resolve();
    return new Promise(() => {});
  };
  void loopOn().execute({ id: 'r1' });
  await dead.promise;
  expect(readdirSync(dir)).toEqual(['r1.json']);
  expect(await loopOn().execute({ id: 'r1' })).toMatchObject({ text: 'Reviewed.' });
  expect(disk.writes).toBe(1); // the repeated call returned the first result
  expect(readdirSync(dir)).toEqual([]);
});

test("every evaluation is recorded, and readable as turns and in a provider's format", async () => {
  const session = await openSession({ store: memoryStore(), id: 's' });
  await adapter().evaluate(new Disk().prompt(), { session, input: 'Review a.ts.' });
  const evaluation = session.latestEvaluation();
  expect(evaluation).toMatchObject({ promptNs: 'reviews', promptKey: 'code-review', status: 'completed' });
  const turns = session.turns({ evaluationId: evaluation?.id });
  expect(turns.map(({ turnNumber, toolMessages }) => [turnNumber, toolMessages.map(textOf)])).toEqual([
    [1, ['const a = 1;']],
    [2, ['wrote a.ts, resumed: false']],
    [3, []],
  ]);
  expect(toOpenAIChat(session.messages({ evaluationId: evaluation?.id })).slice(0, 4)).toEqual([
    { role: 'system', content: 'Review the code.' },
    { role: 'user', content: 'Review a.ts.' },
    {
      role: 'assistant',
      content: 'Reading.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a.ts"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'const a = 1;' },
  ]);
});
