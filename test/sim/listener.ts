import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** A server on loopback that can go down, with all its connections, and come up again on the same port. */
export interface Listener {
  readonly port: number;
  down(): Promise<void>;
  up(): Promise<void>;
}

export async function listenOn(server: Server): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const listen = async (wanted: number): Promise<number> => {
    server.listen(wanted, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  return {
    port,
    async down() {
      if (!server.listening) return;
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
    async up() {
      if (!server.listening) await listen(port);
    },
  };
}
