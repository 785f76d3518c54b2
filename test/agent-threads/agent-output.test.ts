import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { addressFinder } from '../../src/agents/opencode/opencode-server.ts';
import type { OpenCodeSdk } from '../../src/agents/opencode/opencode-types.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import { openCodeAdapter } from '../../src/opencode.ts';

/** Parsing OpenCode's output, with programs that print something else. */

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
});

/** A program that runs instead of OpenCode. */
function program(source: string): { readonly command: string; readonly cwd: string } {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-program-'));
  made.push(cwd);
  const command = join(cwd, 'opencode.cjs');
  writeFileSync(command, `#!${process.execPath}\n${source}`, { mode: 0o755 });
  return { command, cwd };
}

const prompt = definePrompt({ ns: 'test', key: 'output', instructions: 'Work.' });

test.for([
  ['without a line end', 'x'],
  ['in lines', `${'x'.repeat(99)}\\n`],
])(
  'a program that prints 200 MB %s before it listens does not stop this process',
  { timeout: 60_000 },
  async ([, text]) => {
    const sdk: OpenCodeSdk = { createOpencodeClient: () => Promise.reject(new Error('not called')) as never };
    const response = await openCodeAdapter({
      ...program(`
      const { writeSync } = require('node:fs');
      const piece = Buffer.alloc(1024 * 1024, "${text}");
      for (let n = 0; n < 200; n++) for (let at = 0; at < piece.length; ) {
        try { at += writeSync(1, piece, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
      }
      process.exit(3);
    `),
      sdk,
    }).evaluate(prompt, { input: 'go' });
    expect(response).toMatchObject({ status: 'suspended', reason: 'PROVIDER_FAILED' });
    expect(response.message).toContain('ended with 3');
  },
);

test('the address that OpenCode prints is used when it was printed completely, in any pieces', () => {
  const printed = 'Warning: something\nopencode server listening on http://127.0.0.1:12345\n';
  for (let at = 0; at < printed.length; at++) {
    const find = addressFinder();
    const found = [printed.slice(0, at), printed.slice(at)].map((piece) => find(piece));
    expect(found).toEqual([undefined, 'http://127.0.0.1:12345']);
  }
});
