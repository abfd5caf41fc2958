import { X509Certificate } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

import { VSphereError } from './faults.ts';
import type { LeaseDeviceUrl, TlsPolicy } from './port.ts';

const limits = {
  /** TCP and TLS set-up; a firewall that drops packets must not eat the time of the whole call. */
  connectMs: 15_000,
  /** Shorter than the idle time-outs in front of vCenter: a socket closed on their side makes a call's outcome unknown. */
  idleSocketMs: 25_000,
} as const;

/** How a server's certificate is proven, ready for use. `pin` = certificate must have this fingerprint. */
export type Trust =
  | { readonly kind: 'ca'; readonly ca?: string | undefined }
  | { readonly kind: 'pin'; readonly algorithm: 'sha256' | 'sha1'; readonly fingerprint: string }
  | { readonly kind: 'insecure' };

const normalized = (fingerprint: string): string => fingerprint.replaceAll(':', '').trim().toUpperCase();

/** Turns a policy into trust; `readFile` is called for a CA file. */
export async function trustOf(policy: TlsPolicy, readFile: (path: string) => Promise<string>): Promise<Trust> {
  switch (policy.mode) {
    case 'ca':
      return { kind: 'ca', ca: policy.caFile === undefined ? undefined : await readFile(policy.caFile) };
    case 'thumbprint': {
      const { sha256, sha1 } = policy;
      if (sha256 !== undefined) return { kind: 'pin', algorithm: 'sha256', fingerprint: sha256 };
      if (sha1 !== undefined) return { kind: 'pin', algorithm: 'sha1', fingerprint: sha1 };
      throw new VSphereError('TLS_THUMBPRINT', 'tls mode thumbprint needs sha256 or sha1.', { kind: 'transport' });
    }
    case 'insecure':
      return { kind: 'insecure' };
  }
}

/** Trust for a device URL of a lease: on vCenter's own address vCenter's, elsewhere what the lease itself says, else a CA. */
export function deviceTrust(device: LeaseDeviceUrl, sameServer: boolean, vcenter: Trust): Trust {
  if (sameServer || vcenter.kind === 'insecure') return vcenter;
  if (device.sslThumbprint) return { kind: 'pin', algorithm: 'sha1', fingerprint: device.sslThumbprint };
  if (device.sslCertificate) {
    // Pinned rather than taken as a CA: a host's certificate need not carry the name or address in the URL.
    return { kind: 'pin', algorithm: 'sha256', fingerprint: new X509Certificate(device.sslCertificate).fingerprint256 };
  }
  return vcenter.kind === 'ca' ? vcenter : { kind: 'ca' };
}

function pinProblem(socket: TLSSocket, trust: Trust, host: string): VSphereError | undefined {
  if (trust.kind !== 'pin') return undefined;
  const certificate = socket.getPeerCertificate();
  const found = trust.algorithm === 'sha256' ? certificate.fingerprint256 : certificate.fingerprint;
  if (typeof found === 'string' && normalized(found) === normalized(trust.fingerprint)) return undefined;
  const message =
    `The certificate of ${host} has the ${trust.algorithm} thumbprint ${found}, expected was ${trust.fingerprint}. ` +
    'If the certificate was renewed, put the new thumbprint into the configuration.';
  return new VSphereError('TLS_THUMBPRINT', message, { kind: 'transport', message });
}

type Connected = (error: Error | null, socket: Duplex) => void;

/**
 * Hands a socket to requests only when TLS is complete and the certificate is proven, so that not one byte of a request
 * reaches a wrong server. TLS sessions are not cached: on a resumed one the peer's certificate may be missing.
 */
class ProvenAgent extends https.Agent {
  readonly #trust: Trust;

  constructor(trust: Trust, options: https.AgentOptions) {
    super({
      ...options,
      maxCachedSessions: 0,
      rejectUnauthorized: trust.kind === 'ca',
      ...(trust.kind === 'ca' && trust.ca !== undefined ? { ca: trust.ca } : {}),
    });
    this.#trust = trust;
  }

  override createConnection(options: https.RequestOptions, connected?: Connected): null {
    const socket = super.createConnection(options) as TLSSocket;
    const host = `${options.host ?? ''}:${options.port ?? ''}`;
    const finish = (error: Error | null): void => {
      clearTimeout(timer);
      socket.off('error', finish);
      if (error !== null) {
        // The socket may still report what destroying it brings.
        socket.on('error', () => undefined);
        socket.destroy();
      }
      connected?.(error, socket);
    };
    const timer = setTimeout(
      () => finish(Object.assign(new Error(`connecting to ${host} timed out`), { code: 'ETIMEDOUT' })),
      limits.connectMs,
    );
    socket.once('error', finish);
    socket.once('secureConnect', () => finish(pinProblem(socket, this.#trust, host) ?? null));
    return null;
  }
}

/** An agent for one server. `trust` is ignored for plain http. */
export function agentFor(url: URL, trust: Trust, options: { maxSockets: number; keepAlive: boolean }): http.Agent {
  const all = { ...options, maxFreeSockets: options.maxSockets, timeout: limits.idleSocketMs };
  return url.protocol === 'http:' ? new http.Agent(all) : new ProvenAgent(trust, all);
}

/** OpenSSL's and Node's codes for a certificate that could not be verified. */
const certificateCodes =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|CRL_|PATH_LENGTH|INVALID_(CA|PURPOSE))/;

/** Whether a connection failed because the certificate could not be verified. */
export function isCertificateError(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && certificateCodes.test(code);
}
