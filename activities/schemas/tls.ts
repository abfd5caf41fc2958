import { z } from 'zod';

/** How the certificate of a far side is proven. */
export const tlsPolicy = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('ca'), caFile: z.string().exactOptional() }),
  z
    .strictObject({
      mode: z.literal('thumbprint'),
      sha256: z.string().exactOptional(),
      sha1: z.string().exactOptional(),
    })
    .refine((policy) => policy.sha256 !== undefined || policy.sha1 !== undefined, 'needs sha256 or sha1'),
  z.strictObject({ mode: z.literal('insecure') }),
]);

/** Address of a server that is configured with its credentials elsewhere. */
export const serverUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => URL.parse(url)?.username === '', 'must not contain user:password@');
