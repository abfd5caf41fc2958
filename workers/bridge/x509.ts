import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** PEM texts. */
export interface KeyAndCertificate {
  readonly keyPem: string;
  readonly certPem: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** DNS names and IPv4 addresses of the server. */
  readonly hosts: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/**
 * A server's certificate that is signed with its own key and is no authority: whoever trusts it trusts this server and nobody
 * else. Fails for a host that is an IPv6 address.
 */
export function selfSignedCertificate(request: CertificateRequest): KeyAndCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = sequence(set(sequence(oid('550403'), tlv(tags.utf8, Buffer.from(request.commonName)))));
  const toBeSigned = sequence(
    tlv(tags.context0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ecdsaWithSha256,
    name,
    sequence(time(request.notBefore), time(request.notAfter)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(tags.context3, sequence(noAuthority, digitalSignature, serverAuthentication, alternativeNames(request.hosts))),
  );
  const der = sequence(toBeSigned, ecdsaWithSha256, bitString(sign('sha256', toBeSigned, privateKey)));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certPem: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

const tags = {
  bool: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octets: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  generalizedTime: 0x18,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
  context0: 0xa0,
  context3: 0xa3,
  dnsName: 0x82,
  ipAddress: 0x87,
} as const;

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const critical = tlv(tags.bool, Buffer.from([0xff]));
const noAuthority = sequence(oid('551d13'), critical, tlv(tags.octets, sequence()));
const digitalSignature = sequence(
  oid('551d0f'),
  critical,
  tlv(tags.octets, tlv(tags.bitString, Buffer.from([7, 0x80]))),
);
const serverAuthentication = sequence(oid('551d25'), tlv(tags.octets, sequence(oid('2b06010505070301'))));

function alternativeNames(hosts: readonly string[]): Buffer {
  return sequence(oid('551d11'), tlv(tags.octets, sequence(...hosts.map(alternativeName))));
}

function alternativeName(host: string): Buffer {
  if (isIP(host) === 6)
    throw new Error(`The certificate can't be made out to ${host}: give a name or an IPv4 address.`);
  return isIP(host) === 4
    ? tlv(tags.ipAddress, Buffer.from(host.split('.').map(Number)))
    : tlv(tags.dnsName, Buffer.from(host));
}

function tlv(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
}

function length(n: number): Buffer {
  if (n < 0x80) return Buffer.from([n]);
  return n < 0x100 ? Buffer.from([0x81, n]) : Buffer.from([0x82, n >> 8, n & 0xff]);
}

function sequence(...parts: Buffer[]): Buffer {
  return tlv(tags.sequence, Buffer.concat(parts));
}

function set(...parts: Buffer[]): Buffer {
  return tlv(tags.set, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return tlv(tags.oid, Buffer.from(hex, 'hex'));
}

function integer(bytes: Buffer): Buffer {
  return tlv(tags.integer, bytes);
}

function bitString(bytes: Buffer): Buffer {
  return tlv(tags.bitString, Buffer.concat([Buffer.from([0]), bytes]));
}

/** Whole seconds. Two digits for the year until 2049, as the standard demands. */
function time(date: Date): Buffer {
  const digits = `${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  return date.getUTCFullYear() < 2050
    ? tlv(tags.utcTime, Buffer.from(digits.slice(2)))
    : tlv(tags.generalizedTime, Buffer.from(digits));
}
