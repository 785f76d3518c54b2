import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EvaluationResponse } from '../../src/evaluate.ts';
import type { ConversationMessage } from '../../src/index.ts';
import type { Provider } from '../models/providers.ts';
import { type BundledScript, bundleScript } from '../support/bundle.ts';
import { type ProviderServer, startProviderServer } from '../support/provider-server/start-provider-server.ts';
import { CRASHES, type Crash, script } from './provider-agent.ts';
import { normalized } from './random-agent.ts';

/** The real clients in real processes, on a real database, killed by SIGKILL. */

let child: BundledScript;
let server: ProviderServer;
let dir: string;
/** The result of an uninterrupted process. */
let expected: End;
beforeAll(async () => {
  child = await bundleScript(join(import.meta.dirname, 'provider-child.ts'));
  server = await startProviderServer({ script });
  dir = mkdtempSync(join(tmpdir(), 'holdfast-kills-'));
  expected = await ended(run('anthropic', 'expected'));
});
afterAll(async () => {
  rmSync(dir, { recursive: true, force: true });
  await server.close();
  child.remove();
});

interface End {
  readonly response: EvaluationResponse;
  readonly messages: readonly ConversationMessage[];
}

function run(provider: Provider, database: string, crash?: Crash): Promise<End | 'killed'> {
  const args = [child.path, provider, server.url, join(dir, `${database}.db`), ...(crash ? [crash] : [])];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve('killed');
      else if (error) reject(new Error(stderr || error.message));
      else resolve(JSON.parse(stdout) as End);
    });
  });
}

async function ended(end: Promise<End | 'killed'>): Promise<End> {
  const outcome = await end;
  if (outcome === 'killed') throw new Error('killed without being told to');
  return outcome;
}

describe("I2, I3, I4: a process with a provider's client is killed, another one resumes", () => {
  test.for(CRASHES)('anthropic, killed %s: the same conversation, every request accepted', async (crash) => {
    expect(await run('anthropic', crash, crash)).toBe('killed');
    const { response, messages } = await ended(run('anthropic', crash));
    expect(response).toMatchObject({ status: 'completed', text: 'All of them are fine.', turns: 3 });
    expect(normalized(messages)).toEqual(normalized(expected.messages));
    expect(server.refusals).toEqual([]);
    const last = server.requests
      .filter(({ api, turn }) => api === 'anthropic' && turn === 3)
      .map(({ body }) => JSON.stringify(body));
    expect(new Set(last).size).toBe(1); // the last request is byte for byte that of an uninterrupted process
  });

  test('killed twice, and resumed with another provider each time: openai, anthropic, compatible', async () => {
    expect(await run('openai.responses', 'handed', 'in a tool')).toBe('killed');
    expect(await run('anthropic', 'handed', 'between results')).toBe('killed');
    const { response } = await ended(run('compatible', 'handed'));
    expect(response).toMatchObject({ status: 'completed', text: 'All of them are fine.', turns: 3 });
    expect(server.refusals).toEqual([]);
  });
});
