import { ViewHeader } from '../ui/view-header.tsx';
import { Link } from './link.tsx';
import { addressOf } from './router.ts';

/** Says that the address names nothing, and leads back. */
export function NotFound({ children }: { readonly children: string }) {
  return (
    <>
      <ViewHeader title="Not found" />
      <p className="p-4 break-words text-muted">
        {children}{' '}
        <Link href={addressOf()} className="text-accent underline underline-offset-2">
          All sessions
        </Link>
      </p>
    </>
  );
}
