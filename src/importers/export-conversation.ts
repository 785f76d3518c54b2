import {
  type ExportedConversation,
  type ExportOptions,
  type ExportSource,
  exportWith,
} from '../transcripts/export/export-with.ts';
import { loadRenderer } from './load-renderer.ts';

/** Exports a conversation. Throws `INVALID_ARGUMENT` for a format that is not known, and for a value that is no conversation. */
export function exportConversation(source: ExportSource, options: ExportOptions): ExportedConversation {
  return exportWith((state, head) => loadRenderer()(state, head), source, options);
}
