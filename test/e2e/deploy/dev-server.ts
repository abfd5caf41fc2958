import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { freePort } from '../../stack/processes.ts';

/**
 * `temporal` with these arguments; a development server that is to listen on an address of its own does so through a relay: the parts of
 * it that listen where it is told look for each other on 127.0.0.1.
 */
const [temporal = '', ...args] = process.argv.slice(2);
const ip = valueOf('--ip') ?? '127.0.0.1';
const told = args.filter((arg) => !/^--(ip|port|ui-port)=/.test(arg));
for (const flag of ['--port', '--ui-port']) {
  const port = await freePort();
  told.push(`${flag}=${port}`);
  createServer((from) => {
    const to = connect(port, '127.0.0.1');
    from.pipe(to).pipe(from);
    from.on('error', () => to.destroy());
    to.on('error', () => from.destroy());
  }).listen(Number(valueOf(flag)), ip);
}
const server = spawn(temporal, [...told, '--ip=127.0.0.1'], { stdio: 'inherit' });
process.on('SIGTERM', () => server.kill('SIGTERM'));
server.on('exit', (code) => process.exit(code ?? 1));

function valueOf(flag: string): string | undefined {
  return args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
}
