import type { MouseEvent } from 'react';
import { navigate } from '../../shell/router.ts';

const NO_POINTER = '(hover: none)';

/** A touch has no pointer that could stay over a row: a tap chooses it, which shows its actions. What the tap is for comes first. */
export function chooseByTouch(event: MouseEvent, href: string): void {
  if (!matchMedia(NO_POINTER).matches) return;
  const { target } = event;
  if (target instanceof Element && target.closest('a, button, summary, input, textarea, select, pre')) return;
  if (getSelection()?.isCollapsed === false) return;
  navigate(href, { replace: true });
}
