/**
 * What a person can do now. Views register their commands while they are shown; the palette, the keyboard and the help all read this list.
 *
 *     useCommands([…]) ─▶ registry ─▶ palette (⌘K), keys (`g i`), help (`?`)
 */
import { useEffect, useState, useSyncExternalStore } from 'react';

/** One thing to do. */
export interface Command {
  readonly id: string;
  /** What it does, as a heading: `Go to Inbox`. */
  readonly title: string;
  /** Where the palette lists it. */
  readonly group: 'Go to' | 'Open' | 'Session' | 'List' | 'View';
  /** One key, or keys one after the other: `j`, `g i`. Not active while a person types. */
  readonly keys?: string;
  /** Only a key, not worth a line in the palette. */
  readonly isHidden?: boolean;
  readonly run: () => void;
}

const registered = new Map<object, readonly Command[]>();
const listeners = new Set<() => void>();
let all: readonly Command[] = [];

function changed(): void {
  all = [...registered.values()].flat();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Every command of the views that are shown. */
export function useAllCommands(): readonly Command[] {
  return useSyncExternalStore(subscribe, currentCommands);
}

export function currentCommands(): readonly Command[] {
  return all;
}

/** Registers commands while the component is shown. `run` may change with every render. */
export function useCommands(commands: readonly Command[]): void {
  const [owner] = useState(() => ({ commands }));
  useEffect(() => {
    owner.commands = commands;
  });
  const shape = commands.map(({ id, title, keys }) => `${id} ${title} ${keys}`).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list changes with its shape; what runs is read when it runs
  useEffect(() => {
    const named = commands.map((command) => ({
      ...command,
      run: () => owner.commands.find(({ id }) => id === command.id)?.run(),
    }));
    registered.set(owner, named);
    changed();
    return () => {
      registered.delete(owner);
      changed();
    };
  }, [shape, owner]);
}
