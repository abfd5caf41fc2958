import type { Check } from '../../workflows/contracts/lookup.ts';
import { transferQueueOf } from '../../workflows/contracts/task-queues.ts';
import { ensureSchedules } from '../admin/schedules.ts';
import { wantedAttributes } from '../admin/setup.ts';
import { formatDuration } from '../durations.ts';
import { checkEndpoint, endpointNames, exitOfChecks } from '../endpoint/endpoint.ts';
import { toCliError } from '../errors.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { Session } from '../session.ts';

/** What one check found. `isMinor`: worth knowing, but the checks that need this one still make sense. */
export interface Finding extends Check {
  readonly exit?: ExitCode;
  readonly isMinor?: boolean;
}

/** A row of the table of checks. */
export interface DoctorCheck {
  readonly id: string;
  /** Ids of checks without which this one says nothing. */
  readonly needs: readonly string[];
  readonly look: (session: Session) => Promise<readonly Finding[]>;
  /** A finding made of what the check threw. */
  readonly explain: (error: unknown) => Finding;
}

/** Clocks further apart make ages and deadlines hard to read. */
const tolerableSkewMs = 5_000;
const uiTimeoutMs = 3_000;

/** All checks, in the order in which one builds on the other. A new one is one more row. */
export const checks: readonly DoctorCheck[] = [
  check('Temporal', [], async (session) => {
    const { address } = await session.settings();
    const { version } = await (await session.gateway()).server();
    return [good('Temporal', `${version} at ${address.value}`)];
  }),
  check('namespace', ['Temporal'], async (session) => {
    const { namespace } = await session.settings();
    const found = await (await session.gateway()).namespace();
    if (found === undefined)
      return [bad('namespace', `there is no "${namespace.value}"`, 'vmflow admin setup', 'notFound')];
    return [good('namespace', `${found.name}, retention ${String(found.retentionDays)} d`)];
  }),
  check('search attributes', ['namespace'], async (session) => {
    const found = await (await session.gateway()).searchAttributes();
    const missing = Object.entries(wantedAttributes).filter(([name, type]) => found[name] !== type);
    if (missing.length === 0) return [good('search attributes', `all ${String(Object.keys(wantedAttributes).length)}`)];
    const names = missing.map(([name]) => name).join(', ');
    return [bad('search attributes', `missing or of another type: ${names}`, 'vmflow admin setup', 'notFound')];
  }),
  check('schedules', ['namespace'], async (session) => {
    const { taskQueue } = await session.settings();
    const found = await ensureSchedules(await session.gateway(), taskQueue.value, true);
    const wrong = found.filter(({ was }) => was !== 'present');
    if (wrong.length === 0) return [good('schedules', found.map(({ name }) => name).join(', '))];
    const detail = wrong.map(({ name, was }) => `${name} is ${was}`).join(', ');
    return [{ ...bad('schedules', detail, 'vmflow admin setup', 'notFound'), isMinor: true }];
  }),
  check('control worker', ['namespace'], async (session) => {
    const queue = (await session.settings()).taskQueue.value;
    return [await pollersOf(session, 'control worker', queue, 'workflow')];
  }),
  check('transfer worker', ['namespace'], async (session) => {
    const queue = transferQueueOf((await session.settings()).taskQueue.value);
    return [await pollersOf(session, 'transfer worker', queue, 'activity')];
  }),
  check('builds', ['control worker'], async (session) => [await builds(session)]),
  check('worker answers', ['search attributes', 'control worker'], async (session) => {
    const before = session.runtime.now().getTime();
    const { answer, startedAt } = await (await session.gateway()).lookup({ what: 'worker' });
    const own = answer.checks.map((found) => ({ ...found, exit: exitOfChecks([found]), isMinor: true }));
    const build = `build ${answer.buildId}, SDK ${answer.sdk}, Node ${answer.node}`;
    return [
      good('worker answers', build),
      clockSkew(Date.parse(startedAt), before, session.runtime.now().getTime()),
      ...own,
    ];
  }),
  check('endpoints', ['worker answers'], async (session) => {
    const gateway = await session.gateway();
    const names = await endpointNames(gateway);
    if (names.length === 0)
      return [bad('endpoints', 'none configured', "add vcenters or a cluster to the workers' vmflow.yaml", 'notFound')];
    const found = await Promise.all(names.map((name) => checkEndpoint(gateway, name, false)));
    return found
      .flat()
      .map((finding) => ({ ...finding, name: `${finding.endpoint}: ${finding.name}`, exit: exitOfChecks([finding]) }));
  }),
  check('Web UI', [], async (session) => {
    const { ui } = await session.settings();
    const status = await session.runtime.httpStatus(ui.value, uiTimeoutMs).catch(() => undefined);
    // One that wants a log-in first answers with 401 or 403; what has no page there is another server.
    if (status !== undefined && status < 500 && status !== 404) return [good('Web UI', `${ui.value} answers`)];
    const detail = status === undefined ? `${ui.value} doesn't answer` : `${ui.value} answers with ${String(status)}`;
    return [
      {
        ...bad('Web UI', detail, 'name it with --ui or VMFLOW_UI_URL; only links depend on it', 'unreachable'),
        isMinor: true,
      },
    ];
  }),
];

function check(id: string, needs: readonly string[], look: DoctorCheck['look']): DoctorCheck {
  return {
    id,
    needs,
    look,
    explain: (error) => {
      const { message, why, next, exit } = toCliError(error);
      return {
        name: id,
        ok: false,
        detail: why === undefined ? message : `${message} (${why})`,
        exit,
        ...(next[0] === undefined ? {} : { remedy: next[0] }),
      };
    },
  };
}

function good(name: string, detail: string): Finding {
  return { name, ok: true, detail };
}

function bad(name: string, detail: string, remedy: string, exit: keyof typeof exitCodes): Finding {
  return { name, ok: false, detail, remedy, exit: exitCodes[exit].code };
}

async function pollersOf(
  session: Session,
  name: string,
  queue: string,
  type: 'workflow' | 'activity',
): Promise<Finding> {
  const pollers = await (await session.gateway()).pollers(queue, type);
  if (pollers.length === 0) {
    return bad(
      name,
      `nobody polls task queue "${queue}"`,
      'start a worker for it, or name another queue with --task-queue',
      'notAcknowledged',
    );
  }
  const who = [...new Set(pollers.map((poller) => poller.identity))].join(', ');
  return good(name, `${String(pollers.length)} on queue ${queue}: ${who}`);
}

/**
 * Workers of two builds take turns with the same operations; a command line of a third may ask what none of them knows. Where workers are
 * versioned, those of the build before end what they have begun: there a command line has to be of one of the builds.
 */
async function builds(session: Session): Promise<Finding> {
  const queue = (await session.settings()).taskQueue.value;
  const gateway = await session.gateway();
  const pollers = [
    ...(await gateway.pollers(queue, 'workflow')),
    ...(await gateway.pollers(transferQueueOf(queue), 'activity')),
  ];
  const own = session.runtime.env['VMFLOW_BUILD_ID'];
  const seen = [
    ...pollers.flatMap(({ identity, buildId }) => (buildId === undefined ? [] : [{ identity, buildId }])),
    ...(own === undefined ? [] : [{ identity: 'this command line', buildId: own }]),
  ];
  const different = new Set(seen.map(({ buildId }) => buildId));
  if (different.size <= 1) return good('builds', [...different][0] ?? 'not told');
  const isKnown = own === undefined || pollers.some(({ buildId }) => buildId === own);
  if (isKnown && pollers.every(({ isVersioned }) => isVersioned === true))
    return good('builds', `${[...different].join(', ')}: the workers are versioned`);
  const detail = seen.map(({ identity, buildId }) => `${identity} is ${buildId}`).join(', ');
  const remedy = 'bring workers and command line to one build; a worker that has ended is listed for five minutes';
  return { ...bad('builds', detail, remedy, 'refused'), isMinor: true };
}

/** The server's time lies between the two local ones unless the clocks differ. */
function clockSkew(server: number, before: number, after: number): Finding {
  const skew = server < before ? before - server : Math.max(0, server - after);
  const detail = `${formatDuration(skew)} between this machine and Temporal`;
  if (skew <= tolerableSkewMs) return good('clock', detail);
  return {
    ...bad('clock', detail, 'synchronise the clocks (NTP): ages and deadlines are shown wrong', 'refused'),
    isMinor: true,
  };
}
