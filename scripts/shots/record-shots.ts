/** Pictures of the record, of timelines, of other strategies, and of a fork beside its origin. */
import type { RequestList } from '../../src/server/routes/record-routes.ts';
import type { StudioHost } from '../../test/browser/studio/studio-host.ts';
import type { Shot } from './shot.ts';

/** The pictures of the session of `playRelease`, and of its fork. */
export async function recordShots(host: StudioHost): Promise<readonly Shot[]> {
  const { requests } = await host.json<RequestList>('sessions/release/requests');
  const missed = requests.find(({ cache }) => cache.cause === 'history');
  const request = encodeURIComponent(`${missed?.evaluationId}.${missed?.turn}`);
  return [
    { name: 'record', path: 'sessions/release/record', shows: 'li[data-fate]' },
    { name: 'record-missed', path: `sessions/release/record?request=${request}`, shows: 'li[data-fate=dropped]' },
    { name: 'timeline', path: 'sessions/release/timeline', shows: '[role=option]' },
    { name: 'strategies', path: 'sessions/release/strategies', shows: 'tbody tr' },
    { name: 'compare', path: 'sessions/release-2/compare', shows: 'ol li' },
    { name: 'compare-with', path: 'sessions/release/compare', shows: 'main [data-entry]' },
    {
      name: 'fork',
      path: 'sessions/release',
      shows: 'article',
      before: async (page) => {
        await page.keyboard.press('F');
        await page.getByRole('dialog').waitFor();
      },
    },
  ];
}
