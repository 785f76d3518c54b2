/** Real transcripts with parallel calls, an error and a subagent, of every agent, where `loadTranscript` finds them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { HandoffTarget } from '../../../src/transcripts/handoff/build-transcript.ts';
import { loadTranscript } from '../../../src/transcripts.ts';
import { claudeSession, FIXTURES, fixture, REAL_SESSION } from '../../transcripts/fixtures.ts';
import { temporaryDirectory } from './temporary.ts';

export interface RealTranscript {
  readonly name: string;
  readonly path: string;
  readonly sessionId?: string;
}

const rollout = (scenario: string, name: string): RealTranscript => ({
  name: `codex ${scenario}`,
  path: join(FIXTURES, 'codex-0.166.0', scenario, 'sessions', '2026', '11', '16', `rollout-2026-11-16T${name}.jsonl`),
});

/** The transcripts of an agent, unpacked where they are stored packed. */
export function realTranscripts(from: HandoffTarget): readonly RealTranscript[] {
  const directory = temporaryDirectory('sources');
  switch (from) {
    case 'claude-sdk':
      return [realSession(directory), parallel(directory)];
    case 'codex':
      return [
        rollout('parallel', '10-44-51-01a1e3f5-af9d-7ac1-ad8a-89868c408a3b'),
        rollout('toolerr', '10-44-52-01a1e3f5-b44b-7851-a287-5b8f57b3d08d'),
        rollout('subagent', '10-45-00-01a1e3f5-d385-79d1-8d73-acce3d034f54'),
      ];
    default: {
      const path = join(directory, 'opencode.db');
      writeFileSync(path, gunzipSync(readFileSync(join(FIXTURES, 'opencode-1.18.33', 'opencode.db.gz'))));
      return [
        { name: 'opencode parallel', path, sessionId: 'ses_e1f5458d0ffe46FRJV2ckON5jQ' },
        { name: 'opencode toolerr', path, sessionId: 'ses_e1f5413eeffe5j8p2dZPjSLCUs' },
        { name: 'opencode sub', path, sessionId: 'ses_e1f53dbc3ffeIu1QHpMqIZah3G' },
      ];
    }
  }
}

/** Whether `loadTranscript` reads the transcripts of an agent. */
export async function isRead(from: HandoffTarget): Promise<boolean> {
  const [first] = from === 'codex' ? realTranscripts(from) : [];
  return first === undefined || (await loadTranscript(first.path)).architecture === from;
}

/** A long session of a person, with errors, parallel calls, a subagent and a compaction. */
function realSession(directory: string): RealTranscript {
  const path = join(directory, `${REAL_SESSION}.jsonl`);
  writeFileSync(path, fixture('claude-code-2.1.38', `${REAL_SESSION}.jsonl.gz`));
  const below = join(directory, REAL_SESSION, 'subagents');
  mkdirSync(below, { recursive: true });
  writeFileSync(join(below, 'agent-a2898e3.jsonl'), fixture('claude-code-2.1.38', 'agent-a2898e3.jsonl.gz'));
  return { name: 'claude long', path };
}

function parallel(directory: string): RealTranscript {
  const path = join(directory, 'parallel.jsonl');
  writeFileSync(path, claudeSession('parallel').main);
  return { name: 'claude parallel', path };
}
