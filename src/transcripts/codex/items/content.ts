/** Reads the content of Responses items: texts, images, and what tools returned. */
import type { MediaPart, TextPart } from '../../../core/log/messages.ts';
import { mediaPart, mediaPartOfUrl } from '../../../formats/media.ts';
import { asList, asName, asObject, asText, type Json } from '../../json-access.ts';

export type Part = TextPart | MediaPart;

/** The parts of a message or of a tool's output: a text, or a list of parts. Parts of unknown types are left out. */
export function partsOf(content: unknown): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return asList(content).flatMap((part) => partOf(asObject(part) ?? {}) ?? []);
}

/** One part of a message, of an output, or of the result of an MCP tool. */
function partOf(part: Json): Part | undefined {
  const text = asText(part.text);
  if (text !== undefined) return { type: 'text', text };
  const url = asName(part.image_url) ?? asName(asObject(part.image_url)?.url) ?? asName(part.audio_url);
  if (url !== undefined) return mediaPartOfUrl(url, part.audio_url === undefined ? 'image/*' : 'audio/*');
  const data = asName(part.data);
  return data === undefined ? undefined : mediaPart(asName(part.mimeType) ?? 'application/octet-stream', data);
}

/** The texts of parts as one text. A part that ends a line needs no other line break. */
export function textOfParts(parts: readonly Part[]): string {
  const texts = parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));
  const [only = ''] = texts;
  if (texts.length <= 1) return only;
  return texts.map((text, index) => (index === 0 || texts[index - 1]?.endsWith('\n') ? text : `\n${text}`)).join('');
}

/** The parts of a person's message without the tags that Codex puts around images. */
export function withoutImageTags(parts: readonly Part[]): readonly Part[] {
  if (parts.every(({ type }) => type === 'text')) return parts;
  return parts.filter((part) => part.type !== 'text' || !/^\s*<\/?image\b[^<>]*>\s*$/.test(part.text));
}

/** What a tool returned, as the model got it. `output` is a text, a list of parts, or in old files an object with either. */
export function outputParts(output: unknown): readonly Part[] {
  const object = asObject(output);
  return partsOf(object === undefined ? output : (object.content ?? object.content_items ?? object.output));
}

/** The parts when they are more than text. */
export function mediaIn(parts: readonly Part[]): readonly Part[] | undefined {
  return parts.some(({ type }) => type !== 'text') ? parts : undefined;
}

/** The texts of a summary of reasoning, or of the reasoning itself. */
export function reasoningTexts({ summary, content }: Json): readonly string[] {
  const texts = (parts: unknown): readonly string[] =>
    asList(parts).flatMap((part) => asText(asObject(part)?.text) ?? []);
  return texts(summary).length > 0 ? texts(summary) : texts(content);
}

/** The texts of a thought's item. */
export function thoughtTexts({ summary_text, raw_content }: Json): readonly string[] {
  const texts = (list: unknown): readonly string[] => asList(list).flatMap((text) => asText(text) ?? []);
  return texts(summary_text).length > 0 ? texts(summary_text) : texts(raw_content);
}
