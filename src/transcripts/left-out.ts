/** What messages for another agent or API leave out, and why: the same words wherever a conversation is converted. */
export const LEFT_OUT = {
  reasoning: 'its proof belongs to one provider',
  instructions: 'the agent that continues has its own',
  notice: 'it is no message',
} as const;
