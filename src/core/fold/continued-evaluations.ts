import type { KeyedList } from '../keyed-list.ts';
import type { Evaluation } from './evaluations.ts';

/** An evaluation and the evaluations that it continues (D50), newest first. A log whose evaluations continue each other is walked once. */
export function continuedEvaluations(
  evaluations: Pick<KeyedList<Evaluation>, 'get'>,
  evaluation: Evaluation,
): readonly Evaluation[] {
  const chain = [evaluation];
  const seen = new Set([evaluation.id]);
  for (let { continues } = evaluation; continues !== undefined && !seen.has(continues); ) {
    const earlier = evaluations.get(continues);
    if (!earlier) break;
    seen.add(earlier.id);
    chain.push(earlier);
    continues = earlier.continues;
  }
  return chain;
}
