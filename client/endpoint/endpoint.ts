import type { Check, EndpointInfo } from '../../workflows/contracts/lookup.ts';
import type { Action } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import { combineExits, exitCodes, type ExitCode } from '../exit-codes.ts';
import type { Gateway } from '../gateway.ts';
import { checkColumns } from '../output/checks.ts';

/** `endpoint list`. */
export const listEndpoints: Action<object> = async (session) => {
  const gateway = await session.gateway();
  const { answer } = await gateway.lookup({ what: 'endpoints' });
  const items = answer.endpoints;
  await session.print<EndpointInfo>({
    kind: 'EndpointList',
    document: { items },
    rows: items,
    columns: [
      { header: 'NAME', cell: (row) => row.name },
      { header: 'KIND', cell: (row) => row.kind },
      { header: 'URL', cell: (row) => row.url },
      { header: 'USER', cell: (row) => row.user },
      { header: 'TLS', cell: (row) => row.tls },
    ],
    names: items.map((row) => row.name),
    ids: items.map((row) => row.name),
  });
  if (items.length === 0) session.note("the workers' vmflow.yaml names no endpoint; add vcenters or a cluster");
  return exitCodes.ok.code;
};

/** What a check found, with the endpoint it belongs to. */
export interface EndpointCheck extends Check {
  readonly endpoint: string;
}

/** `endpoint check [NAME]`: one, or all of them side by side. */
export const checkEndpoints: Action<object> = async (session, [name]) => {
  const gateway = await session.gateway();
  const names = name === undefined ? await endpointNames(gateway) : [name];
  const checked = await Promise.all(names.map((endpoint) => checkEndpoint(gateway, endpoint, name !== undefined)));
  const items = checked.flat();
  await session.print<EndpointCheck>({
    kind: 'EndpointCheckList',
    document: { items },
    rows: items,
    columns: [{ header: 'ENDPOINT', cell: (row) => row.endpoint }, ...checkColumns(session.paint)],
    names,
    ids: names,
  });
  return combineExits(checked.map(exitOfChecks));
};

export async function endpointNames(gateway: Gateway): Promise<readonly string[]> {
  const { answer } = await gateway.lookup({ what: 'endpoints' });
  return answer.endpoints.map((endpoint) => endpoint.name);
}

/** With several endpoints, one that can't be looked at at all is a failed check of its own. */
export async function checkEndpoint(
  gateway: Gateway,
  name: string,
  isOnly: boolean,
): Promise<readonly EndpointCheck[]> {
  try {
    const { answer } = await gateway.lookup({ what: 'endpoint', name });
    return answer.checks.map((check) => ({ endpoint: name, ...check }));
  } catch (error) {
    if (isOnly || !(error instanceof CliError)) throw error;
    const failure =
      error.exit === exitCodes.denied.code
        ? 'forbidden'
        : error.exit === exitCodes.unreachable.code
          ? 'unreachable'
          : 'wrong';
    const remedy = error.next[0];
    return [
      {
        endpoint: name,
        name: 'look up',
        ok: false,
        detail: error.message,
        failure,
        ...(remedy === undefined ? {} : { remedy }),
      },
    ];
  }
}

/** The first failed check decides: the later ones usually fail because of it. */
export function exitOfChecks(checks: readonly Check[]): ExitCode {
  const failed = checks.find((check) => !check.ok);
  if (failed === undefined) return exitCodes.ok.code;
  switch (failed.failure) {
    case 'unreachable':
      return exitCodes.unreachable.code;
    case 'forbidden':
      return exitCodes.denied.code;
    case 'wrong':
    case undefined:
    default:
      return exitCodes.refused.code;
  }
}
