import { type ReactNode, useState } from 'react';
import { saveToken } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import { Button } from '../ui/button.tsx';

/** Asks for the server's token when the server wants one. */
export function TokenGate({ children }: { readonly children: ReactNode }) {
  const { error, refresh } = useRead<object>('sessions?limit=1');
  const [token, setToken] = useState('');
  if (!(error && 'code' in error && error.code === 'UNAUTHORIZED')) return children;
  return (
    <form
      className="mx-auto flex max-w-sm flex-col gap-3 pt-[20vh]"
      onSubmit={(event) => {
        event.preventDefault();
        saveToken(token.trim());
        refresh();
      }}
    >
      <h1 className="text-base font-semibold">This server needs its token</h1>
      <p className="text-muted">
        It is the one that was given to createServer. Studio keeps it while this tab is open.
      </p>
      <input
        type="password"
        aria-label="Token"
        autoComplete="off"
        value={token}
        onChange={({ target }) => setToken(target.value)}
        className="h-8 rounded-md border border-strong-line bg-ground px-2.5"
      />
      <Button type="submit" kind="primary" className="self-start">
        Continue
      </Button>
    </form>
  );
}
