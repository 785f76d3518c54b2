/** Scenarios with timers (D78). The clock of a process that resumes starts at the beginning: it is behind the wake-up again. */
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { suspendUntil } from '../../src/index.ts';
import { call, chat, LEASE_MS, model, type Scenario, tool, untilIdle, type World } from './scenario-parts.ts';

const HALF_HOUR = 1_800_000;

/** Runs until nothing is left; moves the clock to each wake-up. */
async function untilFired(world: World, run: ReturnType<typeof chat>): Promise<void> {
  await world.session.send('Please.', { id: 'm1' });
  for (;;) {
    const { status } = await run();
    const { wakeAt } = world.session.summary ?? {};
    if (status !== 'suspended' || wakeAt === undefined) break;
    world.clock.advance(Math.max(0, Date.parse(wakeAt) - world.clock.now()));
  }
  await untilIdle(world, run);
}

export const TIMER_SCENARIOS: readonly Scenario[] = [
  {
    name: 'a tool that looks again later, beside a timer with a result',
    drive(world) {
      const look = tool(world, 'look', {
        effect: 'idempotent',
        execute: (_, context) => {
          if (context.attempt === 1) return suspendUntil(world.clock.now() + HALF_HOUR);
          world.act(context);
          return 'green';
        },
      });
      const remind = tool(world, 'remind', {
        effect: 'once',
        reconcile: () => ({ happened: false as const }),
        execute: () => suspendUntil(world.clock.now() + 2 * HALF_HOUR, { result: 'an hour has passed' }),
      });
      const script = [{ toolCalls: [call('look', 'a'), call('remind', 'b')] }, 'The build is green.'];
      return untilFired(world, chat(world, { tools: [look, remind], script }));
    },
  },
  {
    name: 'a provider that refuses for minutes',
    drive(world) {
      const prompt = definePrompt({ ns: 'crash', key: 'limited', instructions: 'Do it.', tools: [] });
      const refusing = model(
        world,
        () => (world.acted('refused') ? 'Here I am.' : { error: { status: 429, retryAfterMs: HALF_HOUR } }),
        { drafts: false },
      );
      const adapter = createAdapter({ model: refusing, leaseTtlMs: LEASE_MS });
      return untilFired(world, async () => {
        const result = await adapter.run(prompt, { session: world.session });
        if (result.status === 'suspended') world.act({ idempotencyKey: 'refused' });
        return result;
      });
    },
  },
];
