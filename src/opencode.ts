/** `holdfast/opencode`: an adapter for OpenCode. Needs `@opencode-ai/sdk` and the program `opencode`. */
export { OPENCODE, openCodeAdapter, openCodeState } from './agents/opencode/opencode-adapter.ts';
export type { OpenCodeOptions, OpenCodeState } from './agents/opencode/opencode-types.ts';
