/** Converts a Codex session that is in memory. */
import type { ConversationEvent } from '../../conversation/events.ts';
import { DiagnosticsCollector } from '../diagnostics.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import type { TranscriptEvents } from '../transcript-format.ts';
import { convertThreads } from './convert-threads.ts';
import { openRaw, planRaw } from './raw-session.ts';
import type { RolloutLine } from './rollouts/rollout-line.ts';
import { CodexTranscript } from './transcript.ts';

/** Converts all lines of a session to events. */
export function codexTranscriptEvents(raw: RawTranscript): TranscriptEvents {
  const events: ConversationEvent[] = [];
  const plan = planRaw(raw);
  if (plan === undefined) {
    const diagnostics = new DiagnosticsCollector();
    diagnostics.problem('not-a-transcript');
    return { events, diagnostics: diagnostics.report() };
  }
  const transcript = new CodexTranscript();
  transcript.reportPlan(plan);
  for (const step of convertThreads(transcript, openRaw(transcript, plan))) {
    if (step instanceof Promise) continue; // a text in memory yields none
    for (const event of step) events.push(event);
  }
  return { events, diagnostics: transcript.diagnostics };
}

/** The lines of the main thread, each once, with its past in other rollouts. */
export function codexMainLines(raw: RawTranscript): readonly RolloutLine[] {
  const lines: RolloutLine[] = [];
  const plan = planRaw(raw);
  const transcript = new CodexTranscript();
  const [main] = plan === undefined ? [] : openRaw(transcript, { ...plan, subagents: [] });
  while (main?.advance() === true) if (main.head) lines.push(main.head);
  return lines;
}
