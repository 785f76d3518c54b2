import { canonicalJson } from '../../core/canonical-json.ts';
import { sha256 } from '../../session/read/contents.ts';
import type { AnySession } from '../../session/session.ts';
import type { EvaluateOptions } from './provider-adapter.ts';

/** What makes two requests of one prompt equal: to `resume: 'auto'` (D2, D64) and to a call that asks for its children again. */

/** The hash of a request: its input, and the key that distinguishes equal inputs. */
export function inputHash(options: Pick<EvaluateOptions, 'input' | 'key'>): string {
  return sha256(canonicalJson({ input: options.input ?? null, key: options.key ?? null }));
}

/** The hash of the values that are bound in the instructions, as the text that they become there. */
export function paramsHash({ params = {} }: Pick<EvaluateOptions, 'params'>): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined);
  return sha256(canonicalJson(Object.fromEntries(given.map(([name, value]) => [name, String(value)]))));
}

/** Whether an evaluation was started with these params. Older logs have no params: they count as equal. */
export function hasParams(evaluation: { readonly paramsHash?: string }, hash: string): boolean {
  return evaluation.paramsHash === undefined || evaluation.paramsHash === hash;
}

/** An id that no evaluation of the session has, made from the wanted one; and the newest evaluation that has one made from it. */
export function freeEvaluationId(
  session: AnySession,
  wanted: string,
): { readonly free: string; readonly newest?: string } {
  const { evaluations } = session.state.record;
  let newest: string | undefined;
  let free = wanted;
  for (let n = 2; evaluations.has(free); n++) {
    newest = free;
    free = `${wanted}_${n}`;
  }
  return { free, ...(newest !== undefined && { newest }) };
}
