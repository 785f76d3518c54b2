/** A file or a folder that a search could not read. */
export interface SearchProblem {
  /**
   * `unreadable`: no permission, or it disappeared. `too-large`: it has to be read as one text and is too large for that. `name-not-utf8`: its
   * name has no form as text, so it cannot be named here.
   */
  readonly code: 'unreadable' | 'too-large' | 'name-not-utf8';
  /** The path. Bytes of a name that are not UTF-8 are replaced. */
  readonly path: string;
  readonly message: string;
}

/** Receives what could not be read. */
export type ReportProblem = (problem: SearchProblem) => void;
