/** `holdfast/opencode`: an adapter for OpenCode. Needs `@opencode-ai/sdk` and the program `opencode`. */
export {
  OPENCODE,
  type OpenCodeOptions,
  type OpenCodeState,
  openCodeAdapter,
  openCodeState,
} from './agents/opencode/opencode-adapter.ts';
