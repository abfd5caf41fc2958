import { readFile } from 'node:fs/promises';
import { createSecureContext, type TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { trustOf, type Trust } from '../vsphere/tls.ts';
import type { TargetEndpoint } from './port.ts';
import { TargetError } from './target-error.ts';

/** A firewall that drops packets must not eat the time of the whole request. */
export const connectMs = 10_000;

/** Refuses connections that would be readable or forgeable without somebody's explicit consent, and keys that are none. */
export function checkPolicy(endpoint: TargetEndpoint, allowInsecureTls: boolean): void {
  const { name, url, tls, allowPlainHttp, clientCert, clientKey } = endpoint;
  if (url.startsWith('http:') && allowPlainHttp !== true)
    throw new TargetError('CERTIFICATE', `The target ${name} has a plain-http address: use https.`);
  if (tls.mode === 'insecure' && !allowInsecureTls)
    throw new TargetError(
      'CERTIFICATE',
      `The target ${name} asks for tls.mode insecure, which this worker does not allow. Use ca or thumbprint.`,
    );
  if (clientCert === '' && clientKey === '') return;
  try {
    createSecureContext({ cert: clientCert, key: clientKey });
  } catch {
    // Without the cause: nobody knows which part of a key an error of the parser repeats.
    throw new TargetError('UNTRUSTED', `Client certificate and key of the target ${name} are no pair in PEM form.`, {
      next: 'correct the client certificate and key of the target in vmflow.yaml',
    });
  }
}

/** Hands a connection over only when the certificate is proven, so that not one byte of a request reaches a wrong server. */
export async function connectorFor(endpoint: TargetEndpoint): Promise<buildConnector.connector> {
  const trust = await trustIn(endpoint);
  const connect = buildConnector({
    timeout: connectMs,
    maxCachedSessions: 0, // on a resumed session the certificate may be missing
    allowH2: false,
    ...(endpoint.clientCert === '' ? {} : { cert: endpoint.clientCert, key: endpoint.clientKey }),
    rejectUnauthorized: trust.kind === 'ca',
    ...(trust.kind === 'ca' && trust.ca !== undefined ? { ca: trust.ca } : {}),
  });
  if (trust.kind !== 'pin') return connect;
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      const isPlain = options.protocol === 'http:';
      const problem = error ?? (isPlain ? undefined : pinProblem(socket as TLSSocket, trust, endpoint.name));
      if (problem === undefined && socket !== null) callback(null, socket);
      else {
        socket?.destroy();
        callback(problem ?? new Error('no connection'), null);
      }
    });
}

async function trustIn({ tls, name }: TargetEndpoint): Promise<Trust> {
  try {
    return await trustOf(tls, (path) => readFile(path, 'utf8'));
  } catch (cause) {
    const why = tls.mode === 'ca' ? `its CA file ${tls.caFile ?? ''} can't be read here` : 'its thumbprint is missing';
    throw new TargetError('CERTIFICATE', `The certificate of the target ${name} can't be proven: ${why}.`, { cause });
  }
}

const plain = (fingerprint: string): string => fingerprint.replaceAll(':', '').trim().toUpperCase();

function pinProblem(socket: TLSSocket, pin: Trust & { kind: 'pin' }, name: string): TargetError | undefined {
  const certificate = socket.getPeerCertificate();
  const found = pin.algorithm === 'sha256' ? certificate.fingerprint256 : certificate.fingerprint;
  if (typeof found === 'string' && plain(found) === plain(pin.fingerprint)) return undefined;
  return new TargetError(
    'CERTIFICATE',
    `The certificate of the target ${name} has the ${pin.algorithm} thumbprint ${found}, expected was ${pin.fingerprint}. ` +
      'Nothing was sent.',
    { next: 'if the certificate was renewed, put the new thumbprint into vmflow.yaml' },
  );
}
