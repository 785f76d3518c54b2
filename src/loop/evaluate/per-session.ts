import type { AnySession } from '../../session/session.ts';

/** A lookup that makes one value for each session handle and forgets it with the handle. */
export function perSession<T>(make: (session: AnySession) => T): (session: AnySession) => T {
  const made = new WeakMap<AnySession, T>();
  return (session) => {
    let value = made.get(session);
    if (value === undefined) {
      value = make(session);
      made.set(session, value);
    }
    return value;
  };
}
