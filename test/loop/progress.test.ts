import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MAX_PROGRESS_LENGTH } from '../../src/core/log/progress.ts';
import {
  type AnyTool,
  type CallState,
  type EvaluationEvent,
  isToolProgress,
  type Model,
  type ModelPart,
  memoryStore,
  openSession,
  readCallProgress,
  type Store,
  type ToolContext,
} from '../../src/index.ts';
import { sqliteStore } from '../../src/sqlite.ts';
import type { Agent } from './agent.ts';
import { uploader } from './progress-agent.ts';
import { type Reporting, reporting, reports, written } from './reporting-agent.ts';

/** Progress of running tools (D62). */

const STORES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore(database())],
];

function database(): string {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-progress-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'agent.db');
}

/** A model that streams no deltas, so that no draft of a response is written. */
const atOnce: Model = {
  provider: 'test',
  modelId: 'at-once',
  async *stream({ turn }): AsyncGenerator<ModelPart> {
    const toolCalls = turn === 1 ? [{ callId: 'c1', name: 'work', arguments: '{}' }] : [];
    yield { type: 'finish', response: { content: [{ type: 'text', text: 'done' }], toolCalls } };
  },
};

async function onlyCall({ session }: Agent): Promise<CallState> {
  await session.refresh();
  const evaluation = session.state.record.evaluations.items.at(-1);
  const [open] = evaluation?.calls ?? [];
  if (!open) throw new Error('no call');
  return open;
}

test('D62: listeners receive each report at once, and the provider receives none', async () => {
  const made = await reporting((_, ctx: ToolContext) => {
    ctx.progress('one\n');
    ctx.progress({ text: 'two\n', percent: 250, data: { file: 'a' } });
    ctx.progress({ percent: 3 });
    ctx.progress({});
    return 'ok';
  });
  await made.evaluate();
  expect(reports(made.events)).toEqual([
    { text: 'one\n', percent: undefined, data: undefined, offset: 0 },
    { text: 'two\n', percent: 100, data: { file: 'a' }, offset: 4 },
    { text: '', percent: 3, data: undefined, offset: 8 },
  ]);
  expect(made.events.find(isToolProgress)).toMatchObject({
    type: 'tool/progress',
    conversationId: 'main',
    turn: 1,
    callId: 'c1',
    attempt: 1,
    toolName: 'work',
  });
  expect(JSON.stringify(made.requests)).not.toContain('two');
  expect(Object.isFrozen(made.events.filter(isToolProgress)[1]?.data)).toBe(true); // the draft refers to it, too
});

test.for(STORES)(
  'D62: a running call’s progress is read through another handle, and ends with its result (%s)',
  async ([, open]) => {
    const store = await open();
    let readWhile: unknown;
    const made: Reporting = await reporting(
      async (_, ctx: ToolContext) => {
        ctx.progress('one\n');
        await written(made);
        ctx.progress({ text: 'two\n', percent: 40, data: [1] });
        await written(made);
        const other = await openSession({ store, id: 'session' });
        readWhile = await readCallProgress(other, await onlyCall({ ...made, session: other }));
        return 'ok';
      },
      { store },
    );
    await made.evaluate();
    expect(readWhile).toEqual({ text: 'one\ntwo\n', percent: 40, data: [1] });
    expect(await store.readDraft('session')).toEqual([]);
  },
);

test.for(STORES)(
  'D62: 5 MB of progress leave at most 64 kB in the store, the newest, and nothing in the log (%s)',
  async ([, open]) => {
    const store = await open();
    let stored = 0;
    let newest = '';
    const made: Reporting = await reporting(
      async (_, ctx: ToolContext) => {
        for (let i = 0; i < 5000; i++) {
          ctx.progress(`${String(i).padStart(1023, '.')}\n`);
          if (i % 500 === 0) await written(made);
        }
        await written(made);
        ctx.progress('last');
        await written(made);
        const chunks = await store.readDraft('session');
        stored = chunks.reduce((sum, { delta }) => sum + delta.length, 0);
        newest = (await readCallProgress(made.session, await onlyCall(made)))?.text ?? '';
        return 'ok';
      },
      { store },
    );
    await made.evaluate();
    expect(stored).toBeLessThanOrEqual(MAX_PROGRESS_LENGTH);
    expect(newest.length).toBeGreaterThan(MAX_PROGRESS_LENGTH / 2);
    expect(newest.endsWith('4999\nlast')).toBe(true);
    let log = '';
    for await (const event of made.session.events()) log += JSON.stringify(event);
    expect(log.length).toBeLessThan(10_000);
  },
);

test('D62: reports between two writes are written together', async () => {
  const store = memoryStore();
  const appendDraft = vi.spyOn(store, 'appendDraft');
  const made: Reporting = await reporting(
    async (_, ctx: ToolContext) => {
      for (let i = 0; i < 1000; i++) ctx.progress('x');
      await written(made);
      return 'ok';
    },
    { store },
  );
  await made.evaluate();
  expect(appendDraft).toHaveBeenCalledTimes(1);
  expect(appendDraft.mock.calls[0]?.[1]).toHaveLength(1);
});

test('D62: a tool that reports nothing sets no timer and writes no draft', async () => {
  const store = memoryStore();
  const appendDraft = vi.spyOn(store, 'appendDraft');
  const append = vi.spyOn(store, 'append');
  const timers = async (execute: AnyTool['execute']): Promise<number> => {
    const made = await reporting(execute, { store, script: atOnce });
    const after = vi.spyOn(made.clock, 'after');
    await made.evaluate({ onEvent: () => {} });
    return after.mock.calls.length;
  };
  const silent = await timers(() => 'ok');
  expect(appendDraft).not.toHaveBeenCalled();
  expect(append.mock.calls.some(([, , options]) => options.endsDrafts)).toBe(false);
  expect(await timers((_, ctx: ToolContext) => ctx.progress('x'))).toBe(silent + 1);
});

test("D62: the progress of a killed process's call is readable until a person has settled the call", async () => {
  const path = database();
  const child = promisify(execFile)(process.execPath, [join(import.meta.dirname, 'progress-child.ts'), path]);
  await expect(child).rejects.toMatchObject({ signal: 'SIGKILL' });
  const store = await sqliteStore(path);
  const session = await openSession({ store, id: 'session' });
  const { adapter, prompt } = uploader(async () => 'never');
  expect(await adapter.evaluate(prompt, { session, resume: true })).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
  const [open] = session.pending();
  if (!open) throw new Error('no call');
  expect(await readCallProgress(session, open)).toEqual({ text: 'part 1 of 2\n', percent: 50 });
  await session.settle(open, { result: 'it is there' });
  expect(await readCallProgress(session, open)).toBeDefined();
  expect(await adapter.evaluate(prompt, { session, resume: true })).toMatchObject({ status: 'completed' });
  expect(await readCallProgress(session, open)).toBeUndefined();
  expect(await store.readDraft('session')).toEqual([]);
  await store.close();
});

test('D62: the last progress before a suspension is stored', async () => {
  const made = await reporting(
    async (_, ctx: ToolContext) => {
      ctx.progress('begun');
      await new Promise(() => {});
    },
    { rest: { timeoutMs: 50 } },
  );
  const evaluating = made.evaluate();
  for (let i = 0; i < 20; i++) await setImmediate();
  made.clock.advance(50);
  expect(await evaluating).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
  expect(await readCallProgress(made.session, await onlyCall(made))).toEqual({ text: 'begun' });
});

test("D62: reconcile continues the handler's progress; a handler that runs again replaces it", async () => {
  let seen: (string | undefined)[] = [];
  const look = async (): Promise<void> => {
    await written(made);
    seen = [...seen, (await readCallProgress(made.session, await onlyCall(made)))?.text];
  };
  let runs = 0;
  const made: Reporting = await reporting(
    async (_, ctx: ToolContext) => {
      ctx.progress(`run ${++runs}\n`);
      await look();
      if (runs === 1) await new Promise(() => {});
      return 'ok';
    },
    {
      rest: {
        timeoutMs: 1000,
        reconcile: async (_: unknown, ctx: ToolContext) => {
          ctx.progress('looking\n');
          await look();
          return { happened: 'unknown' as const };
        },
        compensate: async (_: unknown, ctx: ToolContext) => {
          ctx.progress('undoing\n');
          await look();
        },
      },
    },
  );
  const evaluating = made.evaluate();
  await vi.waitFor(() => expect(seen).toHaveLength(1));
  made.clock.advance(1000);
  await vi.waitFor(() => expect(seen).toHaveLength(2));
  expect(await evaluating).toMatchObject({ reason: 'TOOL_OUTCOME_UNKNOWN' });
  await made.session.settle(await onlyCall(made), { rerun: true });
  await made.evaluate({ resume: true });
  expect(seen).toEqual(['run 1\n', 'run 1\nlooking\n', 'run 1\nlooking\nundoing\n', 'run 2\n']);
});

test('D62: superseding an evaluation removes the progress of its calls', async () => {
  let runs = 0;
  const made = await reporting(
    async (_, ctx: ToolContext) => {
      if (++runs > 1) return 'ok';
      ctx.progress('begun');
      return new Promise(() => {});
    },
    { rest: { timeoutMs: 50 } },
  );
  const evaluating = made.evaluate();
  for (let i = 0; i < 20; i++) await setImmediate();
  made.clock.advance(50);
  await evaluating;
  expect(await made.store.readDraft('session')).toHaveLength(1);
  await made.evaluate({ input: 'Something else.' });
  expect(await made.store.readDraft('session')).toEqual([]);
});

test("D62: erasing the message of a running call removes the call's progress", async () => {
  const made: Reporting = await reporting(
    async (_, ctx: ToolContext) => {
      ctx.progress('secret');
      await written(made);
      const asked = made.session.state.record.messages.toArray().at(-1);
      await made.session.eraseMessage(asked?.id ?? '');
      ctx.progress('more');
      await written(made);
      return 'ok';
    },
    { rest: { effect: 'read' } },
  );
  await made.evaluate();
  expect(await made.store.readDraft('session')).toEqual([]);
});

describe('a tool is not affected by', () => {
  test.for([
    ['a number', 5],
    ['nothing', undefined],
    ['a list', ['x']],
    ['a percentage that is no number', { percent: Number.NaN }],
    ['a text that is no text', { text: 7 }],
    ['data that contains itself', { data: circular() }],
    ['data that is a function', { data: () => 1 }],
    ['data that is too long', { data: 'x'.repeat(20_000) }],
  ] as const)('D62: %s, which is ignored with a warning', async ([, report]) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const made = await reporting((_, ctx: ToolContext) => {
      ctx.progress(report as never);
      ctx.progress(report as never);
      return 'ok';
    });
    expect(await made.evaluate()).toMatchObject({ status: 'completed', text: 'done' });
    expect(reports(made.events)).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0]?.[0]).toMatch(/^ctx.progress of "work" was ignored: /);
  });

  test('D62: a listener that throws', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const made = await reporting((_, ctx: ToolContext) => {
      ctx.progress('x');
      return 'ok';
    });
    const onEvent = (event: EvaluationEvent): void => {
      if (isToolProgress(event)) throw new Error('listener');
    };
    expect(await made.evaluate({ onEvent })).toMatchObject({ status: 'completed' });
  });

  test('D62: a report after the call has ended, which is ignored', async () => {
    let late: ToolContext['progress'] | undefined;
    const made = await reporting((_, ctx: ToolContext) => {
      late = ctx.progress;
      ctx.progress('in time');
      return 'ok';
    });
    await made.evaluate();
    late?.('late');
    expect(reports(made.events)).toHaveLength(1);
    expect(await made.store.readDraft('session')).toEqual([]);
  });

  test('D62: a store that cannot write drafts', async () => {
    const store = memoryStore();
    store.appendDraft = () => Promise.reject(new Error('full'));
    const made: Reporting = await reporting(
      async (_, ctx: ToolContext) => {
        ctx.progress('x');
        await written(made);
        return 'ok';
      },
      { store },
    );
    expect(await made.evaluate()).toMatchObject({ status: 'completed' });
  });
});

function circular(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}
