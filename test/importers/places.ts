/** Folders laid out as the agents do it, new for each test. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import type { SessionConversationState } from '../../src/conversation/blocks.ts';
import { createConversationState } from '../../src/conversation/indexed-state.ts';
import { reduceConversation } from '../../src/conversation/reduce-conversation.ts';
import type { TranscriptOptions } from '../../src/importers/load-transcript.ts';
import { readTranscript } from '../../src/transcripts.ts';
import { FIXTURES, REAL_SESSION, realSession } from '../transcripts/fixtures.ts';

/** Creates an empty folder that is removed after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-importers-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes files; their paths are relative to a root. */
export function write(root: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

/** Copies a fixture’s folder. */
export function copyOf(name: string): string {
  const path = folder();
  cpSync(join(FIXTURES, name), path, { recursive: true });
  return path;
}

/** Writes the real session in the layout of its version; returns the path of its main file. */
export function writeRealSession(root: string, layout: 'below' | 'beside' = 'below'): string {
  const { main, subagents } = realSession();
  const where = layout === 'below' ? `${REAL_SESSION}/subagents/` : '';
  write(root, {
    [`${REAL_SESSION}.jsonl`]: main,
    ...Object.fromEntries(subagents.map(({ id, transcript }) => [`${where}${id}.jsonl`, transcript as string])),
  });
  return join(root, `${REAL_SESSION}.jsonl`);
}

/** Writes OpenCode’s database; returns its path. */
export function writeDatabase(root: string): string {
  const path = join(root, 'opencode.db');
  writeFileSync(path, gunzipSync(readFileSync(join(FIXTURES, 'opencode-1.18.33/opencode.db.gz'))));
  return path;
}

/** What `opencode export` prints. */
export interface Exported {
  readonly info: { readonly id: string };
  readonly messages: readonly {
    readonly info: { readonly id: string };
    readonly parts: readonly { readonly id: string }[];
  }[];
}

/** Writes sessions as OpenCode stored them before 1.2. */
export function writeStorage(root: string, exports: readonly string[]): string {
  for (const text of exports) {
    const { info, messages } = JSON.parse(text) as Exported;
    write(root, { [`session/global/${info.id}.json`]: JSON.stringify(info) });
    for (const message of messages) {
      write(root, { [`message/${info.id}/${message.info.id}.json`]: JSON.stringify(message.info) });
      for (const part of message.parts)
        write(root, { [`part/${message.info.id}/${part.id}.json`]: JSON.stringify(part) });
    }
  }
  return root;
}

/** Reads a transcript and reduces its events. */
export async function stateOfReading(path: string, options?: TranscriptOptions): Promise<SessionConversationState> {
  let state = createConversationState();
  for await (const event of readTranscript(path, options)) state = reduceConversation(state, event);
  return state;
}

const NOBODY = 65_534;

/** Runs something as a user who may not read everything: permissions do not stop the superuser. */
export async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}
