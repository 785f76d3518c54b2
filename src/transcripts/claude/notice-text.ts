/** The texts of `system` lines, which keep them in different fields. */
import { asList, asName, asObject, asText, type Json } from '../json-access.ts';
import { readableText } from './user-text.ts';

/** For an error of the API without a text. */
export const API_ERROR = 'API error';

/** The text of a notice; empty when it says nothing. */
export function noticeText(line: Json): string {
  const content = asText(line.content) ?? '';
  if (content.trim() !== '') return readableText(content);
  const errors = asList(line.hookErrors).flatMap((error) => asText(error) ?? []);
  return [...errors, asText(line.stopReason) ?? ''].filter((text) => text.trim() !== '').join('\n');
}

/**
 * The text of an API error. The line holds the error of the client, which holds the response's body, which holds the error of the API;
 * or the error of the connection.
 */
export function apiErrorText(line: Json): string {
  const content = asText(line.content) ?? '';
  if (content.trim() !== '') return content;
  const error = asObject(line.error);
  const cause = asObject(line.cause) ?? asObject(error?.cause);
  const body = asObject(error?.error);
  const status = typeof error?.status === 'number' ? `${API_ERROR} ${error.status}` : undefined;
  const text =
    asName(asObject(body?.error)?.message) ??
    asName(body?.message) ??
    asName(error?.message) ??
    asName(error?.formatted) ??
    asName(line.error) ??
    asName(cause?.message) ??
    asName(cause?.code);
  if (text === undefined) return status ?? API_ERROR;
  return status === undefined || text.includes(String(error?.status)) ? text : `${status}: ${text}`;
}
