/** Whether asking again may help: a timeout, a conflict, a limit, or the provider's own failure. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}
