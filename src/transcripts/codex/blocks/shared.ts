import type { BlockWriter } from '../../block-writer.ts';
import type { DiagnosticsCollector } from '../../diagnostics.ts';
import type { CodexAgents } from './agents.ts';

/** What the threads of a session share. */
export interface Shared {
  readonly writer: BlockWriter;
  readonly diagnostics: DiagnosticsCollector;
  readonly agents: CodexAgents;
  /** The responses whose usage was counted. */
  readonly responses: Set<string>;
}
