import { continuedEvaluations } from '../core/continued-evaluations.ts';
import { HoldfastError } from '../core/errors.ts';
import { evaluationMessages } from '../core/evaluation-messages.ts';
import { type Evaluation, latestEvaluation } from '../core/evaluations.ts';
import type { RebuildOptions } from '../history/rebuild-requests.ts';
import { RequestLog } from '../history/recorded-requests.ts';
import type { RequestSeriesOptions } from '../history/request-series.ts';
import type { AnySession } from '../session/session.ts';
import type { ServerContext } from './route.ts';
import type { AgentRun } from './runners.ts';

/** Reads from a log what `requestSeries` needs to build the requests of an evaluation again. */
export async function requestSource(
  { agents, report }: Pick<ServerContext, 'agents' | 'report'>,
  session: AnySession,
  evaluation: Evaluation,
): Promise<RequestSeriesOptions> {
  const { record } = session.state;
  const chain = continuedEvaluations(record.evaluations, evaluation);
  const log = new RequestLog(chain.map(({ id }) => id));
  for await (const event of session.events()) log.push(event);
  const isCurated = chain.some(({ id }) => log.requestsOf(id).some(({ curated }) => curated !== undefined));
  // The manager that runs the session, if it runs here: a name alone does not have all options.
  const run = isCurated ? await agentOf({ agents, report }, session) : undefined;
  const { history, limits } = run ?? {};
  const partOf = async (one: Evaluation): Promise<RebuildOptions & Pick<RequestSeriesOptions, 'prompt'>> => ({
    messages: await session.resolve(evaluationMessages(record, one)),
    requests: log.requestsOf(one.id),
    ...{ log, history, limits },
    prompt: { promptHash: one.promptHash, paramsHash: one.paramsHash },
  });
  const [, before] = chain;
  return { ...(await partOf(evaluation)), ...(before && { continued: await partOf(before) }) };
}

/** What runs the session here; an error of the caller's function is reported, and the recorded names are used. */
async function agentOf(
  { agents, report }: Pick<ServerContext, 'agents' | 'report'>,
  session: AnySession,
): Promise<AgentRun | undefined> {
  try {
    return await agents?.(session);
  } catch (error) {
    report(error, session.id);
    return undefined;
  }
}

/** The evaluation that a request names, or the newest of the main conversation. */
export function namedEvaluation(session: AnySession, evaluationId: string | undefined): Evaluation | undefined {
  const { evaluations } = session.state.record;
  if (evaluationId === undefined) return latestEvaluation(evaluations.items);
  const evaluation = evaluations.get(evaluationId);
  if (evaluation) return evaluation;
  throw new HoldfastError(
    'CONVERSATION_NOT_FOUND',
    `session ${session.id} has no evaluation ${JSON.stringify(evaluationId.slice(0, 100))}`,
  );
}
