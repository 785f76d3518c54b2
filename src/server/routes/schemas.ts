import type { JsonSchema } from '../http/json-schema.ts';
import type { Route } from '../route.ts';

/** Schemas and responses that several routes share. */

export const TEXT: JsonSchema = { type: 'string' };
export const NAME: JsonSchema = { type: 'string', minLength: 1 };
export const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const ANY_OBJECT: JsonSchema = { type: 'object' };

export const BY: JsonSchema = { type: 'string', description: 'the person or program that does this' };

/** A list of objects. */
export function listOf(description: string): JsonSchema {
  return { type: 'array', items: ANY_OBJECT, description };
}

/** An object with exactly these fields. */
export function bodyOf(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

/** An object of a response: it may get further fields. */
function resultOf(properties: Readonly<Record<string, JsonSchema>>, optional: readonly string[]): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

/** The response of a route that has succeeded: an object with these fields. */
export function ok(
  description: string,
  fields: Readonly<Record<string, JsonSchema>> = {},
  optional: readonly string[] = [],
): Route['response'] {
  return { status: 200, description, schema: resultOf(fields, optional) };
}

/** Query parameters that several routes share. */

export const CURSOR = { type: 'string', description: 'next of the previous page' } as const;

/** A number of items. */
export function limitOf(
  maximum: number,
  description: string,
): { readonly type: 'integer'; readonly minimum: 1; readonly maximum: number; readonly description: string } {
  return { type: 'integer', minimum: 1, maximum, description };
}

/** A position, or another number from 0. */
export function countOf(description: string): {
  readonly type: 'integer';
  readonly minimum: 0;
  readonly description: string;
} {
  return { type: 'integer', minimum: 0, description };
}
