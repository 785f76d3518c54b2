/** The views of Studio by the first part of their address. Each is loaded when it is first shown. */
import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { Place } from './router.ts';
import type { ViewProps } from './view-props.ts';

type View = LazyExoticComponent<ComponentType<ViewProps>>;

/** How each view is loaded, by the name in its address. */
const LOADERS = {
  sessions: async () => ({ default: (await import('../sessions/sessions-view.tsx')).SessionsView }),
  inbox: async () => ({ default: (await import('../inbox/inbox-view.tsx')).InboxView }),
  workers: async () => ({ default: (await import('../workers/workers-view.tsx')).WorkersView }),
  conversation: async () => ({ default: (await import('../conversation/conversation-view.tsx')).ConversationView }),
  record: async () => ({ default: (await import('../record/record-view.tsx')).RecordView }),
  timeline: async () => ({ default: (await import('../record/timeline-view.tsx')).TimelineView }),
  strategies: async () => ({ default: (await import('../compare/strategies-view.tsx')).StrategiesView }),
  compare: async () => ({ default: (await import('../compare/compare-view.tsx')).CompareView }),
} satisfies Readonly<Record<string, () => Promise<{ readonly default: ComponentType<ViewProps> }>>>;

const VIEWS = Object.fromEntries(Object.entries(LOADERS).map(([name, load]) => [name, lazy(load)])) as Readonly<
  Record<keyof typeof LOADERS, View>
>;

/** `/` and `/sessions` list; `/inbox`; `/workers`; `/sessions/:id`, and `/sessions/:id/<name>` for further views of one session. */
export function viewOf({ parts: [first, id, name] }: Place): View | undefined {
  if (first === undefined) return VIEWS.sessions;
  if (first === 'inbox' || first === 'workers') return VIEWS[first];
  if (first !== 'sessions') return undefined;
  if (id === undefined) return VIEWS.sessions;
  return name === undefined ? VIEWS.conversation : SESSION_VIEWS[name];
}

/** Views of one session beside its conversation, by the name in their address. */
const SESSION_VIEWS: Readonly<Record<string, View>> = {
  record: VIEWS.record,
  timeline: VIEWS.timeline,
  strategies: VIEWS.strategies,
  compare: VIEWS.compare,
};

/** Loads the other views when the page has nothing to do: they open at once, also while the server does not respond. */
export function preloadViews(): void {
  requestIdleCallback(async () => {
    for (const load of Object.values(LOADERS)) await load().catch(() => {}); // it is loaded again when it is shown
  });
}
