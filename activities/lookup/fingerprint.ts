import { connect } from 'node:tls';
import type { Check } from '../../workflows/contracts/lookup.ts';

const probeTimeoutMs = 5_000;

/** The certificate that a server shows, for people to compare: it says nothing about whether it is trusted. */
export async function shownCertificate(url: string): Promise<Check> {
  const fingerprint = await fingerprintOf(url);
  const detail = fingerprint === undefined ? 'not looked at (plain http or no answer)' : `SHA-256 ${fingerprint}`;
  return { name: 'certificate', ok: true, detail };
}

/** SHA-256 of the certificate that the server shows, without sending it anything. */
async function fingerprintOf(url: string): Promise<string | undefined> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'https:') return undefined;
  return await new Promise((resolve) => {
    const socket = connect(
      { host: hostname, port: Number(port || 443), rejectUnauthorized: false, timeout: probeTimeoutMs },
      () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      },
    );
    const giveUp = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    socket.on('error', giveUp);
    socket.on('timeout', giveUp);
  });
}
