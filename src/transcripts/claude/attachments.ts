/**
 * The attachments that the model got: contents of files, outputs of hooks, reminders. Newer versions of Claude Code write what the
 * model got beside them (`rendered`); for older ones it is made again from their fields.
 */
import { asList, asName, asObject, asText, type Json, keep } from '../json-access.ts';
import { contentText } from './content.ts';

/** How the attachments of each kind read. The others hold settings and lists of tools, which another model does not have. */
const TEXTS: { readonly [kind: string]: (attachment: Json) => string | undefined } = {
  hook_success: ({ hookName, content, stdout }) =>
    hookText(hookName, 'hook success', textOf(content) ?? asName(stdout)),
  hook_additional_context: ({ hookName, content }) => hookText(hookName, 'hook additional context', textOf(content)),
  task_reminder: ({ content }) => {
    const tasks = asList(content).map((task) => `- ${oneLine(task)}`);
    return tasks.length === 0 ? undefined : `The tasks are now:\n${tasks.join('\n')}`;
  },
  edited_text_file: ({ filename, snippet }) =>
    `${asText(filename) ?? 'A file'} was changed by the user or by a linter:\n${asText(snippet) ?? ''}`,
  diagnostics: ({ files }) => {
    const found = asList(files).flatMap((file) => {
      const { uri, diagnostics } = asObject(file) ?? {};
      return asList(diagnostics).map((one) => `${asText(uri) ?? ''}: ${oneLine(one)}`);
    });
    return found.length === 0 ? undefined : `New diagnostics:\n${found.join('\n')}`;
  },
  goal_status: (attachment) => textOf(attachment.content) ?? `The goal: ${oneLine(withoutType(attachment))}`,
  plan_mode: (attachment) => textOf(attachment.content) ?? `Plan mode is on: ${oneLine(withoutType(attachment))}`,
  file: ({ filename, content }) => {
    const file = asObject(asObject(content)?.file);
    const text = asText(file?.content) ?? textOf(content);
    return text === undefined ? undefined : `The file ${asText(filename) ?? asText(file?.filePath) ?? ''}:\n${text}`;
  },
};

/** What the model got of an attachment line; `undefined` when nothing of it belongs to the conversation. */
export function attachmentText(line: Json): string | undefined {
  const attachment = asObject(line.attachment);
  const kind = asText(attachment?.type) ?? '';
  if (attachment === undefined || !Object.hasOwn(TEXTS, kind)) return undefined;
  const rendered = asList(line.rendered).map((part) => contentText(asObject(part)?.content));
  const text = rendered.length > 0 ? rendered.join('\n') : TEXTS[kind]?.(attachment);
  return text === undefined || text.trim() === '' ? undefined : reminder(text);
}

function reminder(text: string): string {
  return text.trimStart().startsWith('<system-reminder>') ? text : `<system-reminder>\n${text}\n</system-reminder>`;
}

function hookText(name: unknown, what: string, text: string | undefined): string | undefined {
  return text === undefined ? undefined : `${asName(name) ?? ''} ${what}: ${text}`.trim();
}

/** A text or a list of texts. */
function textOf(value: unknown): string | undefined {
  const text = Array.isArray(value) ? value.flatMap((item) => asText(item) ?? []).join('\n') : asText(value);
  return text === undefined || text.trim() === '' ? undefined : text;
}

/** The text of an object, where it has one, else all of it. */
function oneLine(value: unknown): string {
  const object = asObject(value);
  const text = asName(object?.subject) ?? asName(object?.message) ?? asName(object?.content) ?? asText(value);
  if (text === undefined) return JSON.stringify(keep(value)) ?? '';
  const status = asName(object?.status) ?? asName(object?.severity);
  return status === undefined ? text : `${text} (${status})`;
}

function withoutType({ type: _, ...fields }: Json): Json {
  return fields;
}
