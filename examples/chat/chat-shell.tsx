/** What both pages share: the header, the column of messages, the composer. It knows nothing of where messages come from. */
import { type FormEvent, type ReactNode, StrictMode, useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';

/** The sessions of the server beside this page, and the one that the address names: `/ada`. */
export function serverUrl(): string {
  const port = document.getElementById('page')?.dataset.serverPort;
  return `${location.protocol}//${location.hostname}:${port}`;
}

export function sessionId(): string {
  return decodeURIComponent(location.pathname.slice(1)) || 'ada';
}

export function renderPage(page: ReactNode): void {
  const element = document.getElementById('page');
  if (element) createRoot(element).render(<StrictMode>{page}</StrictMode>);
}

export function ChatShell(props: {
  readonly title: string;
  readonly status: string;
  readonly isBusy: boolean;
  readonly children: ReactNode;
  readonly notice?: ReactNode;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
}) {
  const { title, status, isBusy, children, notice, onSend, onStop } = props;
  return (
    <div className="chat">
      <header>
        <h1>{title}</h1>
        <span className="status" data-status={status}>
          {status}
        </span>
      </header>
      <Messages>{children}</Messages>
      <footer>
        {notice}
        <Composer isBusy={isBusy} onSend={onSend} onStop={onStop} />
      </footer>
    </div>
  );
}

/** Stays at the end while people are at the end. */
function Messages({ children }: { readonly children: ReactNode }) {
  const element = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const { current } = element;
    if (current && isAtEnd.current) current.scrollTop = current.scrollHeight;
  });
  return (
    <main
      ref={element}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
    >
      <ol aria-live="polite">{children}</ol>
    </main>
  );
}

function Composer(props: {
  readonly isBusy: boolean;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
}) {
  const [text, setText] = useState('');
  const send = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    props.onSend(text.trim());
    setText('');
  };
  return (
    <form className="composer" onSubmit={send}>
      <input
        aria-label="Message"
        placeholder="Say something, or “count to 200”"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      {props.isBusy && (
        <button type="button" className="quiet" onClick={props.onStop}>
          Stop
        </button>
      )}
      <button type="submit" disabled={text.trim() === ''}>
        Send
      </button>
    </form>
  );
}

export function Message(props: {
  readonly from: 'user' | 'assistant';
  readonly state: string;
  readonly children: ReactNode;
}) {
  return (
    <li className={props.from} data-state={props.state}>
      {props.children}
    </li>
  );
}
