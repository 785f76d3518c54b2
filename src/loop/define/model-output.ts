import type { MediaPart, TextPart } from '../../core/log/messages.ts';
import { type ToolContent, toolContent } from './tool-result.ts';

/** What an AI SDK tool's `toModelOutput` gives, by its shape. */
export interface ModelOutput {
  readonly type: string;
  readonly value?: unknown;
  readonly reason?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** An AI SDK tool's output for the model as a result: text, JSON, an error, or parts with media among them. */
export function fromModelOutput(output: ModelOutput): unknown {
  switch (output.type) {
    case 'error-text':
      return failed(String(output.value));
    case 'error-json':
      return failed(JSON.stringify(output.value) ?? '');
    case 'execution-denied':
      return failed(output.reason ? `This call was denied: ${output.reason}` : 'This call was denied.');
    case 'content':
      return toolContent((output.value as readonly Fields[]).map(fromPart));
    default:
      return output.value; // text and JSON
  }
}

function failed(text: string): ToolContent {
  return toolContent([{ type: 'text', text }], { isError: true });
}

/** A part has its data beside its type, under `data`, or is a link; of what a provider keeps, only its name is known. */
function fromPart(part: Fields): TextPart | MediaPart {
  if (part.type === 'text') return { type: 'text', text: String(part.text) };
  const held = isFields(part.data) && !(part.data instanceof Uint8Array) ? part.data : part;
  if (held.type === 'text' && typeof held.text === 'string') return { type: 'text', text: held.text };
  const data = dataOf(held.data) ?? dataOf(held.url);
  if (data === undefined) return { type: 'text', text: JSON.stringify(part) };
  const image = String(part.type).startsWith('image');
  const mediaType =
    typeof part.mediaType === 'string' ? part.mediaType : image ? 'image/png' : 'application/octet-stream';
  return {
    type: image || mediaType.startsWith('image/') ? 'image' : 'file',
    mediaType,
    data,
    ...(typeof part.filename === 'string' && { filename: part.filename }),
  };
}

function dataOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof URL) return value.href;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return value instanceof ArrayBuffer ? Buffer.from(value).toString('base64') : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
