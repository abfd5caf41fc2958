import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { selfSignedCertificate, type KeyAndCertificate } from './x509.ts';

/** What the webhook shows, and what the API server has to trust for it. */
export interface Identity extends KeyAndCertificate {
  /** PEM. Absent: somebody else sees to that. */
  readonly trust?: string;
}

/** Where certificates come from. */
export interface IdentitySource {
  first(): Promise<Identity>;
  /** What comes after this one; undefined: this one is still good. */
  next(current: Identity): Promise<Identity | undefined>;
}

/** A clock that runs behind ours by this much still finds a new certificate valid. */
const clockSkewMs = 3_600_000;

/** Made here, kept in memory, replaced after two thirds of its life. Each process has its own, which the API server trusts alone. */
export function ownIdentities(hosts: readonly string[], lifetimeMs: number, now = () => Date.now()): IdentitySource {
  const make = (): Promise<Identity> => {
    const made = selfSignedCertificate({
      commonName: 'vmflow bridge',
      hosts,
      notBefore: new Date(now() - clockSkewMs),
      notAfter: new Date(now() + lifetimeMs),
    });
    return Promise.resolve({ ...made, trust: made.certPem });
  };
  return {
    first: make,
    async next({ certPem }) {
      const left = new X509Certificate(certPem).validToDate.getTime() - now();
      return left > lifetimeMs / 3 ? undefined : await make();
    },
  };
}

export interface IdentityFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile?: string;
}

/** Read from files that somebody else renews. While they are being replaced they may not fit together: the old one stays. */
export function givenIdentities(files: IdentityFiles): IdentitySource {
  return {
    first: () => readIdentity(files),
    async next(current) {
      const found = await readIdentity(files);
      const isSame = (['keyPem', 'certPem', 'trust'] as const).every((part) => found[part] === current[part]);
      return isSame ? undefined : found;
    },
  };
}

async function readIdentity({ certFile, keyFile, caFile }: IdentityFiles): Promise<Identity> {
  const [certPem, keyPem, trust] = await Promise.all([
    read('certFile', certFile),
    read('keyFile', keyFile),
    caFile === undefined ? undefined : read('caFile', caFile),
  ]);
  const fits = check(certFile, () => new X509Certificate(certPem)).checkPrivateKey(
    check(keyFile, () => createPrivateKey(keyPem)),
  );
  if (!fits) throw new Error(`The key in ${keyFile} does not belong to the certificate in ${certFile}.`);
  if (caFile !== undefined && trust !== undefined) check(caFile, () => new X509Certificate(trust));
  return { certPem, keyPem, ...(trust === undefined ? {} : { trust }) };
}

async function read(setting: string, path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`The file ${path} (webhook.${setting} of vmflow.yaml) can't be read.`, { cause: error });
  });
}

/** What OpenSSL says of a file that is not PEM helps nobody, and may quote it. */
function check<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new Error(`The file ${path} holds nothing that can be used: it has to be PEM, without a passphrase.`);
  }
}
