/**
 * Counts what a real transcript holds, from its JSON alone: nothing here uses the parsers of this package. The counts are of the main
 * conversation; subagents are counted by their threads.
 */

export interface Counts {
  readonly prompts: number;
  /** Texts of the assistant that are not blank. */
  readonly texts: number;
  readonly calls: number;
  readonly results: number;
  readonly subagents: number;
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly tool?: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly synthetic?: boolean;
  readonly state?: { readonly status?: string };
}

interface ClaudeLine {
  readonly type: string;
  /** Of a `queue-operation`, which may be all that is written of a text that was typed while the agent worked. */
  readonly operation?: string;
  readonly content?: string;
  readonly uuid?: string;
  readonly isMeta?: boolean;
  readonly isSidechain?: boolean;
  readonly isCompactSummary?: boolean;
  readonly data?: { readonly type?: string; readonly agentId?: string };
  readonly attachment?: { readonly type: string };
  readonly message?: { readonly model?: string; readonly content: string | readonly Part[] };
}

const isSaid = ({ type, text = '' }: Part): boolean => type === 'text' && text.trim() !== '';

/** Counts a session of Claude Code. The lines that the program writes in the assistant's place are texts only for a page. */
export function countClaude(main: string, threads: readonly string[], forPage: boolean): Counts {
  const seen = new Set<string>();
  const counts = { prompts: 0, texts: 0, calls: 0, results: 0 };
  const agents = new Set(
    threads.filter((id) => !id.startsWith('agent-acompact-')).map((id) => id.replace('agent-', '')),
  );
  const queue: string[] = [];
  for (const text of main.split('\n').filter((line) => line !== '')) {
    const line = JSON.parse(text) as ClaudeLine;
    if (line.data?.type === 'agent_progress') agents.add(line.data.agentId ?? '');
    if (line.isSidechain || (line.uuid !== undefined && seen.has(line.uuid))) continue;
    seen.add(line.uuid ?? '');
    if (line.attachment?.type === 'queued_command') counts.prompts++;
    if (line.operation === 'enqueue') queue.push(line.content ?? '');
    if (line.operation === 'dequeue') queue.shift(); // a user line follows
    if (line.operation === 'remove' && (queue.shift() ?? '') !== '') counts.prompts++;
    if (line.message === undefined) continue;
    const { content, model } = line.message;
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    counts.calls += parts.filter(({ type }) => type === 'tool_use').length;
    counts.results += parts.filter(({ type }) => type === 'tool_result').length;
    if (line.type === 'assistant' && (forPage || model !== '<synthetic>')) counts.texts += parts.filter(isSaid).length;
    const typed = parts.filter(isSaid).map(({ text = '' }) => text);
    const isTyped = line.type === 'user' && !line.isMeta && !line.isCompactSummary && typed.length > 0;
    if (isTyped && !/^\s*(<|\[Request interrupted|Base directory for this skill:)/.test(typed[0] ?? ''))
      counts.prompts++;
  }
  return { ...counts, subagents: agents.size };
}

interface OpenCodeFile {
  readonly info: { readonly id: string };
  readonly messages: readonly { readonly info: { readonly role: string }; readonly parts: readonly Part[] }[];
}

/** Counts a session of OpenCode. A child session is a subagent. */
export function countOpenCode(main: string, children: readonly string[]): Counts {
  const { messages } = JSON.parse(main) as OpenCodeFile;
  const partsOf = (role: string): readonly Part[] =>
    messages.flatMap(({ info, parts }) => (info.role === role ? parts : []));
  const tools = partsOf('assistant').filter(({ type }) => type === 'tool');
  const ended = tools.filter(({ state }) => state?.status === 'completed' || state?.status === 'error');
  return {
    prompts: messages.filter(
      ({ info, parts }) => info.role === 'user' && parts.some((part) => isSaid(part) && part.synthetic !== true),
    ).length,
    texts: partsOf('assistant').filter(isSaid).length,
    calls: tools.length,
    results: ended.length,
    subagents: children.length,
  };
}
