/** A report of the agent to its parent. `failed` is an error that is not part of a response. */
export type Progress =
  | { readonly type: 'said'; readonly delta: string; readonly turn: number }
  | { readonly type: 'called'; readonly name: string; readonly arguments: string }
  | { readonly type: 'acted'; readonly name: string }
  | { readonly type: 'lookedUp'; readonly name: string; readonly happened: boolean }
  | { readonly type: 'returned'; readonly name: string; readonly text: string; readonly isError: boolean }
  | { readonly type: 'interrupted'; readonly text: string }
  | {
      readonly type: 'done';
      readonly status: string;
      readonly text: string;
      readonly message?: string;
      /** Calls that wait for a person: for an approval, or because their outcome is unknown. */
      readonly waitsFor?: readonly { readonly name: string; readonly isUnknown: boolean }[];
    }
  | { readonly type: 'failed'; readonly message: string };
