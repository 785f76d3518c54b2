/** A chat page on the hooks of `holdfast/react`. */
import type { ConversationBlock } from 'holdfast/conversation';
import { type Conversation, useConversation } from 'holdfast/react';
import { memo, useState } from 'react';
import { ChatShell, Message, renderPage, serverUrl, sessionId } from './chat-shell.tsx';

function Chat({ id }: { readonly id: string }) {
  const { state, agent, status, queue, pending, error, actions } = useConversation(
    `${serverUrl()}/sessions/${encodeURIComponent(id)}`,
  );
  const [failed, setFailed] = useState('');
  const attempt = (action: Promise<unknown>): void => {
    setFailed('');
    action.catch(({ message }: Error) => setFailed(message));
  };
  return (
    <ChatShell
      title={id}
      status={status}
      isBusy={agent === 'working' || queue.length > 0}
      onSend={(text) => attempt(actions.send(text))}
      onStop={() => attempt(actions.stop())}
      notice={
        <Notices pending={pending} problem={failed || (error?.message ?? '')} actions={actions} attempt={attempt} />
      }
    >
      {state.blocks.map((block) => (
        <Block key={block.id} block={block} />
      ))}
      {queue.map(({ id: inputId, content }) => (
        <Message key={inputId} from="user" state="queued">
          {content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('')}
        </Message>
      ))}
    </ChatShell>
  );
}

/** An unchanged block is the same object after an update, so `memo` skips it. */
const Block = memo(({ block }: { readonly block: ConversationBlock }) => {
  switch (block.type) {
    case 'user_message':
    case 'assistant_text':
      return (
        <Message from={block.type === 'user_message' ? 'user' : 'assistant'} state={block.status}>
          {block.content}
        </Message>
      );
    case 'tool_use':
      return (
        <li className="call" data-state={block.status}>
          {block.toolName} <code>{JSON.stringify(block.input)}</code>
        </li>
      );
    case 'tool_result':
      return <li className="call result">{block.output}</li>;
    default:
      return null; // notices and errors: show what your users need
  }
});

function Notices(props: {
  readonly pending: Conversation['pending'];
  readonly problem: string;
  readonly actions: Conversation['actions'];
  readonly attempt: (action: Promise<unknown>) => void;
}) {
  const { pending, problem, actions, attempt } = props;
  return (
    <>
      {problem && (
        <p className="problem" role="status">
          {problem}
        </p>
      )}
      {pending.map((call) => (
        <p className="approval" key={`${call.evaluationId}/${call.turn}/${call.callId}`}>
          <span>
            May it run <b>{call.name}</b>?
          </span>
          <button type="button" className="quiet" onClick={() => attempt(actions.deny(call, { reason: 'not now' }))}>
            Deny
          </button>
          <button type="button" onClick={() => attempt(actions.approve(call))}>
            Approve
          </button>
        </p>
      ))}
    </>
  );
}

/** The browser tests change the session, and unmount the page, as an app's router would. */
function Page() {
  const [id, setId] = useState<string | undefined>(sessionId);
  Object.assign(window, { showSession: setId });
  return id === undefined ? <p>closed</p> : <Chat id={id} />;
}

renderPage(<Page />);
