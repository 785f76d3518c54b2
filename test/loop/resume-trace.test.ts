import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { definePrompt } from '../../src/evaluate.ts';
import type { SessionEvent } from '../../src/index.ts';
import { type Agent, agent, call, eventTypes, tool } from './agent.ts';

/** D68: a resume is recorded in the log. */

async function resumes({ session }: Agent): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of session.events({ types: ['evaluation/resumed'] })) events.push(event);
  return events;
}

async function waiting(): Promise<Agent> {
  const made = await agent({
    script: [{ toolCalls: [call('deploy')] }, 'ok'],
    tools: [tool('deploy', () => 'deployed', { needsApproval: true })],
  });
  await made.evaluate();
  return made;
}

test('D68: a run without a resume has no resume event', async () => {
  const made = await waiting();
  expect(await resumes(made)).toEqual([]);
});

test('D68: each resume is one event with its number and its process', async () => {
  const made = await waiting();
  await made.evaluate({ resume: true }); // still not decided
  for (const pending of (await made.evaluate({ resume: true })).pending) await made.session.approve(pending);
  await made.evaluate({ resume: true });
  const evaluationId = made.session.latestEvaluation()?.id;
  const by = `process ${process.pid} on ${hostname()}`;
  expect(await resumes(made)).toMatchObject([2, 3, 4].map((attempt) => ({ evaluationId, attempt, by })));
  expect(made.session.latestEvaluation()).toMatchObject({ status: 'completed', attempt: 4 });
  await made.evaluate({ resume: true }); // it has ended: returns the recorded response and does nothing
  expect(await resumes(made)).toHaveLength(3);
});

test('D68: it is part of the append that acts first', async () => {
  const made = await waiting();
  for (const pending of (await made.evaluate({ resume: true })).pending) await made.session.approve(pending);
  const appends: (readonly string[])[] = [];
  const append = made.store.append.bind(made.store);
  made.store.append = (id, events, options) => {
    appends.push(events.map(({ type }) => type));
    return append(id, events, options);
  };
  await made.evaluate({ resume: true });
  expect(appends[0]).toEqual(['evaluation/resumed', 'tool/started']);
  expect((await eventTypes(made.session)).filter((type) => type === 'evaluation/resumed')).toHaveLength(2);
});

test('D68: a resumed child conversation has its own', async () => {
  const deploy = tool('deploy', () => 'deployed', { needsApproval: true });
  const child = definePrompt({ ns: 'test', key: 'child', instructions: 'Deploy.', tools: [deploy] });
  const made = await agent({
    script: ({ prompt, turn }) =>
      turn > 1 ? 'done' : { toolCalls: [call(prompt.key === 'child' ? 'deploy' : 'delegate')] },
    tools: [tool('delegate', async (_, context) => (await context.evaluate(child)).text, { effect: 'idempotent' })],
  });
  for (const pending of (await made.evaluate()).pending) await made.session.approve(pending);
  await made.evaluate({ resume: true });
  const [parent, its] = made.session.state.record.evaluations.items.toArray();
  expect(await resumes(made)).toMatchObject([{ evaluationId: parent?.id }, { evaluationId: its?.id }]);
});
