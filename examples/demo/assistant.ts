import { type Agent, createAgent, type Model } from 'holdfast';
import { expenseTools, type JobListener } from './expense-tools.ts';
import { tripTools } from './trip-tools.ts';
import { Workspace } from './workspace.ts';

/** The session that the demo begins with. */
export const SESSION_ID = 'expenses';

/** The demo's agent, with tools that act on `dir` and record each execution there. */
export function createAssistant(model: Model, dir: string, listener: JobListener): Agent {
  const workspace = new Workspace(dir);
  return createAgent({
    name: 'assistant',
    model,
    instructions:
      'You file expenses and plan trips. Work only with the tools. Say in one or two sentences what you did when all is done.',
    tools: [...expenseTools(workspace, listener), ...tripTools(workspace)],
    maxTurns: 30,
  });
}
