/** The same page with a stock `useChat` of the AI SDK. The server speaks its protocol: no Holdfast code runs here. */
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { ChatShell, Message, renderPage, serverUrl, sessionId } from './chat-shell.tsx';

const HEADERS = { 'x-holdfast-request': '1' };
const RETRY_MS = 500;

const sessionUrl = (id: string): string => `${serverUrl()}/sessions/${encodeURIComponent(id)}`;

async function loadMessages(id: string): Promise<UIMessage[]> {
  const response = await fetch(`${sessionUrl(id)}/ui-messages`);
  const { messages } = (await response.json()) as { readonly messages: UIMessage[] };
  return messages;
}

function Chat({ id, initial }: { readonly id: string; readonly initial: UIMessage[] }) {
  const transport = useMemo(() => {
    const api = `${sessionUrl(id)}/ui-messages`;
    return new DefaultChatTransport({
      api,
      headers: HEADERS,
      // The server has the conversation: the last message is all it needs.
      prepareSendMessagesRequest: ({ messages, trigger }) => ({ body: { message: messages.at(-1), trigger } }),
      prepareReconnectToStreamRequest: () => ({ api: `${api}/stream` }),
    });
  }, [id]);
  const { messages, setMessages, sendMessage, status, error, stop, resumeStream, addToolApprovalResponse } = useChat({
    id,
    messages: initial,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const isBusy = status === 'submitted' || status === 'streaming';

  /** After a lost connection: what was recorded, then the response that is being made, from its start. */
  const reattach = useCallback(async () => {
    setMessages(await loadMessages(id));
    await resumeStream();
  }, [id, setMessages, resumeStream]);

  useEffect(() => {
    if (!error) return;
    const timer = setInterval(
      () =>
        void reattach().then(
          () => clearInterval(timer),
          () => {},
        ),
      RETRY_MS,
    );
    return () => clearInterval(timer);
  }, [error, reattach]);

  return (
    <ChatShell
      title={id}
      status={error ? 'reconnecting' : status}
      isBusy={isBusy}
      onSend={(text) => void sendMessage({ text })}
      onStop={() => {
        void fetch(`${sessionUrl(id)}/stop`, { method: 'POST', headers: HEADERS });
        if (!isBusy) void stop();
      }}
      notice={error && <p className="problem">{error.message}</p>}
    >
      {messages.map((message, place) => (
        <Message
          key={message.id}
          from={message.role === 'user' ? 'user' : 'assistant'}
          state={isBusy && place === messages.length - 1 ? 'pending' : 'complete'}
        >
          <Parts message={message} decide={(call, approved) => void addToolApprovalResponse({ id: call, approved })} />
        </Message>
      ))}
    </ChatShell>
  );
}

function Parts(props: { readonly message: UIMessage; readonly decide: (id: string, approved: boolean) => void }) {
  return props.message.parts.map((part, place) => {
    const key = `${props.message.id}/${place}`;
    if (part.type === 'text') return <span key={key}>{part.text}</span>;
    if (!isToolUIPart(part)) return null;
    return (
      <span className="call" key={key}>
        {getToolName(part)} <code>{JSON.stringify(part.input)}</code>
        {part.state === 'approval-requested' && (
          <span className="approval">
            <button type="button" className="quiet" onClick={() => props.decide(part.approval.id, false)}>
              Deny
            </button>
            <button type="button" onClick={() => props.decide(part.approval.id, true)}>
              Approve
            </button>
          </span>
        )}
      </span>
    );
  });
}

/** Loads what was recorded before `useChat` begins; it then resumes a response that is being made. */
function Page() {
  const [id, setId] = useState<string | undefined>(sessionId);
  const [loaded, setLoaded] = useState<{ readonly id: string; readonly messages: UIMessage[] }>();
  Object.assign(window, { showSession: setId });
  useEffect(() => {
    if (id === undefined) return;
    let isCurrent = true;
    void loadMessages(id).then((messages) => isCurrent && setLoaded({ id, messages }));
    return () => {
      isCurrent = false;
    };
  }, [id]);
  if (id === undefined) return <p>closed</p>;
  return loaded?.id === id ? <Chat key={id} id={id} initial={loaded.messages} /> : <p className="loading">…</p>;
}

renderPage(<Page />);
