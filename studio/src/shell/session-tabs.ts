/** The views of one session: the name in the address, what people call it, and what it shows. The conversation has no name. */
export const SESSION_TABS: readonly (readonly [name: string, label: string, title: string])[] = [
  ['', 'Conversation', 'Conversation'],
  ['record', 'Record', 'Record: every request as it was sent'],
  ['timeline', 'Timeline', 'Timeline: when everything happened'],
  ['strategies', 'Strategies', 'Strategies: what others would have sent'],
  ['compare', 'Compare', 'Compare with another session'],
];
