import { type Body, isRecord, type Refusal } from './server-turn.ts';

/** OpenAI's requirements for a schema in strict mode: closed objects with every property required. */
export function checkStrictSchema(schema: unknown, param: string): Refusal | undefined {
  if (!isRecord(schema)) return undefined;
  if (schema.type === 'object' || isRecord(schema.properties)) {
    if (schema.additionalProperties !== false) {
      return { message: `Invalid schema: 'additionalProperties' is required to be supplied and to be false.`, param };
    }
    const keys = Object.keys((schema.properties as Body | undefined) ?? {});
    const required = Array.isArray(schema.required) ? schema.required : [];
    if (keys.some((key) => !required.includes(key))) {
      return { message: `Invalid schema: 'required' must include every key in properties.`, param };
    }
  }
  for (const value of Object.values(schema)) {
    for (const child of Array.isArray(value) ? value : isRecord(value) ? [value, ...Object.values(value)] : []) {
      const refusal = checkStrictSchema(child, param);
      if (refusal) return refusal;
    }
  }
  return undefined;
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Functions offered to a model: at least one, valid names, each once, parameters an object schema. */
export function checkFunctions(functions: readonly Body[], param: string): Refusal | undefined {
  const names = new Set<unknown>();
  for (const { name, parameters } of functions) {
    if (typeof name !== 'string' || !NAME.test(name)) {
      return { message: `Invalid '${param}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`, param };
    }
    if (names.has(name)) return { message: `Tool names must be unique: ${name}`, param };
    names.add(name);
    if (parameters !== undefined && (!isRecord(parameters) || parameters.type !== 'object')) {
      return {
        message: `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"'.`,
        param,
      };
    }
  }
  return undefined;
}

/** A function's name, and arguments that are JSON of an object. */
export function checkCall(
  call: { readonly name: unknown; readonly arguments: unknown },
  param: string,
): Refusal | undefined {
  if (typeof call.name !== 'string' || !NAME.test(call.name)) {
    return { message: `Invalid '${param}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`, param };
  }
  if (typeof call.arguments !== 'string')
    return { message: `Missing required parameter: '${param}.arguments'.`, param };
  try {
    if (isRecord(JSON.parse(call.arguments))) return undefined;
  } catch {}
  return { message: `Invalid '${param}.arguments': not a JSON object.`, param };
}
