/**
 * A proxy that pools transactions, as PgBouncer does in its mode `transaction`: a client has a connection to the server only while a
 * transaction lasts, and each transaction may get another one.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

const READY = 0x5a; // ReadyForQuery
const TERMINATE = 0x58;
const IDLE = 0x49;
const FIELDS = 'SFATAL\0VFATAL\0C08P01\0Mtransaction blocks not allowed in statement pooling mode\0\0';
/** The ErrorResponse of PgBouncer for BEGIN in its mode `statement`. */
const NO_TRANSACTIONS = `E\0\0\0${String.fromCharCode(FIELDS.length + 4)}${FIELDS}`;

/** Splits a stream of messages: a type of one byte, a length of four that includes itself, and a body. */
function messagesFrom(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 1 + rest.readInt32BE(1)) {
      const length = 1 + rest.readInt32BE(1);
      onMessage(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}

interface ServerConnection {
  readonly socket: Socket;
  client: PooledClient | undefined;
}

interface PooledClient {
  readonly socket: Socket;
  server: ServerConnection | undefined;
  /** Messages that wait for a connection. */
  waiting: Buffer[];
}

export class PoolingProxy {
  readonly #target: URL;
  readonly #size: number;
  readonly #server: Server;
  readonly #idle: ServerConnection[] = [];
  readonly #all = new Set<Socket>();
  readonly #queue: PooledClient[] = [];
  /** Whether it refuses transactions, as PgBouncer does in its mode `statement`. */
  refusesTransactions = false;
  /** What the server says when a connection starts: it is repeated to each client. */
  #greeting: Buffer | undefined;

  private constructor(url: string, size: number) {
    this.#target = new URL(url);
    this.#size = size;
    // It sends many small messages: none waits for the acknowledgement of the one before it.
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  /** Opens `size` connections to the server. Only for servers that trust their clients. */
  static async start(url: string, size: number): Promise<PoolingProxy> {
    const proxy = new PoolingProxy(url, size);
    for (let i = 0; i < proxy.#size; i++) await proxy.#openServer();
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const { port } = this.#server.address() as { readonly port: number };
    const through = new URL(this.#target.href);
    through.hostname = '127.0.0.1';
    through.port = String(port);
    return through.href;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#all) socket.destroy();
    await closed;
  }

  #openServer(): Promise<void> {
    const { hostname, port, username, pathname } = this.#target;
    const socket = connect({ host: hostname, port: Number(port || 5432), noDelay: true });
    this.#all.add(socket);
    socket.on('error', () => {});
    const parameters = `user\0${username || 'postgres'}\0database\0${pathname.slice(1)}\0\0`;
    const startup = Buffer.alloc(8 + parameters.length);
    startup.writeInt32BE(startup.length, 0);
    startup.writeInt32BE(196_608, 4);
    startup.write(parameters, 8, 'latin1');
    socket.write(startup);
    const connection: ServerConnection = { socket, client: undefined };
    return new Promise((resolve) => {
      const greeting: Buffer[] = [];
      let isStarted = false;
      socket.on(
        'data',
        messagesFrom((message) => {
          if (!isStarted) {
            greeting.push(Buffer.from(message));
            if (message[0] !== READY) return;
            isStarted = true;
            this.#greeting ??= Buffer.concat(greeting);
            this.#free(connection);
            resolve();
            return;
          }
          const { client } = connection;
          client?.socket.write(message);
          if (message[0] === READY && message[5] === IDLE) this.#free(connection);
        }),
      );
    });
  }

  /** After a transaction the connection goes to the client that waits longest. */
  #free(connection: ServerConnection): void {
    if (connection.client) connection.client.server = undefined;
    connection.client = undefined;
    const next = this.#queue.shift();
    if (next) this.#assign(next, connection);
    else this.#idle.push(connection);
  }

  #assign(client: PooledClient, connection: ServerConnection): void {
    client.server = connection;
    connection.client = client;
    const { waiting } = client;
    client.waiting = [];
    for (const message of waiting) connection.socket.write(message);
  }

  #accept(socket: Socket): void {
    this.#all.add(socket);
    const client: PooledClient = { socket, server: undefined, waiting: [] };
    socket.on('error', () => {});
    let isStarted = false;
    const onMessage = messagesFrom((message) => {
      if (message[0] === TERMINATE) {
        socket.end();
        return;
      }
      if (this.refusesTransactions && message.includes('BEGIN', 0, 'latin1')) {
        socket.end(Buffer.from(NO_TRANSACTIONS, 'latin1'));
        return;
      }
      if (client.server) {
        client.server.socket.write(message);
        return;
      }
      client.waiting.push(Buffer.from(message));
      if (client.waiting.length > 1) return;
      const connection = this.#idle.pop();
      if (connection) this.#assign(client, connection);
      else this.#queue.push(client);
    });
    socket.on('data', (chunk) => {
      if (isStarted) {
        onMessage(chunk);
        return;
      }
      isStarted = true; // the startup message; this client's parameters are those of all
      if (this.#greeting) socket.write(this.#greeting);
      const length = chunk.readInt32BE(0);
      if (chunk.length > length) onMessage(chunk.subarray(length));
    });
    socket.on('close', () => {
      this.#all.delete(socket);
      // A transaction that its client left is rolled back by the server when its connection closes.
      if (!client.server) return;
      client.server.socket.destroy();
      this.#all.delete(client.server.socket);
      void this.#openServer();
    });
  }
}
