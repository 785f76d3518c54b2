import { type ReactNode, useState } from 'react';
import { savedToken, saveToken } from '../api/server.ts';
import { useRead } from '../api/use-read.ts';
import { Button } from '../ui/button.tsx';

/** Asks for the server's token when the server wants one. */
export function TokenGate({ children }: { readonly children: ReactNode }) {
  const { error, refresh } = useRead<object>('sessions?limit=1');
  const [token, setToken] = useState('');
  const [tried, setTried] = useState<Error>(); // the error before the last attempt: while it stays, the server has not responded
  const isWrong = savedToken() !== '' && error !== tried;
  if (!(error && 'code' in error && error.code === 'UNAUTHORIZED')) return children;
  return (
    <main>
      <form
        className="mx-auto flex max-w-sm flex-col gap-3 px-4 pt-[20vh]"
        onSubmit={(event) => {
          event.preventDefault();
          saveToken(token.trim());
          setTried(error);
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
          aria-invalid={isWrong}
          // biome-ignore lint/a11y/noAutofocus: nothing else can be done here
          autoFocus
          autoComplete="off"
          value={token}
          onChange={({ target }) => setToken(target.value)}
          className="h-8 rounded-md border border-strong-line bg-ground px-2.5 aria-invalid:border-fails"
        />
        {isWrong && (
          <p role="alert" className="text-fails">
            The server refused this token.
          </p>
        )}
        <Button type="submit" kind="primary" className="self-start">
          Continue
        </Button>
      </form>
    </main>
  );
}
