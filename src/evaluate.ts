/**
 * `holdfast/evaluate`: the layer below `createAgent`. Prompts and adapters, `evaluate` with its `resume`, `MainLoop` with checkpoints, and
 * the states that agents with a loop of their own are resumed from.
 */
export {
  diffAdapterStates,
  findCompositeState,
  findResumableState,
} from './agents/adapter-states.ts';
export { recoverSession } from './agents/recover-session.ts';
export type { StatefulAdapter } from './agents/stateful-adapter.ts';
export {
  type AdapterState,
  defineAdapterState,
} from './core/log/adapter-state.ts';
export { adapterStateFor, composeAdapterStates, defineCompositeState } from './core/log/composite-adapter-state.ts';
export { planResume, type ResumePlan } from './core/plan/resume-plan.ts';
export { definePrompt, type Prompt, type PromptDefinition } from './loop/define/define-prompt.ts';
export { type AdapterOptions, createAdapter } from './loop/evaluate/create-adapter.ts';
export type {
  EvaluateOptions,
  EvaluationResponse,
  EvaluationStream,
  ProviderAdapter,
  RunOptions,
  RunResult,
} from './loop/evaluate/provider-adapter.ts';
export { type CheckpointHandler, fileCheckpoints } from './loop/main-loop/checkpoints.ts';
export { MainLoop, type MainLoopOptions } from './loop/main-loop/main-loop.ts';
