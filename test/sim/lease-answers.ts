/** Rewrites for `FaultProxy.rewrite('RetrievePropertiesEx', …)`: what the simulator's leases never do by themselves. */

type Rewrite = (answer: string) => string;

/** A ready lease is shown in error with this fault; `fields` is raw XML. */
export function leaseInError(fault: string, fields = ''): Rewrite {
  const error =
    `<propSet><name>error</name><val xmlns:XMLSchema-instance="http://www.w3.org/2001/XMLSchema-instance" ` +
    `XMLSchema-instance:type="LocalizedMethodFault"><fault XMLSchema-instance:type="${fault}">${fields}</fault>` +
    `<localizedMessage>${fault}</localizedMessage></val></propSet>`;
  return onLease((answer) =>
    answer.replace(
      /(<name>state<\/name><val\b[^>]*>)(?:ready|initializing)(<\/val><\/propSet>)/g,
      (_, before: string, after: string) => `${before}error${after}${error}`,
    ),
  );
}

/** The host of every device URL becomes this, e.g. `*` as against a lone ESXi host. The port stays. */
export function deviceUrlHost(host: string): Rewrite {
  return onLease((answer) => answer.replace(/(<url>https?:\/\/)[^:/<]+/g, (_, before: string) => before + host));
}

/** Every device URL says that its host has this certificate. */
export function withSslThumbprint(sha1: string): Rewrite {
  return onLease((answer) =>
    answer.replace(
      /<sslThumbprint>[^<]*<\/sslThumbprint>|<sslThumbprint\/>/g,
      `<sslThumbprint>${sha1}</sslThumbprint>`,
    ),
  );
}

function onLease(rewrite: Rewrite): Rewrite {
  return (answer) => (/<obj type="HttpNfcLease">/.test(answer) ? rewrite(answer) : answer);
}
