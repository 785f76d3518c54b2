import type { Place } from './router.ts';

/** What every view gets: the place that the address names. */
export interface ViewProps {
  readonly place: Place;
}
