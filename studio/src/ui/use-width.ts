import { type RefObject, useLayoutEffect, useRef, useState } from 'react';

/** The width of an element in pixels, now and whenever it changes; 0 until it is on the page. */
export function useWidth<T extends HTMLElement>(): readonly [ref: RefObject<T | null>, width: number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
