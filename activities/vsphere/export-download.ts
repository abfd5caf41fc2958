import { VSphereError } from './faults.ts';
import { httpError } from './http-exchange.ts';
import { neverConnected, openStream } from './http-stream.ts';
import type { LeaseDeviceUrl } from './port.ts';
import { agentFor, deviceTrust } from './tls.ts';
import type { UploadServer } from './upload.ts';
import { deviceUrlFor, isSameServer } from './upload.ts';
import type { StreamOptions } from './vm-port.ts';

const what = 'GET of an exported disk';

/**
 * The bytes behind a device URL of an export lease, on a connection of their own. Failures are those of `openStream`, besides
 * `ESXI_UNREACHABLE` and `NFC_TLS` where the URL is a host's, and `LEASE_LOST` where the server doesn't know the URL any more.
 */
export async function* downloadExport(
  server: UploadServer,
  device: LeaseDeviceUrl,
  { signal, stallMs }: StreamOptions,
): AsyncGenerator<Uint8Array, void> {
  const url = deviceUrlFor(server, device);
  const agent = agentFor(url, deviceTrust(device, isSameServer(server, url), server.trust), {
    maxSockets: 1,
    keepAlive: false,
  });
  try {
    const answer = await openStream({ method: 'GET', url, headers: {}, agent, signal, stallMs, what });
    if (answer.status !== 200) {
      answer.dispose();
      throw refused(url, answer.status);
    }
    yield* answer.body;
  } catch (error) {
    throw isSameServer(server, url) ? error : ofHost(error, url);
  } finally {
    agent.destroy();
  }
}

function refused(url: URL, status: number): VSphereError {
  if (status !== 401 && status !== 403 && status !== 404) return httpError(what, url.host, status);
  const message = `${what}: ${url.host} answered with HTTP status ${status}: the export lease is over, the copy starts again.`;
  return new VSphereError('LEASE_LOST', message, { kind: 'http', httpStatus: status, method: what, message });
}

/** What the failure of a download from a host, which vCenter's own configuration doesn't know, means. */
function ofHost(error: unknown, url: URL): unknown {
  if (!(error instanceof VSphereError)) return error;
  if (error.code === 'TLS_CA' || error.code === 'TLS_THUMBPRINT') {
    return new VSphereError('NFC_TLS', error.message, error.info, { cause: error });
  }
  if (!neverConnected(error)) return error;
  const message =
    `The ESXi host ${url.host} can't be reached from this worker: ${error.message} ` +
    'Disks come from the host directly: check DNS and firewall between worker and host.';
  return new VSphereError('ESXI_UNREACHABLE', message, { kind: 'transport', method: what, message }, { cause: error });
}
