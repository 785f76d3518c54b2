import type { BuiltInManager, History } from '../history-manager.ts';
import { asStage } from './compose.ts';
import { applyStage, managerOf } from './stage.ts';
import { messageCount } from './view.ts';

/** What a manager did to one request. */
export interface ObservedCuration {
  readonly promptName: string;
  readonly strategy: string;
  readonly originalCount: number;
  readonly curatedCount: number;
  readonly sessionId?: string;
}

/**
 * Reports to a listener what a manager does, for use outside the loop: inside, every request has its `history/curated` event.
 * Errors that the listener throws are ignored: the output is the manager's.
 */
export function observe(history: History, listener: (curation: ObservedCuration) => void): BuiltInManager {
  const inner = asStage(history);
  return managerOf({
    ...inner,
    apply(view, input) {
      const output = applyStage(inner, view, input);
      const newest = view.index.messages.at(-1);
      const sessionId = input.context.session?.id;
      try {
        listener({
          promptName: newest ? `${newest.promptNs}/${newest.promptKey}` : '',
          strategy: inner.name,
          originalCount: messageCount(view),
          curatedCount: messageCount(output.view),
          ...(sessionId !== undefined && { sessionId }),
        });
      } catch {
        // A listener only listens.
      }
      return output;
    },
  });
}
