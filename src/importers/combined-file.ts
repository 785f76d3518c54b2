/** A combined transcript in a file of its own: the JSON of `{ main, subagents }`, as `loadTranscript` returns it as a value. */
import { extname } from 'node:path';
import { asObject, asText, parseJson } from '../transcripts/json-access.ts';
import { readHead, readText } from './safe-files.ts';
import { readLoaded, type TranscriptSource } from './transcript-source.ts';
import { entriesOf, type TranscriptSources } from './transcript-sources.ts';

const HEAD_BYTES = 1024;

/** The source of a combined transcript: the format is the one that detects its main text. `undefined` for other files. */
export async function combinedFileSource<A extends string>(
  sources: TranscriptSources<A>,
  path: string,
): Promise<{ readonly architecture: A; readonly source: Pick<TranscriptSource, 'load' | 'read'> } | undefined> {
  if (extname(path) !== '.json') return undefined;
  if (!/^\s*\{\s*"main"\s*:/.test(await readHead(path, HEAD_BYTES))) return undefined;
  const main = asText(asObject(parseJson(await readText(path)))?.main);
  const entry = main === undefined ? undefined : entriesOf(sources).find(([, { format }]) => format.detect(main));
  if (entry === undefined) return undefined;
  const [architecture, { format }] = entry;
  const load: TranscriptSource['load'] = (place) => readText(place.path);
  return { architecture, source: { load, read: (...args) => readLoaded({ format, load }, ...args) } };
}
