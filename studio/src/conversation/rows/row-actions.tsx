import { clock } from '../../ui/format.ts';
import { Icon } from '../../ui/icon.tsx';

/**
 * What can be done with a row: fork there, or copy its address. Beside the row on a wide screen, over its corner on a narrow one; shown under the
 * pointer, with the focus, and for the chosen row.
 */
export function RowActions(props: {
  readonly href: string;
  readonly at: string;
  readonly isShown: boolean;
  readonly onFork: (() => void) | undefined;
}) {
  const { href, at, isShown, onFork } = props;
  return (
    <span
      className={`absolute top-0.5 z-10 flex items-center gap-1 text-xs text-muted focus-within:opacity-100 group-hover/row:opacity-100 xl:left-full xl:pl-2 max-xl:-top-2.5 max-xl:right-0 max-xl:rounded-md max-xl:border max-xl:border-line max-xl:bg-ground max-xl:px-1 max-xl:shadow-sm ${isShown ? '' : 'opacity-0 max-xl:not-group-hover/row:pointer-events-none'}`}
    >
      {onFork && (
        <button
          type="button"
          title="Fork the session here"
          aria-label={`Fork at this block, ${clock(at)}`}
          onClick={onFork}
          className="flex size-6 items-center justify-center rounded hover:bg-raised hover:text-ink"
        >
          <Icon name="fork" className="size-3.5!" />
        </button>
      )}
      <a
        href={href}
        title={new Date(at).toLocaleString()}
        aria-label={`Link to this block, ${clock(at)}`}
        className="flex h-6 items-center gap-1 rounded px-0.5 tabular-nums hover:text-ink"
      >
        <Icon name="link" className="size-3.5!" /> {clock(at)}
      </a>
    </span>
  );
}
