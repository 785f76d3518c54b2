import type { Page } from 'playwright-core';

/** One picture. */
export interface Shot {
  readonly name: string;
  readonly path: string;
  /** What has to be on the page. */
  readonly shows: string;
  readonly before?: (page: Page) => Promise<void>;
}
