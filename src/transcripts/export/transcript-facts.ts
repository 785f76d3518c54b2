/** What a transcript says about itself: the agent, its version, the project, the session and a title. */
import type { SessionConversationState } from '../../conversation/state.ts';
import { AGENT_NAMES, type Architecture } from '../agent-names.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import { formatOf } from '../transcript-formats.ts';
import type { AboutConversation } from './conversation-facts.ts';

const MAX_TITLE = 100;

/** Reads the facts of a loaded transcript for the head of a document; those that it does not name are missing. */
export function transcriptFacts(
  architecture: Architecture,
  raw: RawTranscript,
): { readonly about: AboutConversation; readonly title?: string | undefined } {
  const { title, ...facts } = formatOf(architecture).readFacts(raw);
  const named = Object.entries(facts).filter(([, value]) => value !== undefined);
  return { about: { agent: AGENT_NAMES[architecture], ...Object.fromEntries(named) }, title };
}

/** The start of the first prompt, as a title. */
export function promptTitle({ blocks }: SessionConversationState): string | undefined {
  for (const block of blocks) {
    if (block.type !== 'user_message' || block.content.trim() === '') continue;
    const line = block.content.trim().split('\n', 1)[0] as string;
    const characters = [...line.slice(0, 2 * MAX_TITLE)];
    return characters.length <= MAX_TITLE ? line.trim() : `${characters.slice(0, MAX_TITLE).join('')}…`;
  }
  return undefined;
}
