import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A plain TCP proxy on loopback, to cut a client off a server. */
export interface TcpProxy {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  readonly port: number;
  /** Breaks all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Keeps the connections open and lets nothing through: what a lost route looks like. */
  freeze(): void;
  /** Ends `cut` and `freeze`. */
  heal(): Promise<void>;
  /** Milliseconds that every chunk waits from now on, in both directions. */
  delay(ms: number): void;
  stop(): Promise<void>;
}

export async function startTcpProxy(target: { readonly host?: string; readonly port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let delayMs = 0;
  let isFrozen = false;
  const server = createServer((near) => {
    const far = connect(target.port, target.host ?? '127.0.0.1');
    join(near, far);
    join(far, near);
  });

  function join(from: Socket, to: Socket): void {
    sockets.add(from);
    from.setNoDelay(true);
    if (isFrozen) from.pause();
    from.on('data', (chunk) => later(() => pass(from, to, chunk)));
    from.on('end', () => later(() => to.end()));
    from.on('error', () => to.destroy()); // the other end sees the connection break, as it would without us
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  }

  function pass(from: Socket, to: Socket, chunk: Buffer): void {
    if (to.writable && !to.write(chunk)) {
      from.pause();
      to.once('drain', () => {
        if (!isFrozen) from.resume();
      });
    }
  }

  /** Timers of equal length fire in the order they were set, so chunks stay in order while the delay stays. */
  function later(work: () => void): void {
    if (delayMs === 0) work();
    else setTimeout(work, delayMs).unref();
  }

  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    for (const socket of sockets) socket.resetAndDestroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  const port = await listen(0);
  return {
    address: `127.0.0.1:${port}`,
    port,
    cut,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    async heal() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
      if (!server.listening) await listen(port);
    },
    delay: (ms) => void (delayMs = ms),
    stop: cut,
  };
}
