import type * as installed from '@anthropic-ai/claude-agent-sdk';
import { expectTypeOf, test } from 'vitest';
import type { ClaudeAgentSdk, ClaudeQueryOptions } from '../../src/agents/claude-agent/sdk-types.ts';
import { claudeAgentAdapter } from '../../src/claude-agent.ts';

/** Compiled by `npm run test:agents`, where the SDK is installed. */

test('the options for the SDK’s query have the SDK’s own types', () => {
  expectTypeOf<ClaudeQueryOptions['permissionMode']>().toEqualTypeOf<installed.Options['permissionMode']>();
  claudeAgentAdapter({
    query: {
      permissionMode: 'acceptEdits',
      allowedTools: ['Read'],
      async canUseTool(name, input) {
        expectTypeOf(name).toEqualTypeOf<string>();
        return { behavior: 'allow', updatedInput: input };
      },
    },
  });
  // @ts-expect-error: unknown mode
  claudeAgentAdapter({ query: { permissionMode: 'maybe' } });
  // @ts-expect-error: unknown option
  claudeAgentAdapter({ query: { permisionMode: 'acceptEdits' } });
  // @ts-expect-error: the adapter sets it
  claudeAgentAdapter({ query: { resume: 'x' } });
});

test("the SDK's module is accepted by the adapter", () => {
  expectTypeOf<typeof installed>().toExtend<ClaudeAgentSdk>();
});
