import { useCommands } from '../shell/commands.ts';

/** The first and the next entries of a list are its links. `j` and `k` move the focus among them, Enter follows the focused one. */
export function useListKeys(what: string): void {
  useCommands([
    { id: 'next', title: `Next ${what}`, group: 'List', keys: 'j', isHidden: true, run: () => moveFocus(1) },
    { id: 'previous', title: `Previous ${what}`, group: 'List', keys: 'k', isHidden: true, run: () => moveFocus(-1) },
  ]);
}

function moveFocus(step: 1 | -1): void {
  const links = Array.from(document.querySelectorAll<HTMLElement>('[data-list] [data-entry]'));
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (step === 1 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1);
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: 'nearest' });
}
