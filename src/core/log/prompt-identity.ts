import { canonicalJson } from '../canonical-json.ts';

/** What identifies a prompt: its template and its tools' names and schemas, never bound parameters. */
export interface PromptIdentity {
  readonly ns: string;
  readonly key: string;
  readonly hash: string;
}

/** The text whose hash identifies a prompt. The order of the tools does not matter. */
export function promptIdentityText(prompt: {
  readonly instructions: string;
  readonly tools: readonly { readonly name: string; readonly schema: unknown }[];
}): string {
  const tools = prompt.tools.map(({ name, schema }) => ({ name, schema })).sort((a, b) => (a.name < b.name ? -1 : 1));
  return canonicalJson({ instructions: prompt.instructions, tools });
}

/** Why a prompt cannot continue an evaluation and with what it can be continued; undefined when it can. `relaxed` only compares names. */
export function promptMismatch(
  recorded: { readonly promptNs: string; readonly promptKey: string; readonly promptHash: string },
  prompt: PromptIdentity,
  mode: 'strict' | 'relaxed',
): string | undefined {
  if (recorded.promptNs !== prompt.ns || recorded.promptKey !== prompt.key) {
    const { promptNs, promptKey } = recorded;
    return `it was started by ${promptNs}/${promptKey}, not ${prompt.ns}/${prompt.key}; resume it with ${promptNs}/${promptKey}`;
  }
  if (mode === 'strict' && recorded.promptHash !== prompt.hash) {
    return "its instructions or tools have changed since; use promptValidation: 'relaxed' to continue anyway";
  }
  return undefined;
}

const PLACEHOLDER = /\{\{\s*([\w.-]+)\s*\}\}/g;

/** Replaces `{{name}}` in a template. Names without a value stay in the text and are returned in `missing`. */
export function bindTemplate(
  template: string,
  params: Readonly<Record<string, unknown>>,
): { readonly text: string; readonly missing: readonly string[] } {
  const missing: string[] = [];
  const text = template.replace(PLACEHOLDER, (whole, name: string) => {
    if (Object.hasOwn(params, name) && params[name] !== undefined) return String(params[name]);
    missing.push(name);
    return whole;
  });
  return { text, missing };
}
