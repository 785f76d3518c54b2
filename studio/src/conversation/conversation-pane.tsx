import { type ConversationBlock, findSubagent, type SessionConversationState } from 'holdfast/conversation';
import { lazy, Suspense, useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { readContent } from '../api/read-content.ts';
import { ForkContext } from '../compare/fork-context.ts';
import { useCommands } from '../shell/commands.ts';
import { addressOf, navigate, type Place, setQuery } from '../shell/router.ts';
import { foldKey } from './compaction.tsx';
import { ConversationList } from './rows/conversation-list.tsx';
import { FindBar } from './rows/find-bar.tsx';
import { OpenStates, OpenStatesContext } from './rows/open-states.tsx';
import { type Row, rowsOf } from './rows/rows.ts';
import { subagentKey } from './subagent.tsx';
import { ContentReaderContext } from './text/external-image.tsx';

const ForkDialog = lazy(async () => ({ default: (await import('../compare/fork-dialog.tsx')).ForkDialog }));

/** The list of a conversation with its find bar and keys. `#…` of the address names a block. */
export function ConversationPane(props: {
  readonly id: string;
  readonly state: SessionConversationState;
  readonly place: Place;
  readonly isLoading: boolean;
}) {
  const { id, state, place, isLoading } = props;
  const [open] = useState(() => new OpenStates());
  const [forked, setForked] = useState<ConversationBlock>();
  const rows = useRows(state, open);
  const [found, setFound] = useState('');
  const isFinding = place.query.has('q');
  const everyRow = useMemo(() => (isFinding ? rowsOf(state, EVERYTHING) : []), [isFinding, state]);
  const words = place.query.get('q');
  const read = useCallback((hash: string, signal: AbortSignal) => readContent(id, hash, signal), [id]);
  const hrefOf = useCallback((key: string) => `${addressOf('sessions', id)}#${encodeURIComponent(key)}`, [id]);
  const target = words === null || found === '' ? place.fragment : found;
  useEffect(() => openPathTo(state, open, target), [state, open, target]);
  const move = (step: 1 | -1): void => {
    const at = rows.findIndex(({ key }) => key === target);
    const next = rows[at < 0 ? rows.length - 1 : Math.min(Math.max(at + step, 0), rows.length - 1)];
    if (next) navigate(hrefOf(next.key), { replace: true });
  };
  useCommands([
    { id: 'find', title: 'Find in this conversation', group: 'Session', keys: 'f', run: () => setQuery({ q: ' ' }) },
    { id: 'next-block', title: 'Next block', group: 'Session', keys: 'j', isHidden: true, run: () => move(1) },
    { id: 'previous-block', title: 'Previous block', group: 'Session', keys: 'k', isHidden: true, run: () => move(-1) },
    {
      id: 'toggle-block',
      title: 'Open or close the block',
      group: 'Session',
      keys: 'Enter',
      isHidden: true,
      run: () => toggle(target),
    },
    {
      id: 'fork',
      title: 'Fork at the chosen block',
      group: 'Session',
      keys: 'F',
      run: () => setForked(forkable(rows, target)),
    },
  ]);
  const isEmpty = state.blocks.length === 0;
  return (
    <OpenStatesContext value={open}>
      {words !== null && !isEmpty && (
        <FindBar
          rows={everyRow}
          words={words}
          hit={place.query.get('hit') ?? ''}
          onWords={(q) => setQuery({ q: q === '' ? ' ' : q, hit: '' })}
          onShow={setFound}
          onClose={() => {
            setQuery({ q: '', hit: '' });
            document.querySelector<HTMLElement>('[role=log]')?.focus();
          }}
        />
      )}
      {isEmpty ? (
        <p className="flex-1 p-6 text-muted">{isLoading ? '' : 'Nothing was said in this session yet.'}</p>
      ) : (
        <ContentReaderContext value={read}>
          <ForkContext value={setForked}>
            <ConversationList rows={rows} hrefOf={hrefOf} target={target} isReading={isLoading} />
          </ForkContext>
        </ContentReaderContext>
      )}
      {forked && (
        <Suspense fallback={null}>
          <ForkDialog sessionId={id} block={forked} onClose={() => setForked(undefined)} />
        </Suspense>
      )}
    </OpenStatesContext>
  );
}

/** The block of the row that the address names, or the last one, if the main conversation has it. */
function forkable(rows: readonly Row[], target: string): ConversationBlock | undefined {
  const row = rows.find(({ key }) => key === target) ?? rows.findLast(({ depth }) => depth === 0);
  return row?.depth === 0 ? row.block : undefined;
}

/** Words are found inside closed subagents, too. */
const EVERYTHING = { isSubagentOpen: () => true, isFolded: () => false };

/** Opens or closes what the row holds, as a click on its heading would. */
function toggle(key: string): void {
  const row = document.getElementById(`block-${key}`);
  row?.querySelector<HTMLElement>('summary, button[aria-expanded]')?.click();
}

/** Opens the subagents around a block that the address names, once they are known. */
function openPathTo(state: SessionConversationState, open: OpenStates, key: string): void {
  const [conversationId = ''] = key.includes('~') ? key.split('~', 1) : [];
  const seen = new Set<string>();
  for (let at = findSubagent(state, conversationId); at && !seen.has(at.toolUseId); ) {
    seen.add(at.toolUseId);
    const name = subagentKey(at.toolUseId);
    if (!open.isChosen(name)) open.set(name, true);
    at = findSubagent(state, at.parentConversationId);
  }
}

/** The rows of a conversation, again when the state or what a person opened has changed. */
function useRows(state: SessionConversationState, open: OpenStates): readonly Row[] {
  const version = useSyncExternalStore(open.subscribe, () => open.version);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what is open
  return useMemo(
    () =>
      rowsOf(state, {
        isSubagentOpen: (toolUseId) => open.isOpen(subagentKey(toolUseId), false),
        isFolded: (key) => !open.isOpen(foldKey(key), true),
      }),
    [state, open, version],
  );
}
