import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { defineSlice, defineTool, memoryStore, openSession, scriptedModel } from '../../src/index.ts';
import { collect } from '../session/log-of.ts';

const notes = defineSlice({
  name: 'notes',
  initial: [] as string[],
  on: { 'note/added': (all, event: { readonly text: string }) => [...all, event.text] },
});
const add = defineTool({
  name: 'add',
  description: '',
  input: z.object({ text: z.string() }),
  slices: [notes],
  async execute({ text }, { session }) {
    await session.dispatch({ type: 'note/added', text });
    return `${session.select(notes).all().length} notes`;
  },
});
const prompt = definePrompt({ ns: 'n', key: 'k', instructions: '', tools: [add] });
const script = [{ toolCalls: [{ name: 'add', arguments: { text: 'a' } }] }, 'done'];

test('a tool dispatches to the slices that it declares', async () => {
  const session = await openSession({ store: memoryStore(), id: 's1', slices: [notes] });
  const adapter = createAdapter({ model: scriptedModel(script) });
  expect(await adapter.evaluate(prompt, { session })).toMatchObject({ status: 'completed' });
  expect(session.select(notes).all()).toEqual(['a']);
});

test('without a session the evaluation has the slices of the prompt’s tools', async () => {
  const results: string[] = [];
  const adapter = createAdapter({ model: scriptedModel(script) });
  await adapter.evaluate(prompt, {
    onEvent(event) {
      if (event.type !== 'message/recorded' || event.message.role !== 'tool') return;
      results.push(JSON.stringify(event.message.content));
    },
  });
  expect(results).toEqual([expect.stringContaining('1 notes')]);
});

test('I10: a session that lacks a slice of a tool folds it from the start of its log (D80)', async () => {
  const store = memoryStore();
  const before = await openSession({ store, id: 's1', slices: [notes] });
  await before.dispatch({ type: 'note/added', text: 'before' });
  const session = await openSession({ store, id: 's1' });
  const adapter = createAdapter({ model: scriptedModel(script) });
  expect(await adapter.evaluate(prompt, { session })).toMatchObject({ status: 'completed' });
  expect(session.select(notes).all()).toEqual(['before', 'a']);
});

test('I10: another slice of the same name is rejected before anything is recorded', async () => {
  const other = defineSlice({ name: 'notes', initial: [] as string[], on: {} });
  const session = await openSession({ store: memoryStore(), id: 's1', slices: [other] });
  const adapter = createAdapter({ model: scriptedModel(script) });
  await expect(adapter.evaluate(prompt, { session })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('session s1 was opened with another slice called "notes"'),
  });
  expect(await collect(session.events())).toEqual([]);
});

test('I10: run rejects such a session, and the queued input is placed by a later run with the right slices', async () => {
  const store = memoryStore();
  const other = defineSlice({ name: 'notes', initial: [] as string[], on: {} });
  const session = await openSession({ store, id: 's1', slices: [other] });
  await session.send('go', { id: 'm1' });
  const adapter = createAdapter({ model: scriptedModel(script) });
  await expect(adapter.run(prompt, { session })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const able = await openSession({ store, id: 's1' });
  expect(await adapter.run(prompt, { session: able })).toMatchObject({ status: 'idle' });
  expect(able.select(notes).all()).toEqual(['a']);
});
