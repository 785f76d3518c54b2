import { type RefObject, useLayoutEffect, useState } from 'react';

/** The part of a scrolled element that is on the screen, in pixels of its content. */
export interface ScrollWindow {
  readonly from: number;
  readonly to: number;
}

const STEP = 400;

/** Follows an element that is scrolled along one axis, in steps: the window has a margin of one step on both sides. */
export function useScrollWindow(ref: RefObject<HTMLElement | null>, axis: 'x' | 'y'): ScrollWindow {
  const [window, setWindow] = useState<ScrollWindow>({ from: 0, to: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const read = (): void => {
      const { scrollTop, scrollLeft, clientHeight, clientWidth } = element;
      const [start, size] = axis === 'x' ? [scrollLeft, clientWidth] : [scrollTop, clientHeight];
      const from = (Math.floor(start / STEP) - 1) * STEP;
      const to = (Math.ceil((start + size) / STEP) + 1) * STEP;
      setWindow((last) => (last.from === from && last.to === to ? last : { from, to }));
    };
    read();
    element.addEventListener('scroll', read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', read);
      observer.disconnect();
    };
  }, [ref, axis]);
  return window;
}
