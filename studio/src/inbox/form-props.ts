import type { ClientActions } from '../../../src/react/conversation-client.ts';
import { sessionActions } from '../api/server.ts';
import type { Attempt } from '../ui/use-attempt.ts';

/** What a form for something that waits gets. */
export interface FormProps<Item = OfSession> {
  readonly item: Item;
  readonly attempt: Attempt;
  /** It was decided. */
  readonly onDone: () => void;
}

/** Something that waits in a session. */
export interface OfSession {
  readonly session: { readonly id: string };
}

/** Acts on the session of a form's item. */
export function decide({ item, attempt, onDone }: FormProps, act: (session: ClientActions) => Promise<unknown>): void {
  void attempt.run(() => act(sessionActions(item.session.id))).then((isDone) => isDone && onDone());
}
