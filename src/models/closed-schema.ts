/** What OpenAI does not take in a strict schema. */
const NOT_STRICT = ['oneOf', 'allOf', 'not', 'if', 'dependentRequired', 'dependentSchemas', 'patternProperties'];

/**
 * Whether a JSON Schema says of every object which properties it has, all of them required: what OpenAI calls strict, and
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
