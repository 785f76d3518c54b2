/**
 * Counts what a Codex session holds, from the JSON of its lines alone. Nothing of our parsers is used, so that a count which differs from
 * ours shows a mistake.
 */

interface Tokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** The fields that are counted. */
interface CountedLine {
  readonly type: string;
  readonly metadata?: { readonly compaction_output?: boolean };
  readonly payload: {
    readonly type: string;
    readonly role?: string;
    readonly name?: string;
    readonly call_id?: string;
    readonly history_mode?: string;
    readonly summary?: readonly unknown[];
    readonly usage?: Tokens;
    readonly item?: { readonly type: string; readonly id: string };
    readonly info?: { readonly total_token_usage: Tokens; readonly last_token_usage: Tokens } | null;
  };
}

export interface CodexCount {
  prompts: number;
  texts: number;
  thoughts: number;
  /** Calls that the model made, without those that started subagents. */
  calls: number;
  /** Calls that ran inside a script. */
  nested: number;
  searches: number;
  /** Outputs of those calls, each call once. */
  results: number;
  spawns: number;
  compactions: number;
  inputTokens: number;
  outputTokens: number;
}

/** The lines of a rollout. */
export function countedLines(text: string): readonly CountedLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CountedLine);
}

/** Counts the lines of one thread. */
export function countThread(lines: readonly CountedLine[]): CodexCount {
  const count: CodexCount = {
    ...{ prompts: 0, texts: 0, thoughts: 0, calls: 0, nested: 0, searches: 0, results: 0, spawns: 0 },
    ...{ compactions: 0, inputTokens: 0, outputTokens: 0 },
  };
  const addTokens = (tokens: Tokens | undefined): void => {
    count.inputTokens += tokens?.input_tokens ?? 0;
    count.outputTokens += tokens?.output_tokens ?? 0;
  };
  const isPaginated = lines.some(({ payload }) => payload.history_mode === 'paginated');
  const spawned = new Set<unknown>();
  const returned = new Set<unknown>();
  let total = '';
  for (const { type, payload, metadata } of lines) {
    if (type === 'compacted') count.compactions++;
    if (type === 'token_usage_record') addTokens(payload.usage);
    if (type === 'event_msg') {
      if (payload.type === 'user_message' || payload.item?.type === 'UserMessage') count.prompts++;
      if (payload.item?.id.startsWith('exec-')) count.nested++;
      const info = isPaginated ? undefined : payload.info;
      if (info && JSON.stringify(info.total_token_usage) !== total) {
        total = JSON.stringify(info.total_token_usage);
        addTokens(info.last_token_usage);
      }
    }
    if (type !== 'response_item') continue;
    const isText = payload.type === 'message' && payload.role === 'assistant';
    if (isText && metadata?.compaction_output !== true) count.texts++;
    if (payload.type === 'reasoning' && payload.summary?.length !== 0) count.thoughts++;
    if (payload.type === 'web_search_call') count.searches++;
    if (payload.type === 'function_call' || payload.type === 'custom_tool_call') {
      if (payload.name === 'spawn_agent') spawned.add(payload.call_id);
      else count.calls++;
    }
    if (payload.type.endsWith('_call_output') && !spawned.has(payload.call_id)) returned.add(payload.call_id);
  }
  count.spawns = spawned.size;
  count.results = returned.size;
  return count;
}
