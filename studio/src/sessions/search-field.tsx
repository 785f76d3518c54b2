import type { Ref } from 'react';
import { Icon } from '../ui/icon.tsx';
import { Kbd } from '../ui/kbd.tsx';

/** Words to search for in every message of every session. Escape empties it, arrow down goes to the hits. */
export function SearchField(props: {
  readonly ref: Ref<HTMLInputElement>;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const { ref, value, onChange } = props;
  return (
    <label className="flex h-7 w-72 max-w-full items-center max-md:w-full gap-2 rounded-md border border-line px-2 text-muted focus-within:border-accent">
      <Icon name="search" />
      <input
        ref={ref}
        type="search"
        aria-label="Search all sessions"
        placeholder="Search all text"
        value={value}
        onChange={({ target }) => onChange(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            onChange('');
            event.currentTarget.blur();
          } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
            event.preventDefault();
            document.querySelector<HTMLElement>('[data-list] a')?.focus();
          }
        }}
        className="min-w-0 flex-1 bg-transparent text-ink outline-none [&::-webkit-search-cancel-button]:hidden"
      />
      {value === '' && (
        <span className="max-md:hidden">
          <Kbd keys="/" />
        </span>
      )}
    </label>
  );
}
