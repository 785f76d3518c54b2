import { createHmac } from 'node:crypto';

/**
 * Signatures and encrypted content as a provider issues them. They are validated without stored state, so that a restarted server
 * recognises its own, and rejects all others.
 */
const KEY = 'provider-server';

/** Proof that this server sent `content` after `prefix`, with `model`. */
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

/** The decrypted content, or `undefined` when another server made it or it was changed. */
export function decrypt(kind: string, text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const [data = ''] = text.split('.');
  const content = Buffer.from(data, 'base64url').toString();
  return encrypt(kind, content) === text ? content : undefined;
}
