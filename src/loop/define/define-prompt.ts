import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError } from '../../core/errors.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import { isRecord } from '../../core/log/message-problem.ts';
import { type PromptIdentity, promptIdentityText } from '../../core/log/prompt-identity.ts';
import { closedSchema } from '../../models/closed-schema.ts';
import { sha256 } from '../../session/read/contents.ts';
import { type AnyTool, checkToolName } from './define-tool.ts';
import { type ForeignTool, isForeignTool, toTool } from './foreign-tools.ts';
import { type JsonSchema, toJsonSchema } from './json-schema.ts';

/** Only for the compiler. */
declare const bound: unique symbol;

/** What a model is given: instructions, tools and the shape of its output. `Params` are the values that the instructions need. */
export interface Prompt<Output = undefined, Params = AnyParams> extends PromptIdentity {
  readonly instructions: string;
  readonly [bound]?: Params;
  readonly tools: readonly AnyTool[];
  readonly output?: { readonly schema: StandardSchemaV1<unknown, Output>; readonly jsonSchema: JsonSchema };
}

/** Values for `{{name}}` in instructions that the compiler does not know. */
export type AnyParams = Readonly<Record<string, unknown>>;

/** The values that instructions need: one for each `{{name}}` in a literal text. */
export type ParamsOf<Instructions extends string> = string extends Instructions
  ? AnyParams
  : { readonly [Name in NamesIn<Instructions>]: string | number | boolean };

/** The names that a text has in double braces. Whatever else stands there is text, as it is at run time. */
type NamesIn<Text extends string> = Text extends `${string}{{${infer Rest}`
  ? Rest extends `${infer Name}}}${infer After}`
    ? IsName<Trimmed<Name>> extends true
      ? Trimmed<Name> | NamesIn<After>
      : NamesIn<Rest>
    : never
  : never;

type Space = ' ' | '\n' | '\t' | '\r';
type Trimmed<Text extends string> = Text extends `${Space}${infer Rest}` | `${infer Rest}${Space}`
  ? Trimmed<Rest>
  : Text;

type Digit = '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9';
type IsName<Text extends string> = Text extends '' ? false : HasOnlyNameCharacters<Text>;
type HasOnlyNameCharacters<Text extends string> = Text extends `${infer First}${infer Rest}`
  ? First extends Digit | '_' | '.' | '-'
    ? HasOnlyNameCharacters<Rest>
    : Lowercase<First> extends Uppercase<First> // no letter
      ? false
      : HasOnlyNameCharacters<Rest>
  : true;

/** What `definePrompt` takes. */
export interface PromptDefinition<Schema extends StandardSchemaV1 | undefined, Instructions extends string = string> {
  readonly ns: string;
  readonly key: string;
  /** Text with `{{name}}`, bound by `evaluate(prompt, { params })`: each name of a literal text is required there. */
  readonly instructions: Instructions;
  /** Tools of ours and AI SDK `tool()` objects. The latter have no name of their own: the key in a `ToolSet` is their name. */
  readonly tools?: ToolSet | readonly ToolEntry[];
  /** The shape of the response; without one it is text. Objects are sent as closed: `z.object` is strict where the provider can be. */
  readonly output?: Schema;
  /** For schema libraries that do not convert themselves; sent as it is. */
  readonly outputJsonSchema?: JsonSchema;
}

/** Tools by name: ours, under their own name, and AI SDK `tool()` objects. */
export type ToolSet = Readonly<Record<string, AnyTool | ForeignTool>>;

/** An AI SDK `tool()` object that was given a name: `{ ...tool(…), name: 'weather' }`. */
export type NamedForeignTool = ForeignTool & { readonly name: string };

/** What a list of tools may hold. */
type ToolEntry = AnyTool | NamedForeignTool | ToolSet;

/** The output that a schema describes; without a schema there is none. */
export type OutputOf<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : undefined;

const KNOWN: KnownOptions<PromptDefinition<undefined>> = {
  ns: true,
  key: true,
  instructions: true,
  tools: true,
  output: true,
  outputJsonSchema: true,
};

/** Defines a prompt and fixes its identity: name, instructions, and the names and schemas of its tools. */
export function definePrompt<
  Schema extends StandardSchemaV1 | undefined = undefined,
  const Instructions extends string = string,
>(definition: PromptDefinition<Schema, Instructions>): Prompt<OutputOf<Schema>, ParamsOf<Instructions>> {
  const { ns, key, instructions, output } = definition;
  refuseUnknownOptions('definePrompt', definition, KNOWN);
  if (!ns || !key || typeof instructions !== 'string') {
    throw new HoldfastError('INVALID_ARGUMENT', 'a prompt has a ns, a key and instructions');
  }
  const tools = listTools(definition.tools ?? []);
  const twice = tools.find((tool, i) => tools.findIndex((other) => other.name === tool.name) !== i);
  if (twice)
    throw new HoldfastError('INVALID_ARGUMENT', `prompt ${ns}/${key} has two tools called "${twice.name}"; rename one`);
  const text = promptIdentityText({
    instructions,
    tools: tools.map((tool) => ({ name: tool.name, schema: tool.jsonSchema })),
  });
  return {
    ns,
    key,
    hash: sha256(text),
    instructions,
    tools,
    ...(output && {
      output: {
        schema: output as StandardSchemaV1<unknown, OutputOf<Schema>>,
        jsonSchema:
          definition.outputJsonSchema ?? closedSchema(toJsonSchema(output, undefined, `prompt ${ns}/${key}: output`)),
      },
    }),
  };
}

function listTools(tools: ToolSet | readonly ToolEntry[]): readonly AnyTool[] {
  return isList(tools) ? tools.flatMap(toolsIn) : toolsOf(tools);
}

/** `Array.isArray` does not narrow a list that is readonly. */
function isList(tools: ToolSet | readonly ToolEntry[]): tools is readonly ToolEntry[] {
  return Array.isArray(tools);
}

function toolsIn(entry: ToolEntry): readonly AnyTool[] {
  if (isToolSet(entry)) return toolsOf(entry);
  if (!isForeignTool(entry)) {
    if (isRecord(entry) && 'jsonSchema' in entry) return [entry as unknown as AnyTool];
    throw new HoldfastError('INVALID_ARGUMENT', `tools holds ${String(entry)}, which is no tool; defineTool makes one`);
  }
  const { name } = entry as Partial<NamedForeignTool>;
  if (name === undefined) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      'an AI SDK tool has no name of its own; pass it as { name: tool }, in the list or instead of it',
    );
  }
  checkToolName(name);
  return [toTool(name, entry)];
}

function isToolSet(entry: unknown): entry is ToolSet {
  const isTool = (value: unknown): boolean => isForeignTool(value) || (isRecord(value) && 'jsonSchema' in value);
  return isRecord(entry) && Object.values(entry).every(isTool);
}

function toolsOf(tools: ToolSet): readonly AnyTool[] {
  return Object.entries(tools).map(([name, tool]) => {
    checkToolName(name);
    if (isForeignTool(tool)) return toTool(name, tool);
    if (tool.name === name) return tool;
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `tools: { ${name} } holds the tool "${tool.name}"; give it the name "${name}", or the key "${tool.name}"`,
    );
  });
}
