import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';

// Runs where the network is another one: what comes to the socket file goes to the port there.
const [socketPath = '', port = ''] = process.argv.slice(2);
rmSync(socketPath, { force: true });
const server = createServer((near) => {
  const far = connect(Number(port), '127.0.0.1');
  near.pipe(far).pipe(near);
  near.on('error', () => far.destroy());
  near.on('close', () => far.destroy());
  far.on('error', () => near.destroy());
  far.on('close', () => near.destroy());
});
server.listen(socketPath, () => process.stdout.write('the relay listens\n'));
