import type { ToolMessage } from 'holdfast';

/** A job of the demo's model: its request, its turn, and what its tools have returned. */
export interface JobState {
  readonly request: string;
  readonly turn: number;
  /** The results of a tool, in order. */
  results(tool: string): readonly ToolMessage[];
  /** The texts of a tool's results. */
  said(tool: string): readonly string[];
}
