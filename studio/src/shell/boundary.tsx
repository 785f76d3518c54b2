import { Component, type ReactNode } from 'react';
import { Button } from '../ui/button.tsx';
import { Problem, sentence } from '../ui/problem.tsx';

/** Shows the error of a view in a sentence, instead of an empty page. */
export class Boundary extends Component<{ readonly children: ReactNode }, { readonly error?: Error }> {
  override state: { readonly error?: Error } = {};

  static getDerivedStateFromError(error: Error): { readonly error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <Problem action={<Button onClick={() => location.reload()}>Load the page again</Button>}>
        {isMissing(error)
          ? 'This view could not be loaded: the server does not respond, or has another version of Studio now.'
          : `This view could not be shown. ${sentence(error)}`}
      </Problem>
    );
  }
}

/** Whether a file of Studio itself could not be read. Browsers have no code for it. */
function isMissing({ message }: Error): boolean {
  return /dynamically imported module|module script/i.test(message);
}
