import { planEvaluation } from '../../core/plan/resume-plan.ts';
import { runCalls } from '../calls/run-calls.ts';
import { askModel } from '../request/ask-model.ts';
import { finish } from '../request/finish.ts';
import { placeSteers } from './place-steers.ts';
import { type Agent, confirmLease, currentEvaluation, type Run } from './run.ts';

/** The inner loop: plans by the log what is left, does it and records it, until nothing is left. */
export async function runToEnd(run: Run): Promise<void> {
  if (run.agent) {
    await confirmLease(run);
    await run.agent.prepare(run);
  }
  if (run.cancelled) throw run.cancelled;
  for (;;) {
    run.aborter.check();
    const plan = planEvaluation(currentEvaluation(run));
    switch (plan.do) {
      case 'nothing':
        return;
      case 'call-model':
        if (await placeSteers(run)) break;
        if (run.agent) await askAgent(run, run.agent, plan.turn);
        else await askModel(run, plan.turn);
        break;
      case 'run-calls':
        await (run.agent ? run.agent.runCalls(run, plan.calls) : runCalls(run, plan.calls));
        break;
      case 'finish':
        await finish(run);
        break;
      default:
        plan satisfies never;
    }
  }
}

async function askAgent(run: Run, agent: Agent, turn: number): Promise<void> {
  await confirmLease(run);
  await agent.ask(run, turn);
}
