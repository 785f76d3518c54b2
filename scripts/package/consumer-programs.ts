/** Programs that every supported TypeScript compiles against the packed package: they depend on how a compiler narrows. */

/** Events narrow by their type, also with the oldest compiler. */
export const EVENTS = `
import { createAdapter, definePrompt } from 'holdfast/evaluate';
import { defineSlice, memoryStore, openSession, scriptedModel, type SessionEvent } from 'holdfast';

const plan = defineSlice({
  name: 'plan',
  initial: [] as string[],
  on: { 'plan/added': (steps, event: { step: string }) => [...steps, event.step] },
});

const mood = defineSlice({
  name: 'mood',
  initial: { level: 0 },
  on: { 'mood/set': (_, event: { level: number }) => ({ level: event.level }) },
});

export function role(event: SessionEvent): string | undefined {
  if (event.type === 'message/recorded') return event.message.role;
  switch (event.type) {
    case 'tool/started':
      return event.toolName;
    default:
      return undefined;
  }
}

export async function main(): Promise<void> {
  const session = await openSession({ store: memoryStore(), id: 's1', slices: [plan, mood] });
  session.subscribe((event) => {
    if (event.type === 'plan/added') event.step.trim();
    else if (event.type === 'mood/set') event.level.toFixed();
    else if (event.type === 'message/recorded') event.message.role satisfies string;
    role(event);
  });
  const level: number = session.select(mood).get().level;
  const adapter = createAdapter({ model: scriptedModel([]) });
  const prompt = definePrompt({ ns: 'n', key: 'k', instructions: '', tools: [] });
  for await (const event of adapter.stream(prompt, { session })) {
    if (event.type === 'message/delta') event.delta.trim();
    if (event.type === 'plan/added') event.step.trim();
    // @ts-expect-error: neither built in nor of a slice
    if (event.type === 'plan/aded') level;
  }
}
`;

/** With the Claude Agent SDK installed, its options are typed. */
export const CLAUDE = `
import { claudeAgentAdapter } from 'holdfast/claude-agent';

claudeAgentAdapter({ query: { permissionMode: 'acceptEdits' } });
// @ts-expect-error: unknown mode
claudeAgentAdapter({ query: { permissionMode: 'maybe' } });
// @ts-expect-error: the adapter sets it
claudeAgentAdapter({ query: { resume: 'x' } });
`;

/** The part of the SDK's declarations that the program needs. */
export const CLAUDE_SDK = `export type Options = { permissionMode?: 'default' | 'acceptEdits'; resume?: string };\n`;
