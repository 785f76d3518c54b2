import type { JsonSchema } from '../http/json-schema.ts';

/** Schemas that several routes share. */

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
export function resultOf(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

/** A response without content of its own. */
export const DONE: JsonSchema = { type: 'object' };
