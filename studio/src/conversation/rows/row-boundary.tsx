import { Component, type ReactNode } from 'react';
import { sentence } from '../../ui/problem.tsx';
import { AsWrittenContext } from '../text/markdown.tsx';

/** Keeps the error of one row from the others: its Markdown is shown as it was written; if that fails as well, a sentence is shown. */
export function RowBoundary({ children }: { readonly children: ReactNode }) {
  return (
    <Rescue instead={(error) => <p className="py-1 text-fails">This block could not be shown. {sentence(error)}</p>}>
      <Rescue instead={() => <AsWrittenContext value={true}>{children}</AsWrittenContext>}>{children}</Rescue>
    </Rescue>
  );
}

interface Props {
  readonly children: ReactNode;
  readonly instead: (error: Error) => ReactNode;
}

class Rescue extends Component<Props, { readonly error?: Error }> {
  override state: { readonly error?: Error } = {};

  static getDerivedStateFromError(error: Error): { readonly error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error ? this.props.instead(error) : this.props.children;
  }
}
