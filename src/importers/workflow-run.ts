/** The run of the workflow that a subagent's file belongs to, from its path: the folder of such a file is named after the run. */
export function workflowRun(path: string): string | undefined {
  return /[/\\]workflows[/\\](wf_[^/\\]+)[/\\]/.exec(path)?.[1];
}
