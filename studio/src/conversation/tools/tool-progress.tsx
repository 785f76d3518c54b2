import type { ToolUseBlock } from 'holdfast/conversation';
import { JsonView } from './json-view.tsx';
import { Terminal } from './terminal.tsx';

/** What a tool has reported: how much is done, what it printed, and its data. */
export function ToolProgress(props: {
  readonly id: string;
  readonly progress: NonNullable<ToolUseBlock['progress']>;
  readonly isLive?: boolean;
}) {
  const { id, progress, isLive = false } = props;
  return (
    <>
      {progress.percent !== undefined && (
        <progress max={100} value={progress.percent} aria-label="Progress" className="h-1 w-full accent-accent" />
      )}
      {progress.text !== '' && <Terminal id={`${id}:progress`} text={progress.text} isLive={isLive} />}
      {progress.data !== undefined && <JsonView id={`${id}:data`} data={progress.data} />}
    </>
  );
}
