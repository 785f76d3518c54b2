/** A separate process, to measure its memory: reads a transcript to state and prints time and memory. */
import {
  type ConversationEvent,
  createConversationState,
  reduceConversationEvents,
  type SessionConversationState,
} from '../../src/conversation.ts';
import { readTranscript } from '../../src/transcripts.ts';

const BATCH = 4096;

/** The state of a transcript, in batches of events from its file. */
export async function readToState(path: string): Promise<SessionConversationState> {
  let state = createConversationState();
  let batch: ConversationEvent[] = [];
  for await (const events of readTranscript(path).batches()) {
    for (const event of events) batch.push(event);
    if (batch.length < BATCH) continue;
    state = reduceConversationEvents(state, batch);
    batch = [];
  }
  return reduceConversationEvents(state, batch);
}

if (import.meta.main) {
  const start = performance.now();
  const state = await readToState(process.argv[2] ?? '');
  const milliseconds = performance.now() - start;
  const { maxRSS } = process.resourceUsage();
  console.log(JSON.stringify({ megabytes: maxRSS / 1024, milliseconds, blocks: state.blocks.length }));
}
