/** The host name of a `Host` header or a URL's host, without port and brackets; undefined when it is none. */
export function hostNameOf(host: string): string | undefined {
  if (!URL.canParse(`http://${host}`)) return undefined;
  const { hostname, username, pathname, search } = new URL(`http://${host}`);
  if (username !== '' || pathname !== '/' || search !== '') return undefined;
  return hostname.replace(/^\[|\]$/g, '').toLowerCase();
}

/** Whether a host name or address reaches only this machine. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}
