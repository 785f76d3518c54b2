import { describeToolUse } from 'holdfast/conversation';
import { argumentsOf } from './waiting.ts';

/** What the call would do, in words. */
export function CallHeading(props: {
  readonly call: { readonly toolName: string; readonly arguments: string };
  readonly question: string;
}) {
  const { call, question } = props;
  const { verb, subject } = describeToolUse({ toolName: call.toolName, input: argumentsOf(call) });
  return (
    <h2 className="flex min-w-0 items-baseline gap-2">
      <span className="shrink-0 text-waits">{question}</span>
      <span className="shrink-0 font-semibold">{verb}</span>
      {subject !== undefined && <code className="min-w-0 truncate font-mono text-[0.75rem]">{subject}</code>}
    </h2>
  );
}
