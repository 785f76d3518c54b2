/** Drafts tell thinking from text, and whose input a call's is. */
export const draftKinds: string = `
ALTER TABLE drafts ADD COLUMN kind TEXT;
ALTER TABLE drafts ADD COLUMN tool_name TEXT;
`;
