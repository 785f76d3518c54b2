/** Transcripts into memory, in the form that `parseTranscript` takes. */
import { dirname } from 'node:path';
import { HoldfastError, messageOf } from '../core/errors.ts';
import { asObject, asText, parseJson } from '../transcripts/json-access.ts';
import { type OpenCodeExport, parseExport } from '../transcripts/opencode/export.ts';
import type { Architecture, RawTranscript, SubagentTranscript } from '../transcripts/source.ts';
import { findAgentFiles, readMeta } from './claude-files.ts';
import { locateTranscript, openSource, type TranscriptOptions } from './locate-transcript.ts';
import { findChildExports } from './opencode-children.ts';
import { familyOf } from './opencode-source.ts';
import { openFile } from './safe-files.ts';

/** A transcript with its subagents', ready to be parsed. */
export interface LoadedTranscript {
  readonly architecture: Architecture;
  readonly raw: RawTranscript;
}

/**
 * Loads a session of Claude Code (its JSONL file, with its subagents' files) or of OpenCode (an export, the database, a storage
 * folder). For sessions that may not fit into memory there is `readTranscript`.
 */
export async function loadTranscript(path: string, options: TranscriptOptions = {}): Promise<LoadedTranscript> {
  const place = await locateTranscript(path, options);
  switch (place.kind) {
    case 'claude-file':
      return { architecture: 'claude-sdk', raw: await loadClaude(place.path) };
    case 'opencode-export':
      return await loadExport(place.path);
    default: {
      const source = await openSource(place);
      try {
        const [main, ...children] = familyOf(source, place.sessionId).map((session) => source.read(session));
        return { architecture: 'opencode', raw: combineExports(main, children) };
      } finally {
        await source.close();
      }
    }
  }
}

async function loadClaude(path: string): Promise<RawTranscript> {
  const main = await readText(path);
  const subagents: SubagentTranscript[] = [];
  for (const file of await findAgentFiles(path)) {
    const meta = await readMeta(dirname(path), file);
    subagents.push({
      id: file.agentId,
      transcript: await readText(file.path),
      ...(meta !== undefined && { meta }),
    });
  }
  return subagents.length === 0 ? main : { main, subagents };
}

/** An export, with those of its children that lie beside it; or a combined transcript that somebody wrote into a file. */
async function loadExport(path: string): Promise<LoadedTranscript> {
  const text = await readText(path);
  const main = parseExport(text);
  if (main === undefined) {
    const combined = asText(asObject(parseJson(text))?.main);
    const isClaude = combined !== undefined && parseExport(combined) === undefined;
    return { architecture: isClaude ? 'claude-sdk' : 'opencode', raw: text };
  }
  const children = await findChildExports(path, main);
  if (children.length === 0) return { architecture: 'opencode', raw: text };
  return { architecture: 'opencode', raw: { main: text, subagents: children } };
}

function combineExports(main: OpenCodeExport | undefined, children: readonly OpenCodeExport[]): RawTranscript {
  const text = (session: OpenCodeExport | undefined): string =>
    JSON.stringify({ info: session?.info ?? {}, messages: [...(session?.messages ?? [])] });
  if (children.length === 0) return text(main);
  const subagents = children.map((child) => ({ id: String(child.info.id), transcript: text(child) }));
  return { main: text(main), subagents };
}

async function readText(path: string): Promise<string> {
  const handle = await openFile(path);
  try {
    return await handle.readFile('utf8');
  } catch (error) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${path} cannot be loaded as one text: ${messageOf(error)}; use readTranscript for transcripts of any size`,
      { cause: error },
    );
  } finally {
    await handle.close();
  }
}
