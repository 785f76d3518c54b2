/** Pictures of what a person meets between the views: dialogs, the sidebar of a narrow screen, what was found, and pages that are empty. */
import type { Shot } from './shot.ts';

export const STATE_SHOTS: readonly Shot[] = [
  { name: 'workers', path: 'workers', shows: 'main section' },
  { name: 'no-hits', path: '?q=zeppelin', shows: 'main p' },
  { name: 'no-page', path: 'elsewhere', shows: 'main p' },
  { name: 'nothing-sent', path: 'sessions/given-up/record', shows: 'main p' },
  {
    name: 'find',
    path: 'sessions/lock-bug?q=release',
    shows: 'article.bg-accent-ground',
  },
  {
    name: 'export',
    path: 'sessions/lock-bug',
    shows: 'article',
    before: async (page) => {
      await page.keyboard.press('e');
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'give-up',
    path: 'inbox',
    shows: 'main section',
    before: async (page) => {
      await page.getByRole('button', { name: 'Give it up…' }).first().click();
      await page.getByRole('alertdialog').or(page.getByRole('dialog')).waitFor();
    },
  },
  {
    name: 'sidebar',
    path: 'sessions/lock-bug',
    shows: 'article',
    before: async (page) => {
      const menu = page.getByRole('button', { name: 'Holdfast' });
      if (await menu.isVisible()) await menu.click();
    },
  },
  {
    name: 'chosen',
    path: 'sessions/lock-bug',
    shows: 'article',
    before: async (page) => {
      for (let i = 0; i < 4; i++) await page.keyboard.press('k');
      await page.locator('article.bg-accent-ground').waitFor();
    },
  },
];
