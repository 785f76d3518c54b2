/** Runs commands by their keys. A sequence such as `g i` has to be completed within a second. */
import { currentCommands } from './commands.ts';

const SEQUENCE_MS = 1000;

let typed = '';
let typedAt = 0;

/** Listens until the page is closed. */
export function listenForKeys(): void {
  window.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || isTyping(event.target) || isInDialog(event.target)) return;
    if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    if (event.key === 'Enter' && isPressable(event.target)) return;
    const before = event.timeStamp - typedAt < SEQUENCE_MS ? `${typed} ` : '';
    for (const keys of [before + event.key, event.key]) {
      const command = currentCommands().findLast((each) => each.keys === keys);
      if (!command) continue;
      event.preventDefault();
      typed = '';
      command.run();
      return;
    }
    typed = event.key;
    typedAt = event.timeStamp;
  });
}

/** Whether a key writes text, or has a meaning of its own there. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

/** Whether Enter presses what has the focus. */
function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('a, button, summary') !== null;
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('[role=dialog]') !== null;
}
