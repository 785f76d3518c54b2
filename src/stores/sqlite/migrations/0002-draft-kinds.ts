/** Drafts distinguish thinking from text, and name the tool that a call's input is for. */
export const draftKinds: string = `
ALTER TABLE drafts ADD COLUMN kind TEXT;
ALTER TABLE drafts ADD COLUMN tool_name TEXT;
`;
