/**
 * The part of JSON Schema that the routes are described with. One description both checks a request and stands in the OpenAPI
 * document, so that they cannot differ.
 */

/** A schema; `{}` accepts anything. */
export interface JsonSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  /** `false` refuses properties that are not listed. */
  readonly additionalProperties?: false;
  readonly items?: JsonSchema;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
}

/** Why a value does not fit a schema, with the path of the place; undefined when it fits. Only as deep as the schema. */
export function schemaProblem(value: unknown, schema: JsonSchema, path = 'the body'): string | undefined {
  if (schema.anyOf) {
    const problems = schema.anyOf.map((each) => schemaProblem(value, each, path));
    return problems.includes(undefined) ? undefined : problems.join('; or ');
  }
  if (schema.type !== undefined && !hasType(value, schema.type)) return `${path} must be ${withArticle(schema.type)}`;
  if (schema.enum && !schema.enum.includes(value as string)) return `${path} must be one of ${schema.enum.join(', ')}`;
  if (typeof value === 'number') return rangeProblem(value, schema, path);
  if (typeof value === 'string' && value.length < (schema.minLength ?? 0)) return `${path} must not be empty`;
  if (Array.isArray(value)) return itemProblem(value, schema, path);
  return typeof value === 'object' && value !== null ? objectProblem(value, schema, path) : undefined;
}

function objectProblem(value: object, schema: JsonSchema, path: string): string | undefined {
  const { properties = {}, required = [], additionalProperties } = schema;
  for (const name of required) if (!Object.hasOwn(value, name)) return `${path} lacks "${name}"`;
  for (const [name, item] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!known && additionalProperties === false) {
      return `${path} has no field ${JSON.stringify(name.slice(0, 50))}; there are: ${Object.keys(properties).join(', ')}`;
    }
    const problem = known && schemaProblem(item, known, `"${name}"`);
    if (problem) return problem;
  }
  return undefined;
}

function itemProblem(value: readonly unknown[], { items }: JsonSchema, path: string): string | undefined {
  if (!items) return undefined;
  for (const [i, item] of value.entries()) {
    const problem = schemaProblem(item, items, `${path}[${i}]`);
    if (problem) return problem;
  }
  return undefined;
}

function rangeProblem(value: number, { minimum, maximum }: JsonSchema, path: string): string | undefined {
  if (minimum !== undefined && value < minimum) return `${path} must be at least ${minimum}`;
  if (maximum !== undefined && value > maximum) return `${path} must be at most ${maximum}`;
  return undefined;
}

function hasType(value: unknown, type: NonNullable<JsonSchema['type']>): boolean {
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isSafeInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

function withArticle(type: string): string {
  return type === 'null' ? type : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;
}
