import { pendingBlocks, reviveConversationState, type SessionConversationState } from 'holdfast/conversation';
import { RequestError, useConversation } from 'holdfast/react';
import { useMemo, useState } from 'react';
import { actJson, REQUEST, sessionPath, sessionUrl } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import { type SessionDetails, useSessionInfo } from '../api/use-session-info.ts';
import { PendingCalls } from '../inbox/pending-calls.tsx';
import { sourceOf } from '../sessions/session-facts.ts';
import { SessionHeader } from '../sessions/session-header.tsx';
import { useCommands } from '../shell/commands.ts';
import { NotFound } from '../shell/not-found.tsx';
import type { Place } from '../shell/router.ts';
import type { ViewProps } from '../shell/view-props.ts';
import { AttemptProblem } from '../ui/attempt-problem.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Problem, sentence } from '../ui/problem.tsx';
import { useAttempt } from '../ui/use-attempt.ts';
import { AgentProcessControl } from './agent-process.tsx';
import { Composer } from './composer.tsx';
import { ConversationPane } from './conversation-pane.tsx';
import { Queue, type QueuedInput, withQueued } from './queue.tsx';
import { SessionTotals } from './session-totals.tsx';

/** One session: its conversation, live, and a field to write to the agent. */
export function ConversationView({ place }: ViewProps) {
  const [, id = ''] = place.parts;
  const { data, error } = useSessionInfo(id);
  const isGone = error instanceof RequestError && error.status === 404;
  if (isGone && !data)
    return <NotFound>{`There is no session “${id}”. It was deleted, or the address is wrong.`}</NotFound>;
  if (!data) return error ? <Problem>{sentence(error)}</Problem> : null;
  return data.summary.source ? (
    <RecordedConversation id={id} details={data} place={place} isGone={isGone} />
  ) : (
    <LiveConversation key={id} id={id} place={place} isGone={isGone} />
  );
}

function LiveConversation(props: { readonly id: string; readonly place: Place; readonly isGone: boolean }) {
  const { id, place, isGone } = props;
  const { state: newest, status, queue, pending, error, cursor, actions } = useConversation(sessionUrl(id), REQUEST);
  const state = useCaughtUp(newest, status === 'connecting');
  const { data: details } = useSessionInfo(id, cursor);
  const attempt = useAttempt();
  const [asksToDelete, setAsksToDelete] = useState(false);
  useCommands([{ id: 'delete', title: 'Delete this session…', group: 'Session', run: () => setAsksToDelete(true) }]);
  const remove = (): Promise<object> => actJson(sessionPath(id), undefined, 'DELETE');
  const [text, setText] = useState('');
  const withdraw = async (input: QueuedInput): Promise<void> => {
    const isBack = await attempt.run(() => actions.withdraw(input.id));
    if (isBack) setText((typed) => withQueued(typed, [input])); // it can be sent again
  };
  const isRunning = details?.summary.status === 'running' || (details?.summary.status === undefined && isBusy(state));
  return (
    <>
      <SessionHeader id={id} details={details} view="">
        {details?.processes && <AgentProcessControl id={id} attempt={attempt} />}
        <SessionTotals state={state} />
      </SessionHeader>
      {isGone ? <Deleted /> : <Connection status={status} error={error} onReconnect={actions.reconnect} />}
      {details?.runner?.error && (
        <Problem>The agent cannot run. {sentence(new Error(details.runner.error.message))}</Problem>
      )}
      <AttemptProblem attempt={attempt} />
      <Confirm
        isOpen={asksToDelete}
        onClose={() => setAsksToDelete(false)}
        title="Delete this session?"
        explanation="Its log and everything that belongs to it are removed. This cannot be undone."
        action="Delete"
        onConfirm={() => void attempt.run(remove)}
      />
      <ConversationPane id={id} state={state} place={place} isLoading={status === 'connecting'} />
      <PendingCalls sessionId={id} state={state} details={details} pending={pending} attempt={attempt} />
      <Queue queue={queue} onWithdraw={(input) => void withdraw(input)} />
      {status !== 'ended' && !isGone && (
        <Composer
          actions={actions}
          attempt={attempt}
          isBusy={isRunning || queue.length > 0}
          queue={queue}
          text={text}
          onText={setText}
        />
      )}
    </>
  );
}

function Deleted() {
  return <Problem>This session was deleted. What you see is what it was.</Problem>;
}

/** Says that the page is not live, and why. A connection that is being made for the first time is not worth a sentence. */
function Connection(props: {
  readonly status: string;
  readonly error: Error | undefined;
  readonly onReconnect: () => void;
}) {
  const { status, error, onReconnect } = props;
  const action = <Button onClick={onReconnect}>Connect now</Button>;
  if (status === 'ended') {
    const isGone = error instanceof RequestError && error.code === 'SESSION_NOT_FOUND';
    return isGone ? <Deleted /> : <Problem action={action}>{error && sentence(error)}</Problem>;
  }
  if (status !== 'reconnecting' && !(status === 'connecting' && error)) return null;
  return (
    <Problem action={action}>
      The connection to the server is lost. What you see may be old; Studio keeps trying.
    </Problem>
  );
}

/** The session of another agent, as it was imported. */
function RecordedConversation(props: {
  readonly id: string;
  readonly details: SessionDetails;
  readonly place: Place;
  readonly isGone: boolean;
}) {
  const { id, details, place, isGone } = props;
  const path = sessionPath(id, 'state');
  const { data, error, isLoading } = useRead<{ readonly state: unknown }>(path, { version: details.seq });
  const state = useMemo<SessionConversationState | undefined>(
    () => data && reviveConversationState(data.state),
    [data],
  );
  return (
    <>
      <SessionHeader id={id} details={details} view="">
        {state && <SessionTotals state={state} />}
      </SessionHeader>
      {isGone && <Deleted />}
      {error && !isGone && <Problem>{sentence(error)}</Problem>}
      {state && <ConversationPane id={id} state={state} place={place} isLoading={isLoading} />}
      <p className="border-t border-line px-4 py-2 text-muted">
        Recorded by {sourceOf(details.summary)}. Studio shows it and cannot write to it.
      </p>
    </>
  );
}

/** Whether the agent works, or has something to work on, as far as the conversation shows it. */
function isBusy(state: SessionConversationState): boolean {
  const last = state.blocks.at(-1)?.type;
  if (last === 'user_message' || last === 'tool_result') return true;
  return pendingBlocks(state).some(({ type }) => type !== 'system');
}

/**
 * The state to show while a log is read for the first time. Each new state makes all rows again, so that one is shown only when it has twice
 * the blocks of the last: reading a log of any length costs as much as making its rows a few times.
 */
function useCaughtUp(state: SessionConversationState, isReading: boolean): SessionConversationState {
  const [shown, setShown] = useState(state);
  const isNext = !isReading || state.blocks.length >= Math.max(1, shown.blocks.length * 2);
  if (isNext && shown !== state) setShown(state);
  return isNext ? state : shown;
}
