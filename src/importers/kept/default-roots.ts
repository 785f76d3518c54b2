/** Where the agents store their sessions unless they are configured otherwise. */
import { homedir } from 'node:os';
import { entriesOf, type TranscriptSources } from '../transcript-sources.ts';

/** The usual folders of all agents, in the order of the sources; some of them may not exist. */
export function defaultRoots(
  sources: TranscriptSources<string>,
  env: NodeJS.ProcessEnv = process.env,
  home: string = homedir(),
): readonly string[] {
  return entriesOf(sources).flatMap(([, source]) => source.defaultRoots(env, home));
}
