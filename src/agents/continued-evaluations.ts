import type { Evaluation } from '../core/evaluations.ts';
import type { SessionView } from '../core/session-view.ts';

/** An evaluation and those that it continues (D50), newest first. */
export function continuedEvaluations(session: SessionView, evaluation: Evaluation): readonly Evaluation[] {
  const { evaluations } = session.state.record;
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
