import type { Attempt } from '../ui/use-attempt.ts';

/** What a form for something that waits gets. */
export interface FormProps<Item> {
  readonly item: Item;
  readonly attempt: Attempt;
  /** It was decided. */
  readonly onDone: () => void;
}
