import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { type MouseEvent, type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { navigate } from '../../shell/router.ts';
import { Button } from '../../ui/button.tsx';
import { MAX_MARKDOWN, ScrollingContext } from '../text/markdown.tsx';
import { BlockRow } from './block-row.tsx';
import { RowBoundary } from './row-boundary.tsx';
import type { Row } from './rows.ts';

/**
 * The rows of a conversation. Only those near the screen exist, so that its length does not matter. It opens at its end and stays there while
 * the conversation grows; a person who scrolls up is left alone.
 */
export function ConversationList(props: {
  readonly rows: readonly Row[];
  /** The address of a row. */
  readonly hrefOf: (key: string) => string;
  /** The row to go to: the one that the address names, or that was found. Empty: the end. */
  readonly target: string;
  /** The log is being read for the first time. */
  readonly isReading: boolean;
}) {
  const { rows, hrefOf, target, isReading } = props;
  const box = useRef<HTMLDivElement>(null);
  const getItemKey = useItemKey(rows);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => estimate(rows[index]),
    getItemKey,
    overscan: 4,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: 60,
    paddingStart: 16,
    paddingEnd: 24,
  });
  const touches = useRef(0);
  const touch = (): void => {
    touches.current++;
  };
  const goTo = useWayTo(virtualizer, box, touches);
  useStart(rows, target, { isReading, touches }, (index) => {
    if (index < 0) virtualizer.scrollToEnd({ behavior: 'instant' });
    else goTo(index);
  });
  const isAway = rows.length > 0 && !virtualizer.isAtEnd(400);
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        onWheel={touch}
        onTouchMove={touch}
        onKeyDown={(event) => {
          touch();
          if (event.target !== box.current || (event.key !== 'Home' && event.key !== 'End')) return;
          // The browser's own way there ends at the first row that is measured.
          event.preventDefault();
          if (event.key === 'Home') goTo(0);
          else virtualizer.scrollToEnd({ behavior: 'instant' });
        }}
        onPointerDown={touch}
        className="h-full overflow-y-auto [overflow-anchor:none]"
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-live="off"
      >
        <div className="relative mx-auto w-full max-w-4xl" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => {
            const row = rows[index];
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: j and k choose a row by keyboard
              // biome-ignore lint/a11y/noStaticElementInteractions: the actions that it shows are buttons
              <div
                key={key}
                onClick={(event) => row && chooseByTouch(event, hrefOf(row.key))}
                data-index={index}
                ref={virtualizer.measureElement}
                className="absolute top-0 left-0 w-full px-4 xl:px-14"
                style={{ transform: `translateY(${start}px)` }}
              >
                {row && (
                  <ScrollingContext value={virtualizer}>
                    <RowBoundary>
                      <BlockRow row={row} href={hrefOf(row.key)} isTarget={row.key === target} />
                    </RowBoundary>
                  </ScrollingContext>
                )}
              </div>
            );
          })}
        </div>
      </div>
      {isAway && (
        <Button
          className="absolute right-4 bottom-3 shadow"
          onClick={() => virtualizer.scrollToEnd({ behavior: 'instant' })}
        >
          To the end ↓
        </Button>
      )}
    </div>
  );
}

/** The key of a row by its index. The same function while all keys are the same: for another one all rows would be measured again. */
function useItemKey(rows: readonly Row[]): (index: number) => number | string {
  const [keyed, setKeyed] = useState(rows);
  const isSame = keyed === rows || (keyed.length === rows.length && keyed.every(({ key }, i) => key === rows[i]?.key));
  if (!isSame) setKeyed(rows);
  const current = isSame ? keyed : rows;
  return useCallback((index: number) => current[index]?.key ?? index, [current]);
}

/**
 * Goes to the named row, or to the end, when the first rows are there, and again when the address names another row. While the log is read, it
 * goes to the end of what was read, unless a person has scrolled.
 */
function useStart(
  rows: readonly Row[],
  target: string,
  { isReading, touches }: { readonly isReading: boolean; readonly touches: RefObject<number> },
  show: (index: number) => void,
): void {
  const [shown, setShown] = useState<string>();
  const wasReading = useRef(isReading);
  const index = target === '' ? -1 : rows.findIndex(({ key }) => key === target);
  const isReady = rows.length > 0 && (target === '' || index >= 0);
  useEffect(() => {
    if (!isReady) return;
    const isCatchingUp = wasReading.current && target === '' && touches.current === 0;
    wasReading.current = isReading;
    if (shown === target && !isCatchingUp) return;
    if (target !== '' || shown === undefined || isCatchingUp) show(index);
    setShown(target);
  }, [isReady, shown, target, index, show, isReading, touches]);
}

/** Frames in a row with the row on the screen and the list at rest, after which it stays there. */
const SETTLED_FRAMES = 3;

/**
 * Goes to a row, and again until it rests on the screen: rows that are measured late move it away, and a late event of an earlier scroll ends
 * the virtualizer's own way there as if a person had scrolled. A person who does scroll ends it.
 */
function useWayTo(
  virtualizer: Virtualizer<HTMLDivElement, Element>,
  box: RefObject<HTMLElement | null>,
  touches: RefObject<number>,
): (index: number) => void {
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return (index) => {
    const touchesBefore = touches.current;
    const go = (): void => virtualizer.scrollToIndex(index, { align: 'center', behavior: 'instant' });
    let settled = 0;
    const look = (): void => {
      if (touches.current !== touchesBefore || index >= virtualizer.options.count) return;
      const isThere = isOnScreen(box.current, index);
      if (!isThere) go();
      settled = isThere && !virtualizer.isScrolling ? settled + 1 : 0;
      if (settled < SETTLED_FRAMES) frame.current = requestAnimationFrame(look);
    };
    cancelAnimationFrame(frame.current);
    go();
    frame.current = requestAnimationFrame(look);
  };
}

function isOnScreen(box: HTMLElement | null, index: number): boolean {
  const row = box?.querySelector(`[data-index="${index}"]`);
  if (!box || !row) return !box;
  const screen = box.getBoundingClientRect();
  const { top, bottom } = row.getBoundingClientRect();
  return top <= screen.bottom && bottom >= screen.top;
}

const LETTERS = 95;
const LINE = 23;
/** Of longer texts the start is shown at first. */
const MAX_TYPED = 2000;

/** The height of a row that was not shown yet. A list whose guesses are good goes to a row at once. */
function estimate(row: Row | undefined): number {
  const block = row?.block;
  if (block?.type === 'user_message') return 34 + lines(Math.min(block.content.length, MAX_TYPED));
  if (block?.type === 'assistant_text')
    return 12 + lines(block.content.length <= MAX_MARKDOWN ? block.content.length : MAX_TYPED);
  return 28;
}

function lines(length: number): number {
  return Math.ceil(length / LETTERS) * LINE;
}

const NO_POINTER = '(hover: none)';

/** A touch has no pointer that could stay over a row: a tap chooses it, which shows its actions. What the tap is for comes first. */
function chooseByTouch(event: MouseEvent, href: string): void {
  if (!matchMedia(NO_POINTER).matches) return;
  const { target } = event;
  if (target instanceof Element && target.closest('a, button, summary, input, textarea, select, pre')) return;
  if (getSelection()?.isCollapsed === false) return;
  navigate(href, { replace: true });
}
