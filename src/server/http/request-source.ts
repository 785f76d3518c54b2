import { HoldfastError } from '../../core/errors.ts';
import { continuedEvaluations, evaluationMessages } from '../../core/fold/evaluation-messages.ts';
import type { Evaluation } from '../../core/fold/evaluations.ts';
import { RequestLog } from '../../history/inspect/recorded-requests.ts';
import type { RequestSeriesOptions } from '../../history/inspect/request-series.ts';
import type { Agent } from '../../loop/agent/agent.ts';
import { chooseAgent } from '../../loop/agent/choose-agent.ts';
import type { AnySession } from '../../session/session.ts';
import type { ServerContext } from '../route.ts';

type Agents = Pick<ServerContext, 'agents' | 'report'>;

/** The requests of some evaluations, with all that `requestSeries` needs to build them again. */
export interface RequestSource {
  readonly evaluations: readonly Evaluation[];
  readonly log: RequestLog;
  /** Reads the messages of one evaluation. */
  read(evaluation: Evaluation): Promise<RequestSeriesOptions>;
}

/** Reads from a log what it says about the requests of some evaluations, and of those that they continue. */
export async function requestSource(
  agents: Agents,
  session: AnySession,
  evaluations: readonly Evaluation[],
): Promise<RequestSource> {
  const { record } = session.state;
  const chains = evaluations.map((one) => continuedEvaluations(record.evaluations, one));
  const ids = new Set(chains.flat().map(({ id }) => id));
  const log = new RequestLog(ids);
  for await (const event of session.events()) log.push(event);
  const isCurated = [...ids].some((id) => log.requestsOf(id).some(({ curated }) => curated !== undefined));
  // The manager that runs the session, if it runs here: a name alone does not have all options.
  const { history, limits } = (isCurated ? await agentOf(agents, session) : undefined)?.defaults ?? {};
  const partOf = async (one: Evaluation): Promise<RequestSeriesOptions> => ({
    messages: await session.resolve(evaluationMessages(record, one)),
    requests: log.requestsOf(one.id),
    ...{ log, history, limits },
    prompt: { promptHash: one.promptHash, paramsHash: one.paramsHash },
  });
  return {
    evaluations,
    log,
    async read(evaluation) {
      const [, before] = continuedEvaluations(record.evaluations, evaluation);
      return { ...(await partOf(evaluation)), ...(before && { continued: await partOf(before) }) };
    },
  };
}

/** What runs the session here; an error of the caller's function is reported, and the recorded names are used. */
async function agentOf({ agents, report }: Agents, session: AnySession): Promise<Agent<unknown> | undefined> {
  try {
    return agents && (await chooseAgent(agents, session));
  } catch (error) {
    report(error, session.id);
    return undefined;
  }
}

/** The evaluation that a request names, or all of the main conversation. */
export function namedEvaluations(session: AnySession, evaluationId: string | undefined): readonly Evaluation[] {
  const { evaluations } = session.state.record;
  if (evaluationId === undefined) return evaluations.items.filter(({ conversationId }) => conversationId === 'main');
  const evaluation = evaluations.get(evaluationId);
  if (evaluation) return [evaluation];
  throw new HoldfastError(
    'CONVERSATION_NOT_FOUND',
    `session ${session.id} has no evaluation ${JSON.stringify(evaluationId.slice(0, 100))}`,
  );
}
