import { appendFileSync, copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createAdapter, type EvaluationResponse } from '../../../../src/evaluate.ts';
import { type ModelRequest, openSession, type Session, scriptedModel, textOf } from '../../../../src/index.ts';
import type { SqliteStore } from '../../../../src/sqlite.ts';
import { openStore, temporaryDirectory } from '../temporary.ts';
import { MAX_INLINE_LENGTH, PARAMS, SCRIPTS, steps, workPrompt } from './agents.ts';
import type { StoreListing } from './store-listing.ts';

const FIXTURES = join(import.meta.dirname, '..', '..', '..', 'fixtures', 'databases');

export interface Expected extends StoreListing {
  /** Effects of tools before the fixture was finished: key, tool, path, attempt, isResume. */
  readonly effects: readonly string[];
}

/** What the version that wrote a fixture read from it. */
export function expectedOf(fixture: string): Expected {
  return JSON.parse(readFileSync(join(FIXTURES, fixture, 'expected.json'), 'utf8')) as Expected;
}

/** A copy of a fixture's database, removed after the test. */
export function copyOf(fixture: string): string {
  const path = join(temporaryDirectory(), 'store.db');
  copyFileSync(join(FIXTURES, fixture, 'store.sqlite'), path);
  return path;
}

/** One session of a copy, and the agent that resumes it. */
export interface Resumable {
  readonly store: SqliteStore;
  readonly session: Session<readonly [typeof steps]>;
  /** Every request to the model. */
  readonly requests: readonly ModelRequest[];
  /** Effects of tools since the copy was made, from the file that they write. */
  effects(): readonly string[];
  resume(): Promise<EvaluationResponse>;
  /** Starts an evaluation that continues the newest one. */
  continueWith(input: string): Promise<EvaluationResponse>;
}

/** Opens a session of a fresh copy of a fixture. */
export async function resumable(fixture: string, id: string): Promise<Resumable> {
  const path = copyOf(fixture);
  const file = `${path}.effects`;
  const store = await openStore(path);
  const session = await openSession({ store, id, slices: [steps], maxInlineLength: MAX_INLINE_LENGTH });
  onTestFinished(() => session.close());
  const requests: ModelRequest[] = [];
  const prompt = workPrompt({
    act: (name, path, { idempotencyKey, attempt, isResume }) =>
      appendFileSync(file, `${idempotencyKey} ${name} ${path} ${attempt} ${isResume}\n`),
  });
  const model = scriptedModel((request) => {
    requests.push(request);
    const script = request.prompt.key === 'child' ? SCRIPTS[id]?.child : SCRIPTS[id]?.work;
    return script?.[request.turn - 1] ?? 'no more';
  });
  const adapter = createAdapter({ model });
  return {
    store,
    session,
    requests,
    effects: () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []),
    resume: () => adapter.evaluate(prompt, { session, params: PARAMS, resume: true }),
    continueWith: (input) => adapter.evaluate(prompt, { session, params: PARAMS, input, continues: true }),
  };
}

/** All text of a request. */
export function textIn(request: ModelRequest | undefined): string {
  return (request?.messages ?? []).map(textOf).join('\n');
}
