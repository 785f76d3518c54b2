import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError, messageOf } from '../../core/errors.ts';

/** Schemas at the edge: every Standard Schema validates here; as JSON Schema it is sent to the model and hashed. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a value was found to be: the parsed value, or what is wrong with it in one sentence. */
export type Validated<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** Checks a value against a schema. A schema that throws is a problem of the value, not of the run. Most return at once. */
export function validate<T>(
  schema: StandardSchemaV1<unknown, T>,
  value: unknown,
): Validated<T> | Promise<Validated<T>> {
  const thrown = (error: unknown): Validated<T> => ({ ok: false, problem: messageOf(error) });
  try {
    const result = schema['~standard'].validate(value);
    return 'then' in result ? Promise.resolve(result).then(validated).catch(thrown) : validated(result);
  } catch (error) {
    return thrown(error);
  }
}

function validated<T>(result: StandardSchemaV1.Result<T>): Validated<T> {
  if (!result.issues) return { ok: true, value: result.value };
  return { ok: false, problem: result.issues.map(describe).join('; ') };
}

function describe(issue: StandardSchemaV1.Issue): string {
  const path = issue.path?.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return path ? `${path}: ${issue.message}` : issue.message;
}

/** A schema as JSON Schema: what the library converts itself, or what was given beside it. */
export function toJsonSchema(schema: StandardSchemaV1, given: JsonSchema | undefined, owner: string): JsonSchema {
  if (given) return given;
  const standard = schema?.['~standard'] as StandardSchemaV1.Props & {
    readonly jsonSchema?: { input(options: { readonly target: string }): JsonSchema };
  };
  if (!standard) {
    throw new HoldfastError('INVALID_ARGUMENT', `${owner}: give a Standard Schema (zod, valibot, arktype, …)`);
  }
  if (!standard.jsonSchema) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${owner}: ${standard.vendor} does not export a JSON Schema; give it as jsonSchema`,
    );
  }
  try {
    const { $schema: _, ...converted } = standard.jsonSchema.input({ target: 'draft-07' });
    return converted;
  } catch (error) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `${owner}: its schema cannot be sent to a model (${messageOf(error)}); use types that JSON has, or give jsonSchema`,
      { cause: error },
    );
  }
}

/** A Standard Schema that accepts anything, for tools that bring only a JSON Schema: its owner validates. */
export const anything: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'holdfast', validate: (value) => ({ value }) },
};
