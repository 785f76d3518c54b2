/**
 * A conversation as one HTML file, from the components that Studio shows it with: no script, nothing loaded from anywhere, and a policy that
 * enforces it. Every row is rendered by itself, so that the cost of a document grows with its length.
 */
import { createHash } from 'node:crypto';
import {
  type BlockList,
  reviveConversationState,
  type SessionConversationState,
  type SubagentState,
} from 'holdfast/conversation';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type { DocumentHead } from '../../../src/transcripts/export/export-with.ts';
import { BlockRow } from '../conversation/rows/block-row.tsx';
import { type Row, rowsOf } from '../conversation/rows/rows.ts';
import { AsWrittenContext } from '../conversation/text/markdown.tsx';
import style from './document.css?inline';
import { reportLosses } from './losses.ts';

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Subagents deeper than this follow the conversation instead of standing inside of it. */
const MAX_DEPTH = 20;

/** The whole conversation. Every subagent is in it once: where it was started, or at the end if no block shows it. */
export function renderDocument(given: SessionConversationState, { title, facts, onLoss }: DocumentHead): string {
  const state = reviveConversationState(given); // a state of another copy of this code would be indexed again for every look-up
  const shown = new Set<string>();
  const rows = (blocks: BlockList): readonly Row[] =>
    rowsOf(
      state,
      {
        isFolded: () => false,
        isSubagentOpen: (toolUseId, depth) => {
          if (depth >= MAX_DEPTH || shown.has(toolUseId)) return false;
          shown.add(toolUseId);
          return true;
        },
      },
      blocks,
    );
  const parts = [renderToStaticMarkup(<Head title={title} facts={facts} />)];
  const write = (blocks: BlockList): void => {
    const all = rows(blocks);
    reportLosses(all, onLoss);
    for (const tree of treesOf(all)) parts.push(markupOf(tree), '\n');
  };
  write(state.blocks);
  for (const subagent of state.subagents) {
    if (shown.has(subagent.toolUseId)) continue;
    shown.add(subagent.toolUseId);
    parts.push(renderToStaticMarkup(<Detached subagent={subagent} />));
    write(subagent.blocks);
  }
  const name = renderToStaticMarkup(<title>{title}</title>);
  // A zero is no character of HTML.
  return page(name, parts.join('').replaceAll('\0', '\ufffd'));
}

function page(name: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
${name.replaceAll('\0', '\ufffd')}
<style>${style}</style>
</head>
<body>
<main>
${body}</main>
</body>
</html>
`;
}

function Head({ title, facts }: Pick<DocumentHead, 'title' | 'facts'>) {
  return (
    <header className="mb-4 border-b border-line pb-3">
      <h1 className="mb-2 text-lg font-semibold break-words">{title}</h1>
      {facts.length > 0 && (
        <dl className="grid grid-cols-[max-content_1fr] gap-x-4 text-muted">
          {facts.map(([name, value]) => (
            <div key={name} className="contents">
              <dt>{name}</dt>
              <dd className="min-w-0 break-words text-ink tabular-nums">{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </header>
  );
}

/** The heading of a subagent that no block shows. */
function Detached({ subagent: { name, toolUseId, description } }: { readonly subagent: SubagentState }) {
  return (
    <h2 className="mt-6 mb-1 border-t border-line pt-3 font-semibold break-words">
      Subagent {name ?? toolUseId}
      {description !== undefined && <span className="font-normal text-muted"> {description}</span>}
    </h2>
  );
}

/** A row; its texts as they were written if Markdown fails at one of them, as at tens of thousands of open brackets. */
function markupOf(tree: RowTree): string {
  try {
    return renderToStaticMarkup(rowElement(tree));
  } catch {
    return renderToStaticMarkup(<AsWrittenContext value={true}>{rowElement(tree)}</AsWrittenContext>);
  }
}

interface RowTree {
  readonly row: Row;
  readonly inner: RowTree[];
}

/** The rows of a subagent inside of its own. */
function treesOf(rows: readonly Row[]): readonly RowTree[] {
  const trees: RowTree[] = [];
  const path: RowTree[] = [];
  for (const row of rows) {
    const tree: RowTree = { row, inner: [] };
    path.length = row.depth;
    (path.at(-1)?.inner ?? trees).push(tree);
    path.push(tree);
  }
  return trees;
}

function rowElement({ row, inner }: RowTree): ReactNode {
  return (
    <BlockRow
      key={row.key}
      row={row.depth > 1 ? { ...row, depth: 1 } : row}
      href={`#block-${encodeURIComponent(row.key)}`}
    >
      {inner.map(rowElement)}
    </BlockRow>
  );
}
