import type { HandoffTarget } from '../../../src/transcripts/handoff/build-transcript.ts';
import type { HandoffSource } from '../../../src/transcripts/handoff/handoff-source.ts';
/** Hands a conversation to a real agent and continues it. */

import { afterEach } from 'vitest';
import type { WrittenTranscript } from '../../../src/transcripts.ts';
import { writeTranscript } from '../../../src/transcripts.ts';
import { GO_ON, type HandoffAgent, handoffAgent } from './handoff-agents.ts';
import type { SentItem } from './sent-items.ts';

const agents: HandoffAgent[] = [];

afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.close();
});

/** Starts an agent that is closed after the test. */
export async function agentFor(to: HandoffTarget): Promise<HandoffAgent> {
  const agent = await handoffAgent(to);
  agents.push(agent);
  return agent;
}

export async function handOver(
  agent: HandoffAgent,
  source: HandoffSource,
  to: HandoffTarget,
): Promise<WrittenTranscript> {
  const { cwd, configDir, model } = agent;
  const written = await writeTranscript(source, { to, cwd, configDir, ...(model !== undefined && { model }) });
  if (written.import) await agent.run(written.import);
  await agent.run(written.resume, GO_ON);
  return written;
}

/** What a request says of a conversation: the agent's own texts and the new prompt left out. */
export function conversationIn(items: readonly SentItem[]): readonly SentItem[] {
  const isOfProgram = (item: SentItem): boolean =>
    (item.kind === 'user' && /^\s*<(?:system-reminder|environment_context)>/.test(item.text)) ||
    ('text' in item && (item.text.includes(GO_ON) || item.text === 'No response requested.'));
  return items.filter((item) => !isOfProgram(item));
}
