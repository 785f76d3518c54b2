import { createHmac } from 'node:crypto';

/**
 * Signatures and encrypted content as a provider issues them. They are checked without being remembered, so that a server
 * started anew still knows its own, and nobody else's pass.
 */
const KEY = 'provider-server';

/** Proof that this server said `content` after `prefix`, with `model`. */
export function seal(kind: string, ...covered: readonly unknown[]): string {
  return createHmac('sha256', KEY)
    .update(JSON.stringify([kind, ...covered]))
    .digest('base64');
}

/** Opaque content that only this server can read. */
export function encrypt(kind: string, content: string): string {
  const data = Buffer.from(content).toString('base64url');
  return `${data}.${createHmac('sha256', KEY).update(`${kind}.${data}`).digest('base64url')}`;
}

/** What `encrypt` was given, or `undefined` when it is another's or was changed. */
export function decrypt(kind: string, text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const [data = ''] = text.split('.');
  const content = Buffer.from(data, 'base64url').toString();
  return encrypt(kind, content) === text ? content : undefined;
}
