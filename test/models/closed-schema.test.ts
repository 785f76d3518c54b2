import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../src/evaluate.ts';
import { scriptedModel } from '../../src/index.ts';
import { closedSchema, isStrictSchema } from '../../src/models/closed-schema.ts';
import { modelOf, serve } from './providers.ts';

const schemaOf = (output: z.ZodType) =>
  definePrompt({ ns: 'n', key: 'k', instructions: '', output }).output?.jsonSchema ?? {};

describe('the output schema of a prompt is closed', () => {
  test.for<readonly [string, z.ZodType]>([
    ['an object', z.object({ a: z.string() })],
    [
      'objects in objects, lists and unions',
      z.object({ a: z.array(z.object({ b: z.union([z.object({ c: z.null() }), z.string()]) })) }),
    ],
    [
      'a discriminated union',
      z.object({
        step: z.discriminatedUnion('kind', [
          z.object({ kind: z.literal('read'), path: z.string() }),
          z.object({ kind: z.literal('stop') }),
        ]),
      }),
    ],
    ['a merged object', z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() }))],
    [
      'properties named like keywords',
      z.object({ items: z.string(), oneOf: z.string(), additionalProperties: z.string() }),
    ],
  ])('of %s: what OpenAI calls strict', ([, output]) => {
    expect(isStrictSchema(schemaOf(output))).toBe(true);
  });

  test.for<readonly [string, z.ZodType, unknown]>([
    ['a loose object', z.looseObject({ a: z.string() }), {}],
    ['an object with a catchall', z.object({ a: z.string() }).catchall(z.number()), { type: 'number' }],
    ['a record', z.record(z.string(), z.number()), { type: 'number' }],
  ])('of %s: additional properties stay allowed', ([, output, additionalProperties]) => {
    expect(schemaOf(output)).toMatchObject({ additionalProperties });
    expect(isStrictSchema(schemaOf(output))).toBe(false);
  });

  test('of a union: closed, and not strict, because a strict response is an object', () => {
    const schema = schemaOf(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]));
    expect(schema).toMatchObject({ anyOf: [{ additionalProperties: false }, { additionalProperties: false }] });
    expect(isStrictSchema(schema)).toBe(false);
  });

  test('an object with an optional property is closed and not strict', () => {
    const schema = schemaOf(z.object({ a: z.string(), b: z.string().optional() }));
    expect(schema).toMatchObject({ required: ['a'], additionalProperties: false });
    expect(isStrictSchema(schema)).toBe(false);
  });

  test('a schema that describes objects in parts is sent unchanged: closing a part would exclude the others', () => {
    const parts = {
      allOf: [
        { type: 'object', properties: { a: {} } },
        { type: 'object', properties: { b: {} } },
      ],
    };
    expect(closedSchema({ type: 'array', items: parts })).toEqual({ type: 'array', items: parts });
  });

  test('data inside a schema is not changed', () => {
    const data = { type: 'object', properties: { a: 1 }, oneOf: [1] };
    const schema = { type: 'object', properties: { a: { const: data, default: data } } };
    expect(closedSchema(schema)).toEqual({ ...schema, additionalProperties: false });
  });

  test('a given JSON Schema is sent unchanged', () => {
    const outputJsonSchema = { type: 'object', properties: { a: { type: 'string' } } };
    const output = z.object({ a: z.string() });
    const { output: made } = definePrompt({ ns: 'n', key: 'k', instructions: '', output, outputJsonSchema });
    expect(made?.jsonSchema).toEqual(outputJsonSchema);
  });
});

describe('structured output', () => {
  const output = z.object({ n: z.number(), inner: z.object({ ok: z.boolean() }) });
  const prompt = definePrompt({ ns: 'n', key: 'k', instructions: 'Answer.', output });

  test.for(['openai.chat', 'openai.responses'] as const)(
    'the request to %s for a z.object is strict',
    async (provider) => {
      const server = await serve(['{"n":1,"inner":{"ok":true}}']);
      const adapter = createAdapter({ model: modelOf(provider, server.url) });
      expect((await adapter.evaluate(prompt)).output).toEqual({ n: 1, inner: { ok: true } });
      const body = JSON.stringify(server.requests[0]?.body);
      expect(body).toContain('"strict":true');
      expect(body.match(/"additionalProperties":false/g)).toHaveLength(2);
      expect(server.refusals).toEqual([]);
    },
  );

  test('properties that a z.object does not have are stripped from a response, and a z.strictObject rejects them', async () => {
    const response = '{"n":1,"inner":{"ok":true,"more":1},"extra":2}';
    const adapter = createAdapter({ model: scriptedModel([response, response]) });
    expect((await adapter.evaluate(prompt)).output).toEqual({ n: 1, inner: { ok: true } });
    const strict = definePrompt({ ns: 'n', key: 's', instructions: '', output: z.strictObject({ n: z.number() }) });
    await expect(adapter.evaluate(strict, { outputRetries: 0 })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
  });
});
