/** A small reader of Codex rollouts, as strict as Codex is: a line that Codex would skip is an error. */
import type { SaidItem } from './said-items.ts';

interface Line {
  readonly timestamp?: unknown;
  readonly type?: unknown;
  readonly payload?: Readonly<Record<string, unknown>>;
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: string;
}

/** The items that the model gets. The error of a result is not recorded. */
export function readRollout(text: string): readonly SaidItem[] {
  const lines = linesOf(text);
  const [first] = lines;
  if (first?.type !== 'session_meta') throw new Error('the first line is not session_meta');
  for (const field of ['id', 'timestamp', 'cwd', 'originator', 'cli_version']) {
    if (typeof first.payload?.[field] !== 'string') throw new Error(`session_meta lacks ${field}`);
  }
  return lines.flatMap(({ type, payload = {} }): readonly SaidItem[] => {
    if (type !== 'response_item') return [];
    if (payload.type === 'function_call') {
      const { call_id: call, name, arguments: written } = payload;
      if (typeof written !== 'string') throw new Error('arguments must be text');
      return [{ call: String(call), name: String(name), input: JSON.parse(written) }];
    }
    if (payload.type === 'function_call_output') {
      const { output, call_id } = payload;
      const parts = typeof output === 'string' ? [{ type: 'input_text', text: output }] : (output as readonly Part[]);
      const result = String(call_id);
      return [{ result, text: textsOf(parts).filter(Boolean).join('\n'), isError: false }, ...imagesOf(parts, result)];
    }
    if (payload.type !== 'message') throw new Error(`an item of type ${String(payload.type)}`);
    const said = payload.role as 'user' | 'assistant';
    const parts = payload.content as readonly Part[];
    return [...textsOf(parts).map((said_) => ({ said, text: said_ })), ...imagesOf(parts, said)];
  });
}

/** What lists and views of Codex show. */
export function shownInCodex(text: string): readonly string[] {
  return linesOf(text).flatMap(({ type, payload }) => {
    const isShown = payload?.type === 'user_message' || payload?.type === 'agent_message';
    return type === 'event_msg' && isShown ? [String(payload?.message)] : [];
  });
}

function linesOf(text: string): readonly Line[] {
  if (!text.endsWith('\n')) throw new Error('the last line is torn');
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => {
      const parsed = JSON.parse(line) as Line;
      if (typeof parsed.timestamp !== 'string' || Number.isNaN(Date.parse(parsed.timestamp))) {
        throw new Error(`a line without timestamp: ${line}`);
      }
      return parsed;
    });
}

function textsOf(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (part.text === undefined ? [] : [part.text]));
}

function imagesOf(parts: readonly Part[], of: string): readonly SaidItem[] {
  return parts.flatMap((part) => {
    const medium = /^data:([^;]+);base64,/.exec(part.image_url ?? '')?.[1];
    return medium === undefined ? [] : [{ medium, of }];
  });
}
