/** The keys of a command, one after the other. */
export function Kbd({ keys }: { readonly keys: string }) {
  return (
    <span className="inline-flex gap-0.5">
      {keys.split(' ').map((key) => (
        <kbd
          key={key}
          className="min-w-4.5 rounded border border-line bg-panel px-1 text-center font-sans text-xs text-muted"
        >
          {NAMES[key] ?? key}
        </kbd>
      ))}
    </span>
  );
}

/** Whether the command key of this machine is ⌘; elsewhere it is Ctrl. */
const IS_APPLE = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '');

/** What people call the command key: `⌘` or `Ctrl`. */
export const MOD: string = IS_APPLE ? '⌘' : 'Ctrl';

const NAMES: Readonly<Record<string, string>> = { Mod: MOD, Enter: '↵', Escape: 'Esc', ArrowDown: '↓', ArrowUp: '↑' };
