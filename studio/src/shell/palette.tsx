import { useSessions } from 'holdfast/react';
import { type Ref, useDeferredValue, useEffect, useId, useRef, useState } from 'react';
import { REQUEST, SERVER_URL } from '../api/server.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Kbd } from '../ui/kbd.tsx';
import { type Command, useAllCommands } from './commands.ts';
import { addressOf, navigate } from './router.ts';

const MAX_SHOWN = 40;

/** Finds a command or a session by a few letters, and runs or opens it. */
export function Palette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Commands" isTitleHidden initialFocus={field}>
      <PaletteList field={field} onClose={onClose} />
    </Dialog>
  );
}

function PaletteList({ field, onClose }: { readonly field: Ref<HTMLInputElement>; readonly onClose: () => void }) {
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState(0);
  const list = useId();
  const box = useRef<HTMLDivElement>(null);
  const found = useFound(useDeferredValue(words));
  const current = found[Math.min(chosen, found.length - 1)];

  useEffect(() => {
    box.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  });

  const run = (command: Command | undefined): void => {
    if (!command) return;
    onClose();
    queueMicrotask(command.run); // after the dialog has given the focus back
  };
  return (
    <>
      <input
        ref={field}
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={current && `${list}-${current.id}`}
        aria-label="Command or session"
        placeholder="Type a command or a session…"
        className="w-full border-b border-line bg-transparent px-4 py-3 text-base outline-none"
        value={words}
        onChange={({ target }) => {
          setWords(target.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined) setChosen((at) => Math.min(Math.max(at + step, 0), found.length - 1));
          else if (event.key === 'Enter') run(current);
          else return;
          event.preventDefault();
        }}
      />
      <div id={list} ref={box} role="listbox" aria-label="Commands" className="overflow-y-auto p-1.5">
        {found.map((command, index) => (
          <div
            key={command.id}
            id={`${list}-${command.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={command === current}
            onMouseMove={() => setChosen(index)}
            onClick={() => run(command)}
            onKeyDown={() => {}}
            className="flex h-8 items-center gap-3 rounded px-2.5 aria-selected:bg-raised"
          >
            <span className="w-14 shrink-0 text-xs text-muted">{command.group}</span>
            <span className="min-w-0 flex-1 truncate">{command.title}</span>
            {command.keys !== undefined && <Kbd keys={command.keys} />}
          </div>
        ))}
        {found.length === 0 && <p className="px-2.5 py-2 text-muted">Nothing has this name.</p>}
      </div>
    </>
  );
}

/** The commands and the newest sessions whose title has all the words. */
function useFound(words: string): readonly Command[] {
  const commands = useAllCommands().filter(({ isHidden }) => !isHidden);
  const { sessions } = useSessions(SERVER_URL, { ...REQUEST, limit: 200 });
  const opened = sessions.map(
    ({ id, title }): Command => ({
      id: `open-${id}`,
      title: title ?? id,
      group: 'Open',
      run: () => navigate(addressOf('sessions', id)),
    }),
  );
  const parts = words.toLowerCase().split(/\s+/);
  const matches = ({ title, group }: Command): boolean => {
    const text = `${group} ${title}`.toLowerCase();
    return parts.every((part) => text.includes(part));
  };
  return [...commands, ...opened].filter(matches).slice(0, MAX_SHOWN);
}
