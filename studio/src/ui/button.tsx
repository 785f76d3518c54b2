import type { ComponentProps } from 'react';

const KINDS = {
  plain: 'border border-line bg-ground text-ink hover:bg-raised',
  primary: 'border border-transparent bg-accent text-on-accent hover:opacity-90',
  quiet: 'border border-transparent text-muted hover:bg-raised hover:text-ink',
  danger: 'border border-line bg-ground text-fails hover:bg-fails-ground',
} as const;

/** A button of one height everywhere. `plain` acts, `primary` is the one that is expected, `quiet` stands beside text. */
export function Button({
  kind = 'plain',
  className = '',
  ...rest
}: ComponentProps<'button'> & { readonly kind?: keyof typeof KINDS }) {
  return (
    <button
      type="button"
      className={`inline-flex h-7 shrink-0 items-center gap-1.5 rounded-md px-2.5 text-sm font-medium whitespace-nowrap disabled:opacity-50 ${KINDS[kind]} ${className}`}
      {...rest}
    />
  );
}
