/** What tests look for on a page of Studio. */
import type { Locator, Page } from 'playwright-core';

/** The rows of the conversation of a kind that are on the page. */
export function rows(page: Page, type: string): Locator {
  return page.locator(`article[data-type=${type}]`);
}

/** Writes into the field and presses Enter. */
export async function say(page: Page, text: string, keys = 'Enter'): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByLabel('Message', { exact: true }).press(keys);
}

/** Whatever a page must not do: scripts of others, requests to other hosts, dialogs, breaches of the policy, errors. */
export interface Misdeeds {
  readonly list: string[];
}

/** Watches a page from before it loads. */
export async function watchMisdeeds(page: Page, origin: string): Promise<Misdeeds> {
  const list: string[] = [];
  page.on('dialog', (dialog) => {
    list.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:')) list.push(`request: ${url}`);
  });
  page.on('pageerror', (error) => list.push(`error: ${error.message}`));
  page.on('popup', (popup) => list.push(`popup: ${popup.url()}`));
  await page.exposeFunction('noteMisdeed', (what: string) => list.push(what));
  await page.addInitScript(`
    document.addEventListener('securitypolicyviolation', (event) => noteMisdeed('policy: ' + event.violatedDirective + ' ' + event.blockedURI));
    globalThis.alert = () => noteMisdeed('alert');
  `);
  return { list };
}
