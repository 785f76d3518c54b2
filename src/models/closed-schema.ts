import { isRecord } from '../core/log/message-problem.ts';

/** What OpenAI does not take in a strict schema. */
const NOT_STRICT = ['oneOf', 'allOf', 'not', 'if', 'dependentRequired', 'dependentSchemas', 'patternProperties'];

/**
 * Whether a JSON Schema lists for every object the properties that it has, all of them required: what OpenAI calls strict, and
 * refuses otherwise.
 */
export function isClosedSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosedSchema);
  if (typeof schema !== 'object' || schema === null) return true;
  if (NOT_STRICT.some((keyword) => keyword in schema)) return false;
  const { type, properties, required, additionalProperties, ...rest } = schema as Readonly<Record<string, unknown>>;
  if (properties !== undefined || type === 'object') {
    const keys = Object.keys((properties as object | undefined) ?? {});
    const listed = Array.isArray(required) ? required : [];
    if (additionalProperties !== false || keys.some((key) => !listed.includes(key))) return false;
  }
  return (
    Object.values((properties as object | undefined) ?? {}).every(isClosedSchema) &&
    Object.values(rest).every(isClosedSchema)
  );
}

/** Whether OpenAI takes a schema in strict mode: a closed object. It refuses any other root: the root must be an object. */
export function isStrictSchema(schema: Readonly<Record<string, unknown>>): boolean {
  return schema.type === 'object' && isClosedSchema(schema);
}

type Schema = Readonly<Record<string, unknown>>;

/** Keywords that describe an object together with others: closing one of their objects would exclude what the others allow. */
const DESCRIBES_A_PART = ['allOf', 'not', 'if', 'dependentSchemas', 'patternProperties', 'unevaluatedProperties'];
/** Keywords that hold schemas: one, a list, or some by name. The values of others (`const`, `default`) are data. */
const HOLDS_SCHEMAS = ['items', 'prefixItems', 'additionalItems', 'anyOf', 'oneOf'];
const HOLDS_NAMED_SCHEMAS = ['properties', '$defs', 'definitions'];

/**
 * The schema of a response: objects that leave open whether they may have further properties may have none, so that providers can
 * hold a model to it. Schema libraries describe their plain objects as open and then strip or ignore further properties. `oneOf` becomes
 * `anyOf`, which strict modes take: the library validates the response anyway.
 */
export function closedSchema(schema: Schema): Schema {
  return someSchema(schema, (one) => DESCRIBES_A_PART.some((keyword) => keyword in one)) ? schema : closed(schema);
}

function closed(schema: Schema): Schema {
  const { oneOf, ...rest } = mapSchemas(schema, closed);
  const isOpen = rest.properties !== undefined && rest.additionalProperties === undefined;
  return {
    ...rest,
    ...(oneOf !== undefined && (rest.anyOf === undefined ? { anyOf: oneOf } : { oneOf })),
    ...(isOpen && { additionalProperties: false }),
  };
}

function someSchema(schema: Schema, matches: (schema: Schema) => boolean): boolean {
  if (matches(schema)) return true;
  let found = false;
  mapSchemas(schema, (inner) => {
    found ||= someSchema(inner, matches);
    return inner;
  });
  return found;
}

/** Replaces the schemas directly inside a schema. */
function mapSchemas(schema: Schema, replace: (schema: Schema) => Schema): Schema {
  const one = (value: unknown): unknown => (isRecord(value) ? replace(value) : value);
  const result: Record<string, unknown> = { ...schema };
  for (const keyword of HOLDS_SCHEMAS) {
    const value = schema[keyword];
    if (value !== undefined) result[keyword] = Array.isArray(value) ? value.map(one) : one(value);
  }
  for (const keyword of HOLDS_NAMED_SCHEMAS) {
    const named = schema[keyword];
    if (isRecord(named))
      result[keyword] = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, one(value)]));
  }
  if (isRecord(schema.additionalProperties)) result.additionalProperties = replace(schema.additionalProperties);
  return result;
}
