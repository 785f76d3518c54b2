/** The views of Studio by the first part of their address. Each is loaded when it is first shown. */
import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { Place } from './router.ts';
import type { ViewProps } from './view-props.ts';

type View = LazyExoticComponent<ComponentType<ViewProps>>;

const SESSIONS: View = lazy(async () => ({ default: (await import('../sessions/sessions-view.tsx')).SessionsView }));
const INBOX: View = lazy(async () => ({ default: (await import('../inbox/inbox-view.tsx')).InboxView }));
const WORKERS: View = lazy(async () => ({ default: (await import('../workers/workers-view.tsx')).WorkersView }));
const CONVERSATION: View = lazy(async () => ({
  default: (await import('../conversation/conversation-view.tsx')).ConversationView,
}));

/** `/` and `/sessions` list; `/inbox`; `/workers`; `/sessions/:id`, and `/sessions/:id/<name>` for further views of one session. */
export function viewOf({ parts: [first, id, name] }: Place): View | undefined {
  if (first === undefined) return SESSIONS;
  if (first === 'inbox') return INBOX;
  if (first === 'workers') return WORKERS;
  if (first !== 'sessions') return undefined;
  if (id === undefined) return SESSIONS;
  return name === undefined ? CONVERSATION : SESSION_VIEWS[name];
}

/** Views of one session beside its conversation, by the name in their address. `session-tabs.ts` lists them for people. */
const SESSION_VIEWS: Readonly<Record<string, View>> = {
  record: lazy(async () => ({ default: (await import('../record/record-view.tsx')).RecordView })),
  timeline: lazy(async () => ({ default: (await import('../record/timeline-view.tsx')).TimelineView })),
  strategies: lazy(async () => ({ default: (await import('../compare/strategies-view.tsx')).StrategiesView })),
  compare: lazy(async () => ({ default: (await import('../compare/compare-view.tsx')).CompareView })),
};
