import { memo } from 'react';
import type { ComparedMessage, ComparedRow } from '../../../src/core/views/compare-logs.ts';
import type { ComparedSession, SessionComparison } from '../../../src/server/routes/record-routes.ts';
import { visible } from '../conversation/tools/ansi.ts';
import { Link } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { ClampedText } from '../ui/clamped-text.tsx';
import { compact, count, money } from '../ui/format.ts';
import { type Piece, wordDifferences } from './word-differences.ts';

const COLUMNS = 'grid grid-cols-2 gap-x-6 px-4';

/** Messages in pairs. What only one of them says is marked, word by word. */
export function ComparedRows({
  comparison,
  rows,
}: {
  readonly comparison: SessionComparison;
  readonly rows: readonly ComparedRow[];
}) {
  const { left, right, sharedSeq } = comparison;
  return (
    <>
      <div className={`${COLUMNS} sticky top-0 z-10 border-y border-line bg-ground py-1`}>
        <Title session={left} />
        <Title session={right} />
      </div>
      {sharedSeq > 0 && (
        <p className="border-b border-line bg-panel px-4 py-1 text-xs text-muted">
          ⋯ {sharedSeq === 1 ? 'The first event is' : `The first ${count(sharedSeq, 'event')} are`} the same in both.{' '}
          <Link href={addressOf('sessions', right.id)} className="text-accent underline">
            Read it in the conversation
          </Link>
        </p>
      )}
      <ol aria-label="Messages of both sessions">
        {rows.map((row) => (
          <Row key={`${row.left?.seq} ${row.right?.seq}`} row={row} />
        ))}
      </ol>
      {rows.length === 0 && <p className="px-4 py-3 text-muted">Nothing differs after the shared beginning.</p>}
    </>
  );
}

function Title({ session: { id, title, forkedFrom } }: { readonly session: ComparedSession }) {
  return (
    <span className="flex min-w-0 items-baseline gap-3">
      <Link href={addressOf('sessions', id)} className="min-w-0 truncate font-medium hover:underline">
        {title?.trim() || id}
      </Link>
      {forkedFrom && <span className="shrink-0 text-xs text-muted max-md:hidden">fork at event {forkedFrom.seq}</span>}
    </span>
  );
}

const Row = memo(({ row: { left, right, isSame } }: { readonly row: ComparedRow }) => {
  const words =
    !isSame && left && right && left.role === right.role ? wordDifferences(left.text, right.text) : undefined;
  return (
    <li className={`${COLUMNS} border-b border-line py-1.5`} data-same={isSame}>
      <Side message={left} isSame={isSame} pieces={words?.left} mark="bg-fails-ground" />
      <Side message={right} isSame={isSame} pieces={words?.right} mark="bg-adds-ground" />
    </li>
  );
});

function Side(props: {
  readonly message: ComparedMessage | undefined;
  readonly isSame: boolean;
  readonly pieces: readonly Piece[] | undefined;
  readonly mark: string;
}) {
  const { message, isSame, pieces, mark } = props;
  if (!message)
    return (
      <div className="text-muted">
        <span aria-hidden="true">–</span>
        <span className="sr-only">nothing</span>
      </div>
    );
  const { role, text, length, calls, toolName, isError, model, usage } = message;
  const isResult = role === 'tool';
  return (
    <div className={`min-w-0 ${isSame ? 'text-muted' : ''}`}>
      <p className="flex flex-wrap gap-x-3 text-xs text-muted">
        <span className={role === 'user' ? 'text-accent' : ''}>{isResult ? toolName : role}</span>
        {isError && <span className="text-fails">failed</span>}
        {model !== undefined && <span>{model}</span>}
        {usage && <span className="tabular-nums">{compact(usage.inputTokens + usage.outputTokens)} tokens</span>}
        {usage?.costUsd !== undefined && <span className="tabular-nums">{money(usage.costUsd)}</span>}
      </p>
      <ClampedText text={visible(text)} isCode={isResult}>
        {pieces && <Pieces pieces={pieces} mark={mark} />}
      </ClampedText>
      {length > text.length && (
        <p className="text-xs text-muted">{count(length - text.length, 'more character')} in the conversation</p>
      )}
      {calls?.map(({ name, arguments: given }, index) => (
        <p key={index} className="line-clamp-2 font-mono text-xs break-all">
          → {name}({visible(given)})
        </p>
      ))}
    </div>
  );
}

function Pieces({ pieces, mark }: { readonly pieces: readonly Piece[]; readonly mark: string }) {
  return pieces.map(({ text, isChanged }, index) =>
    isChanged ? (
      <mark key={index} className={mark}>
        {visible(text)}
      </mark>
    ) : (
      visible(text)
    ),
  );
}
