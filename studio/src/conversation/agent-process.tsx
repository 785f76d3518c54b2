import type { AgentProcess } from 'holdfast/server';
import { actJson, sessionPath } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import type { SessionDetails } from '../api/use-session-info.ts';
import { useCommands } from '../shell/commands.ts';
import { Button } from '../ui/button.tsx';
import type { Attempt } from '../ui/use-attempt.ts';

const REFRESH_MS = 700;

/**
 * The process that runs the agent, with a button that kills it. Only servers that started the process themselves name it. Killing needs no
 * confirmation: the next process continues where this one was.
 */
export function AgentProcessControl(props: { readonly id: string; readonly attempt: Attempt }) {
  const { id, attempt } = props;
  const path = sessionPath(id);
  const { data, refresh } = useRead<SessionDetails>(path, { refreshMs: REFRESH_MS });
  const processes = data?.processes ?? [];
  const isRunning = processes.at(-1)?.status === 'running';
  const kill = (): void => {
    void attempt.run(() => actJson(`${path}/kill`)).then(refresh);
  };
  useCommands(isRunning ? [{ id: 'kill', title: 'Kill the process of the agent', group: 'Session', run: kill }] : []);
  return (
    <span className="flex items-center gap-2">
      <span role="status" className="text-xs text-muted tabular-nums max-md:hidden">
        <Words processes={processes} />
      </span>
      {isRunning && (
        <Button kind="danger" onClick={kill} title="Sends SIGKILL to the process of the agent">
          Kill
        </Button>
      )}
    </span>
  );
}

function Words({ processes }: { readonly processes: readonly AgentProcess[] }) {
  const last = processes.at(-1);
  const before = processes.at(-2);
  if (!last) return null;
  if (last.status === 'killed') return <span className="text-fails">process {last.pid} was killed</span>;
  if (before?.status === 'killed') {
    return (
      <>
        <span className="text-fails">{before.pid} was killed</span>, resumed by process {last.pid}
      </>
    );
  }
  return last.status === 'running' ? `process ${last.pid}` : `process ${last.pid} has ended`;
}
