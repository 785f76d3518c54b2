/** The views of one session: the name in the address, and what people call it. The conversation has no name. */
export const SESSION_TABS: readonly (readonly [name: string, label: string])[] = [['', 'Conversation']];
