import { describeToolUse } from 'holdfast/conversation';
import { argumentsOf, type WaitingCall } from './waiting.ts';

/** What the call would do, in words. */
export function CallHeading({ call, question }: { readonly call: WaitingCall; readonly question: string }) {
  const { verb, subject } = describeToolUse({ toolName: call.name, input: argumentsOf(call) });
  return (
    <h2 className="flex min-w-0 items-baseline gap-2">
      <span className="shrink-0 text-waits">{question}</span>
      <span className="shrink-0 font-semibold">{verb}</span>
      {subject !== undefined && <code className="min-w-0 truncate font-mono text-[0.75rem]">{subject}</code>}
    </h2>
  );
}
