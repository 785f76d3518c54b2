import type { ConversationMessage } from 'holdfast';
import type { RequestRow as Row } from 'holdfast/inspect';
import { memo, type ReactNode, useState } from 'react';
import type { RequestFate } from '../../../src/history/inspect/request-rows.ts';
import type { TextPiece } from '../../../src/server/http/shortened.ts';
import { readJson, sessionPath } from '../api/server.ts';
import { visible } from '../conversation/tools/ansi.ts';
import { ClampedText } from '../ui/clamped-text.tsx';
import { compact, count } from '../ui/format.ts';
import { sentence } from '../ui/problem.tsx';

const FATES: Readonly<Record<RequestFate, readonly [word: string, tone: string]>> = {
  whole: ['sent', 'text-muted'],
  shortened: ['shortened', 'text-waits'],
  dropped: ['dropped', 'text-fails'],
  summarised: ['summarised', 'text-violet'],
  added: ['added', 'text-adds'],
  repaired: ['repaired', 'text-blue'],
};

/** Beside each other on a wide page; below each other on a narrow one. */
export const ROW_COLUMNS =
  'grid grid-cols-[5.5rem_6.5rem_minmax(0,1fr)_minmax(0,1fr)_6rem] gap-x-4 px-4 max-md:grid-cols-[auto_minmax(0,1fr)_auto] max-md:gap-x-3';

/** One message: as it is recorded, and as it was sent. */
export const RequestRow = memo((props: { readonly sessionId: string; readonly row: Row; readonly isCut: boolean }) => {
  const { sessionId, row, isCut } = props;
  const { fate, recorded, sent, recordedTokens, sentTokens, role } = row;
  const [word, tone] = FATES[fate];
  const message = recorded ?? sent;
  return (
    <li className={`${ROW_COLUMNS} border-b border-line py-1.5`} data-fate={fate}>
      <span className={tone}>{word}</span>
      <span className="min-w-0 truncate text-muted">{message ? speakerOf(message) : role}</span>
      <Tokens recorded={recordedTokens} sent={sentTokens} fate={fate} />
      <div
        className={`min-w-0 max-md:col-span-3 ${fate === 'whole' ? 'md:col-span-2' : ''} ${sentTokens === 0 ? 'text-muted' : ''} md:col-start-3 md:row-start-1`}
      >
        {recorded ? (
          <Text sessionId={sessionId} message={recorded} isCut={isCut} />
        ) : (
          <Nothing>{fate === 'repaired' ? 'no result in the record' : 'not in the record'}</Nothing>
        )}
      </div>
      {fate !== 'whole' && (
        <div className="min-w-0 max-md:col-span-3 max-md:border-l-2 max-md:border-line max-md:pl-2 md:col-start-4 md:row-start-1">
          {sent ? (
            <Text sessionId={sessionId} message={sent} />
          ) : (
            <Nothing>{fate === 'summarised' ? 'not sent; the summary covers it' : 'not sent'}</Nothing>
          )}
        </div>
      )}
    </li>
  );
});

function Nothing({ children }: { readonly children: ReactNode }) {
  return <p className="text-muted italic">{children}</p>;
}

function Tokens({
  recorded,
  sent,
  fate,
}: {
  readonly recorded: number;
  readonly sent: number;
  readonly fate: RequestFate;
}) {
  return (
    <span className="text-right text-muted tabular-nums md:col-start-5 md:row-start-1">
      {fate === 'whole' ? compact(sent) : `${compact(recorded)} → ${compact(sent)}`}
      <span className="sr-only"> tokens</span>
    </span>
  );
}

/** The text of a message. A recorded text that the page does not have whole is loaded when it is opened. */
function Text(props: { readonly sessionId: string; readonly message: ConversationMessage; readonly isCut?: boolean }) {
  const { sessionId, message, isCut = false } = props;
  const [loaded, setLoaded] = useState<string>();
  const text = loaded ?? messageText(message);
  const load = (): void => {
    if (!isCut || loaded !== undefined) return;
    const path = `${sessionPath(sessionId, 'texts', message.id)}?limit=200000`;
    readJson<TextPiece>(path).then(
      ({ text: whole, length }) =>
        setLoaded(length > whole.length ? `${whole}\n… ${count(length - whole.length, 'more character')}` : whole),
      (error: Error) => setLoaded(`${text}\n${sentence(error)}`),
    );
  };
  if (text === '') return <Nothing>no text</Nothing>;
  const isCode = message.role === 'tool' || message.role === 'system';
  return <ClampedText text={visible(text)} isCode={isCode} isCut={isCut} onOpen={load} />;
}

/** A recorded message as text: what it says, its calls, and a word for each image or file. */

/** A recorded message as text: what it says, its calls, and a word for each image or file. */
function messageText({ content, ...message }: ConversationMessage): string {
  const parts = content.map((part) => {
    if (part.type === 'text') return part.text;
    if (part.type === 'reasoning') return part.text === '' ? '' : `(thinking) ${part.text}`;
    return `[${part.type} ${part.filename ?? part.mediaType}]`;
  });
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  return [...parts, ...calls.map(({ name, arguments: given }) => `→ ${name}(${given})`)].filter(Boolean).join('\n');
}

/** Who said it: a role, and of a result the tool. */
function speakerOf(message: ConversationMessage): string {
  return message.role === 'tool' ? message.toolName : message.role;
}
