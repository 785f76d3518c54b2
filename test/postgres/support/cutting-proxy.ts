/** A proxy between the store and its server that cuts connections on command, also in the instant of a commit. */
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What happens to the next statement that is sent: `before` cuts the connection and the server never receives it; `after` lets the
 * server finish it, and cuts the connection instead of passing its response on.
 */
export type Cut = 'before' | 'after';

/** ReadyForQuery, the last message of a response: the statement is committed. */
const READY = 'Z\0\0\0\x05';
const FIELDS = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
/** The ErrorResponse of a connection that an administrator ends. */
const TERMINATED = `E\0\0\0${String.fromCharCode(FIELDS.length + 4)}${FIELDS}`;

export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: { readonly host: string; readonly port: number };
  #armed: Cut | undefined;
  #matches: ((statement: string) => boolean) | undefined;
  #opening = 0;
  /** How many connections were cut. */
  cuts = 0;

  private constructor(target: URL) {
    this.#target = { host: target.hostname, port: Number(target.port || 5432) };
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client));
  }

  static async start(url: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(new URL(url));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The address of the proxy for the same database. */
  urlFor(url: string): string {
    const { port } = this.#server.address() as { readonly port: number };
    const through = new URL(url);
    through.hostname = '127.0.0.1';
    through.port = String(port);
    return through.href;
  }

  /** Cuts the connection of the next statement that matches, once. */
  arm(cut: Cut, matches: (statement: string) => boolean = () => true): void {
    this.#armed = cut;
    this.#matches = matches;
  }

  /**
   * The next connections end in the instant that they are open: the greeting of the server and its last words, "terminating connection
   * due to administrator command", arrive together.
   */
  endOpening(connections: number): void {
    this.#opening = connections;
  }

  get isArmed(): boolean {
    return this.#armed !== undefined;
  }

  /** Cuts every connection now. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    const server = connect({ ...this.#target, noDelay: true });
    let swallows = false;
    let isOpen = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (chunk) => {
      // Text of statements is sent as it is; a prepared one is recognised by its name.
      const cut = this.#armed && this.#matches?.(chunk.toString('latin1')) ? this.#armed : undefined;
      if (cut === undefined) {
        server.write(chunk);
        return;
      }
      this.#armed = undefined;
      this.cuts++;
      if (cut === 'before') client.destroy();
      else {
        swallows = true;
        server.write(chunk);
      }
    });
    server.on('data', (chunk) => {
      const isReady = chunk.includes(READY, 0, 'latin1');
      if (isReady && !isOpen && this.#opening > 0) {
        this.#opening--;
        this.cuts++;
        client.end(Buffer.concat([chunk, Buffer.from(TERMINATED, 'latin1')]));
        return;
      }
      isOpen ||= isReady;
      if (!swallows) client.write(chunk);
      else if (isReady) client.destroy();
    });
  }
}
