import { definePrompt, type Prompt } from 'holdfast';
import { expenseTools, type JobListener } from './expense-tools.ts';
import { tripTools } from './trip-tools.ts';
import { Workspace } from './workspace.ts';

/** The session that the demo begins with. */
export const SESSION_ID = 'expenses';

/** The prompt of the demo's agent, with tools that act on `dir` and record each execution there. */
export function assistantPrompt(dir: string, listener: JobListener): Prompt {
  const workspace = new Workspace(dir);
  return definePrompt({
    ns: 'demo',
    key: 'assistant',
    instructions:
      'You file expenses and plan trips. Work only with the tools. Say in one or two sentences what you did when all is done.',
    tools: [...expenseTools(workspace, listener), ...tripTools(workspace)],
  });
}
