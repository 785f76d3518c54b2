import type { StandardSchemaV1 } from '@standard-schema/spec';

/** A schema of required strings, written by hand: the demo needs no schema library. */
export function strings<const Fields extends Readonly<Record<string, string>>>(
  fields: Fields,
): {
  readonly input: StandardSchemaV1<unknown, { readonly [Name in keyof Fields]: string }>;
  readonly jsonSchema: Readonly<Record<string, unknown>>;
} {
  const names = Object.keys(fields);
  return {
    input: {
      '~standard': {
        version: 1,
        vendor: 'holdfast-demo',
        validate: (value) => {
          const given = (value ?? {}) as Readonly<Record<string, unknown>>;
          const missing = names.filter((name) => typeof given[name] !== 'string');
          if (missing.length > 0)
            return { issues: missing.map((name) => ({ message: 'must be a string', path: [name] })) };
          return { value: given as { readonly [Name in keyof Fields]: string } };
        },
      },
    },
    jsonSchema: {
      type: 'object',
      properties: Object.fromEntries(
        Object.entries(fields).map(([name, description]) => [name, { type: 'string', description }]),
      ),
      required: names,
      additionalProperties: false,
    },
  };
}
