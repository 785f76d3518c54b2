import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds on a page that was opened with `bypassCSP`: the rule, and the first elements that violate it. */
export async function violations(page: Page): Promise<readonly unknown[]> {
  await page.evaluate(SOURCE);
  return (await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 200) + failureSummary)]))',
  )) as readonly unknown[];
}
