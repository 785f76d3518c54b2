/** The namespace of prompts that are named by their agent alone. */
export const AGENT_NS = 'agent';

/** The name of the agent that runs a prompt (D80): its key in the namespace of agents, `ns/key` in every other. */
export function agentName({ ns, key }: { readonly ns: string; readonly key: string }): string {
  return ns === AGENT_NS ? key : `${ns}/${key}`;
}
