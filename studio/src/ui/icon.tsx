/** The few icons that Studio has, drawn on a grid of 16. They only accompany words, so screen readers skip them. */
const PATHS = {
  sessions: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  inbox: 'M2.5 9.5 4.5 3h7l2 6.5V13h-11V9.5h3.2L7 11h2l1.3-1.5h3.2',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14',
  chevron: 'm6 4 4 4-4 4',
  check: 'm3 8.5 3.2 3.2L13 5',
  circle: 'M8 12.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Z',
  cross: 'm4 4 8 8M12 4l-8 8',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3.2L10 10',
  terminal: 'm3 4.5 3.5 3.5L3 11.5M8 12h5',
  file: 'M4 2h5l3 3v9H4V2Zm5 0v3h3',
  edit: 'm3 13 .6-2.8L11 2.8l2.2 2.2-7.4 7.4L3 13Z',
  globe: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14c-2-2-2.5-4-2.5-6S6 4 8 2Z',
  agent: 'M8 2v2M3.5 4.5h9v8h-9v-8ZM6 8v1M10 8v1M1.8 8v2M14.2 8v2',
  plan: 'm2.5 4 1 1 1.8-2M7.5 4H13M2.5 8.5l1 1 1.8-2M7.5 8.5H13M3 12.5h1.5M7.5 12.5H13',
  question: 'M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 11.5v.2M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Z',
  tool: 'M9.8 3.2a3.2 3.2 0 0 0-3.6 4.4L2.5 11.3l2.2 2.2 3.7-3.7a3.2 3.2 0 0 0 4.4-3.6l-2 2-2-.6-.6-2 1.6-2.4Z',
  thought: 'M5.5 12.5h5M6.5 14h3M8 2a4.2 4.2 0 0 0-2.5 7.6v1.2h5V9.6A4.2 4.2 0 0 0 8 2Z',
  fold: 'M2.5 8h11M8 2v3.5M6 4l2 2 2-2M8 14v-3.5M6 12l2-2 2 2',
  fork: 'M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM8 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.5 5.5C4.5 8 8 8 8 10.5M11.5 5.5C11.5 8 8 8 8 10.5',
  link: 'M6.7 9.3a2.5 2.5 0 0 0 3.6 0l2.2-2.2a2.5 2.5 0 0 0-3.6-3.6l-.7.7M9.3 6.7a2.5 2.5 0 0 0-3.6 0L3.5 8.9a2.5 2.5 0 0 0 3.6 3.6l.7-.7',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 7.2V11M8 5v.2',
  stop: 'M4.5 4.5h7v7h-7z',
  send: 'M8 13V3M4 7l4-4 4 4',
  theme: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 2v12',
  export: 'M8 10V2.5M5 5l3-3 3 3M3 9.5V13h10V9.5',
  workers: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.2M5 11h.2',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

export function Icon({ name, className = '' }: { readonly name: IconName; readonly className?: string }) {
  return (
    <svg
      viewBox="0 0 16 16"
      aria-hidden="true"
      className={`size-4 shrink-0 ${className}`}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.3"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
