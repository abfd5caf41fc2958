import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface SelfSigned {
  readonly keyPem: string;
  readonly certPem: string;
  /** Thumbprints in upper-case hex with colons. */
  readonly sha256: string;
  readonly sha1: string;
}

/** A self-signed certificate for 127.0.0.1 and localhost that also serves as its own CA. Valid from an hour ago for two days. */
export function selfSigned(commonName = '127.0.0.1'): SelfSigned {
  return certificate(commonName);
}

/** One for the same names that is no CA, signed by `ca`, which is what strict clients (rustls) ask for. */
export function issued(commonName: string, ca: SelfSigned & { readonly commonName: string }): SelfSigned {
  return certificate(commonName, ca);
}

function certificate(commonName: string, ca?: SelfSigned & { readonly commonName: string }): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(oid('2a8648ce3d040302')); // ecdsa-with-SHA256
  const toBeSigned = sequence(
    tlv(0xa0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    named(ca?.commonName ?? commonName),
    sequence(utcTime(Date.now() - hourMs), utcTime(Date.now() + 48 * hourMs)),
    named(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, ca === undefined ? sequence(isCa, subjectAltName) : sequence(subjectAltName)),
  );
  const der = sequence(
    toBeSigned,
    algorithm,
    bitString(sign('sha256', toBeSigned, ca === undefined ? privateKey : createPrivateKey(ca.keyPem))),
  );
  return {
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certPem: `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    sha256: thumbprint('sha256', der),
    sha1: thumbprint('sha1', der),
  };
}

function named(commonName: string): Buffer {
  return sequence(set(sequence(oid('550403'), tlv(0x0c, Buffer.from(commonName)))));
}

const hourMs = 3_600_000;

function thumbprint(algorithm: string, der: Buffer): string {
  const hex = createHash(algorithm).update(der).digest('hex').toUpperCase();
  return (hex.match(/../g) ?? []).join(':');
}

function tlv(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
}

function length(n: number): Buffer {
  if (n < 0x80) return Buffer.from([n]);
  return n < 0x100 ? Buffer.from([0x81, n]) : Buffer.from([0x82, n >> 8, n & 0xff]);
}

function sequence(...parts: Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function set(...parts: Buffer[]): Buffer {
  return tlv(0x31, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, 'hex'));
}

function integer(bytes: Buffer): Buffer {
  return tlv(0x02, bytes);
}

function bitString(bytes: Buffer): Buffer {
  return tlv(0x03, Buffer.concat([Buffer.from([0]), bytes]));
}

function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return tlv(0x17, Buffer.from(`${digits}Z`));
}

/** Basic constraints, critical: CA. */
const isCa = sequence(
  oid('551d13'),
  tlv(0x01, Buffer.from([0xff])),
  tlv(0x04, sequence(tlv(0x01, Buffer.from([0xff])))),
);

const subjectAltName = sequence(
  oid('551d11'),
  tlv(0x04, sequence(tlv(0x87, Buffer.from([127, 0, 0, 1])), tlv(0x82, Buffer.from('localhost')))),
);
