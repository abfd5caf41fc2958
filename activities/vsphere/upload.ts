import { reasonOf } from './deadline.ts';
import { VSphereError } from './faults.ts';
import type { LeaseDeviceUrl, UploadOptions } from './port.ts';
import type { Trust } from './tls.ts';
import { deviceTrust, isCertificateError } from './tls.ts';
import type { Sending } from './upload-stream.ts';
import { openSending, sendBody } from './upload-stream.ts';

/** The vCenter that gave the lease. */
export interface UploadServer {
  readonly url: URL;
  readonly trust: Trust;
  readonly allowPlainHttp: boolean;
}

/** Sends one file to a device URL with an exact length. The first answer of the server is the verdict, early or not. */
export async function upload(
  server: UploadServer,
  device: LeaseDeviceUrl,
  options: UploadOptions,
): Promise<{ readonly status: number }> {
  options.signal.throwIfAborted();
  const url = deviceUrlFor(server, device);
  const sending = openSending(url, deviceTrust(device, isSameServer(server, url), server.trust), options);
  const watchdog = setInterval(() => watch(sending, url, options), Math.min(1000, Math.max(10, options.stallMs / 4)));
  const abort = (): void => void sending.request.destroy(reasonOf(options.signal));
  options.signal.addEventListener('abort', abort, { once: true });
  try {
    await sendBody(sending, options);
    const status = await sending.answer;
    verdict(status, url, sending.given === options.length);
    options.onSent(options.length);
    return { status };
  } catch (error) {
    throw toUploadError(error, sending, server, url, options);
  } finally {
    clearInterval(watchdog);
    options.signal.removeEventListener('abort', abort);
    sending.request.destroy();
  }
}

/** The URL to use: `*` means the address we already talk to. */
export function deviceUrlFor(server: UploadServer, device: LeaseDeviceUrl): URL {
  const url = new URL(device.url.replace(/^(https?:\/\/)\*/, `$1${server.url.hostname}`));
  if (url.protocol === 'https:' || server.allowPlainHttp) return url;
  const message = `The lease names a plain-http address at ${url.host}; disks go over TLS only.`;
  throw new VSphereError('NFC_TLS', message, { kind: 'http', message });
}

export const isSameServer = (server: UploadServer, url: URL): boolean =>
  url.hostname === server.url.hostname && portOf(url) === portOf(server.url);

const portOf = (url: URL): string => (url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port);

/** Keep-alive of the lease would hold a dead upload for ever: no progress for the given time ends it. */
function watch(sending: Sending, url: URL, { stallMs, length }: UploadOptions): void {
  if (sending.answered || performance.now() - sending.lastMove < stallMs) return;
  const state = sending.sent === length ? 'gave no answer' : 'took no more data';
  const message = `The upload to ${url.host} stalled: it ${state} for ${stallMs} ms after ${sending.sent} of ${length} bytes.`;
  sending.request.destroy(new VSphereError('UPLOAD_STALLED', message, { kind: 'http', message }));
}

/** Throws unless the whole file was taken. */
function verdict(status: number, url: URL, complete: boolean): void {
  if ((status === 200 || status === 201) && complete) return;
  const early = complete ? '' : ' before the file was sent';
  const message = `The upload to ${url.host} was answered with HTTP status ${status}${early}.`;
  const info = { kind: 'http', httpStatus: status, message } as const;
  if (status === 401 || status === 403 || status === 404) throw new VSphereError('LEASE_LOST', message, info);
  if (status === 413 || status === 507) throw new VSphereError('INSUFFICIENT_SPACE', message, info);
  throw new VSphereError(status >= 500 || status < 300 ? 'UPLOAD_IO' : 'HTTP', message, info);
}

function toUploadError(
  error: unknown,
  sending: Sending,
  server: UploadServer,
  url: URL,
  options: UploadOptions,
): unknown {
  if (options.signal.aborted) return reasonOf(options.signal);
  if (error instanceof VSphereError && error.code === 'TLS_THUMBPRINT' && !isSameServer(server, url)) {
    return new VSphereError('NFC_TLS', error.message, error.info, { cause: error });
  }
  if (error instanceof VSphereError) return error;
  // What the source of the bytes throws is its own affair.
  if (sending.failure === undefined) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (isCertificateError(error)) {
    const message = `The certificate of ${url.host} could not be verified for the upload: ${reason}.`;
    return new VSphereError('NFC_TLS', message, { kind: 'transport', message }, { cause: error });
  }
  if (!sending.connected && !isSameServer(server, url)) {
    const message =
      `The ESXi host ${url.hostname}:${portOf(url)} can't be reached from this worker: ${reason}. ` +
      'Uploads go to the host directly: check DNS and firewall between worker and host.';
    return new VSphereError('ESXI_UNREACHABLE', message, { kind: 'transport', message }, { cause: error });
  }
  const message = `The upload to ${url.host} broke after ${sending.sent} of ${options.length} bytes: ${reason}.`;
  return new VSphereError('UPLOAD_IO', message, { kind: 'transport', message }, { cause: error });
}
