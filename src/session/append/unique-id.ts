import { lateModule } from '../../stores/late-module.ts';

/** An id that no process makes a second time: the prefix and 72 random bits. */
export function uniqueId(prefix = ''): string {
  return prefix + lateModule('node:crypto').randomBytes(9).toString('base64url');
}
