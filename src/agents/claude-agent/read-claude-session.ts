import { HoldfastError } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';
import type { CombinedTranscript, SubagentTranscript } from '../../transcripts/raw-transcript.ts';
import { claudeSessionStore } from './claude-session-store.ts';
import type { ClaudeTranscriptEntry } from './sdk-types.ts';

/** What the SDK mirrors as a line of a subagent's transcript; on disk it is a file beside it. */
const METADATA = 'agent_metadata';

/** A session of the SDK's, from our store, as `parseTranscript('claude-sdk', …)` takes it: with its subagents. */
export async function readClaudeSession(store: Store, sessionId: string): Promise<CombinedTranscript> {
  const sessions = claudeSessionStore(store);
  const key = { projectKey: '', sessionId };
  const main = await sessions.load(key);
  if (!main) {
    throw new HoldfastError('SESSION_NOT_FOUND', `there is no Claude session ${sessionId} in this store; check its id`);
  }
  const subagents: SubagentTranscript[] = [];
  for (const subpath of await sessions.listSubkeys(key)) {
    const entries = (await sessions.load({ ...key, subpath })) ?? [];
    const { type: _, ...meta } = entries.findLast(({ type }) => type === METADATA) ?? { type: METADATA };
    const lines = entries.filter(({ type }) => type !== METADATA);
    subagents.push({ id: subpath.slice(subpath.lastIndexOf('/') + 1), transcript: jsonLines(lines), meta });
  }
  return { main: jsonLines(main), subagents };
}

function jsonLines(entries: readonly ClaudeTranscriptEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}
