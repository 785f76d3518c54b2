/** What a piece of a timeline means, in a sentence. */

import type { TimelineSpan } from 'holdfast/inspect';
import type { DownSpan, ToolSpan } from '../../../src/core/views/timeline.ts';
import { count, duration, money } from '../ui/format.ts';
import { tokens } from './cache-sentence.ts';

const EFFECTS = { read: 'only reads', idempotent: 'may run twice', once: 'must run once' } as const;
const OUTCOMES = {
  completed: 'completed',
  failed: 'failed',
  interrupted: 'was interrupted',
  running: 'still runs',
} as const;

/** The sentence. `ms` is how long it lasted so far; `nameOf` gives the tool of a call. */
export function spanSentence(span: TimelineSpan, ms: number, nameOf: (callId: string) => string): string {
  const took = duration(ms);
  switch (span.kind) {
    case 'model': {
      const { usage, model = 'The model', outcome, refusals } = span;
      const cost = usage?.costUsd === undefined ? '' : `, ${money(usage.costUsd)}`;
      const spent = usage
        ? ` It read ${tokens(usage.inputTokens)} tokens and wrote ${tokens(usage.outputTokens)}${cost}.`
        : '';
      const refused =
        refusals === undefined ? '' : ` The provider refused ${count(refusals, 'longer request')} before.`;
      if (outcome === 'running') return `${model} has been responding for ${took}.`;
      if (outcome === 'interrupted')
        return `${model} was interrupted after ${took}, before its response was complete.${refused}`;
      return `${model} responded after ${took}.${spent}${refused}`;
    }
    case 'tool':
      return toolSentence(span, took);
    case 'approval': {
      const by = span.by === undefined ? '' : ` by ${span.by}`;
      if (span.outcome === 'waiting') return `${span.toolName} has been waiting for an approval for ${took}.`;
      if (span.outcome === 'ended') return `${span.toolName} waited ${took} for an approval that was never given.`;
      return `${span.toolName} waited ${took} until it was ${span.outcome}${by}.`;
    }
    case 'suspended':
      return `Suspended for ${took} (${span.reason}): ${span.message}`;
    case 'down':
      return downSentence(span, took, nameOf);
    case 'summary': {
      const spent = span.usage ? ` It cost ${tokens(span.usage.inputTokens + span.usage.outputTokens)} tokens.` : '';
      return `A summary of older messages was recorded for later requests.${spent}`;
    }
    default:
      return span satisfies never;
  }
}

function toolSentence({ toolName, outcome, attempt, effect, isRecovered }: ToolSpan, took: string): string {
  if (isRecovered) return `The result of ${toolName} was recorded after the crash without another run.`;
  const again = attempt > 1 ? ` This was run ${attempt}.` : '';
  const kind = effect === undefined ? '' : ` It ${EFFECTS[effect]} (${effect}).`;
  const what =
    outcome === 'running'
      ? `${toolName} has been running for ${took}`
      : `${toolName} ${OUTCOMES[outcome]} after ${took}`;
  return `${what}.${again}${kind}`;
}

/** Where the process died, and what the next one did with its calls. */
function downSentence({ by, attempt, kept, open }: DownSpan, took: string, nameOf: (callId: string) => string): string {
  const were = (calls: readonly string[]): string =>
    `${listed(counted(calls.map(nameOf)))} ${calls.length === 1 ? 'was' : 'were'}`;
  const parts = [
    `The process died, and ${by} resumed ${took} later (run ${attempt}).`,
    kept.length > 0 ? `${were(kept)} finished before and not repeated.` : '',
    open.length > 0 ? `${were(open)} open and had to be decided again.` : '',
    kept.length + open.length === 0 ? 'No call was open.' : '',
  ];
  return parts.filter(Boolean).join(' ');
}

function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}

/** A few words for a span: its name in the chart, and for screen readers the start of its description. */
export function spanLabel(span: TimelineSpan): string {
  switch (span.kind) {
    case 'model':
      return `turn ${span.turn}`;
    case 'tool':
      return span.attempt > 1 ? `${span.toolName} · run ${span.attempt}` : span.toolName;
    case 'approval':
      return `approval of ${span.toolName}`;
    case 'suspended':
      return 'suspended';
    case 'down':
      return 'process died';
    case 'summary':
      return 'summary';
    default:
      return span satisfies never;
  }
}

/** `read_file (3 times)` for names that occur more than once. */
function counted(names: readonly string[]): readonly string[] {
  return [...Map.groupBy(names, (name) => name)].map(([name, { length }]) =>
    length === 1 ? name : `${name} (${length} times)`,
  );
}
