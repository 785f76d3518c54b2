/** The parts of a browser that the clients use. They are absent in Node, where everything works without them. */
interface Browser extends Partial<EventTarget> {
  readonly document?: EventTarget & { readonly visibilityState: 'visible' | 'hidden' };
  readonly requestAnimationFrame?: (callback: () => void) => unknown;
}

const FRAME_MS = 16;
const HIDDEN_MS = 250;

/** Read when it is used: a test, or a page's script, may define it late. */
function browser(): Browser {
  return globalThis as Browser;
}

/** Whether people see the page. True where there is no page. */
export function isVisible(): boolean {
  return browser().document?.visibilityState !== 'hidden';
}

/** Calls `listener` when the tab is shown or hidden, and when the network is back. Returns a function that ends it. */
export function onReturn(listener: (isOnline: boolean) => void): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  browser().document?.addEventListener('visibilitychange', () => listener(false), { signal });
  browser().addEventListener?.('online', () => listener(true), { signal });
  return () => ended.abort();
}

/** Calls `flush` with the next frame; in a hidden tab, which has no frames, a little later. */
export function nextFrame(flush: () => void): void {
  const { requestAnimationFrame } = browser();
  if (requestAnimationFrame && isVisible()) requestAnimationFrame(flush);
  else setTimeout(flush, isVisible() ? FRAME_MS : HIDDEN_MS);
}
