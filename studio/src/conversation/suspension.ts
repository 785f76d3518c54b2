/** Why an evaluation waits, in a sentence for people: what the runner wrote is for programs, and ends with what to call. */
import type { UnknownReconcile } from '../../../src/core/log/waiting-events.ts';

const HINT =
  /[;:,]\s(?:[^;:]*\b(?:session\.\w+|\w+ToolCall|\w+Evaluation|resumeCancelled|maxTurns|run again)\b.*|(?:find out, then|resume|run it again) .*)$/s;
const APPROVAL = /^"(.*?)" needs approval(?: \((.*)\))?/s;
const OUTCOME = /^"(.*?)" was started and may have happened(?:, and (.*))?/s;

/** What stands in the conversation: `Waits for approval: send_letter`. */
export function waitSentence(reason: string, message: string): string {
  const text = withoutHint(message);
  if (reason === 'APPROVAL_REQUIRED') {
    const [, name, why] = APPROVAL.exec(text) ?? [];
    return ['Waits for approval', name && `: ${name}`, why && `; ${why}`].filter(Boolean).join('');
  }
  if (reason === 'TOOL_OUTCOME_UNKNOWN') {
    const [, name = 'a call', why] = OUTCOME.exec(text) ?? [];
    return `The outcome of ${name} is unknown${why === undefined ? '' : `: ${named(why)}`}`;
  }
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Why the `reconcile` of a tool did not find out whether a call happened. */
export function reconcileSentence({ status, problem = '' }: UnknownReconcile): string {
  switch (status) {
    case 'failed':
      return `The tool's own check failed: ${problem}`;
    case 'not-called':
      return `The tool's own check cannot be called: ${problem}`;
    default:
      return "The tool's own check could not find out";
  }
}

/** People do not know the function by its name. */
function named(text: string): string {
  return text.replace(/^reconcile\b/, "the tool's own check");
}

function withoutHint(message: string): string {
  return message.replace(HINT, '');
}
