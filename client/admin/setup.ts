import { searchKeys } from '../../workflows/contracts/attributes.ts';
import type { Action } from '../commands/command.ts';
import { parseDuration } from '../durations.ts';
import { CliError, usageError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { gatewayReasons, type Gateway } from '../gateway.ts';
import type { Session } from '../session.ts';
import { ensureSchedules, scheduleItem, wantedSchedules } from './schedules.ts';
import type { SetupItem } from './setup-item.ts';

export interface SetupFlags {
  readonly retention?: string;
  readonly timeout?: string;
  readonly dryRun?: boolean;
}

const dayMs = 86_400_000;
const pauseMs = 500;

/** Names and types of all attributes, as the server is asked to register them. */
export const wantedAttributes: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(searchKeys).map(({ name, type }) => [name, type]),
);

/** Creates what is missing, then waits until it can be used. */
export const setup: Action<SetupFlags> = async (session, _args, flags) => {
  const gateway = await session.gateway();
  const isDryRun = flags.dryRun === true;
  const patience = new Patience(session, parseDuration(flags.timeout ?? '60s', '--timeout'));
  const namespace = await ensureNamespace(session, gateway, retentionDays(flags), isDryRun, patience);
  const { taskQueue } = await session.settings();
  const items = [
    namespace,
    ...(isDryRun && namespace.was === 'missing'
      ? everythingMissing(taskQueue.value)
      : [
          ...(await ensureAttributes(gateway, isDryRun, patience)),
          ...(await ensureSchedules(gateway, taskQueue.value, isDryRun)),
        ]),
  ];
  await session.print({
    kind: 'SetupResult',
    document: { items },
    rows: items,
    columns: [
      { header: 'WHAT', cell: (item) => item.what },
      { header: 'NAME', cell: (item) => item.name },
      { header: 'WAS', cell: (item) => item.was },
      { header: 'NOW', cell: (item) => item.now },
    ],
    names: items.map((item) => item.name),
    ids: items.map((item) => item.name),
  });
  return exitCodes.ok.code;
};

/** What a namespace that isn't there has to be given. */
function everythingMissing(taskQueue: string): SetupItem[] {
  return [
    ...Object.keys(wantedAttributes).map((name) => attributeItem(name, 'missing', true)),
    ...wantedSchedules(taskQueue).map((schedule) => scheduleItem(schedule, 'missing', true)),
  ];
}

function retentionDays(flags: SetupFlags): number {
  const days = parseDuration(flags.retention ?? '30d', '--retention') / dayMs;
  if (!Number.isInteger(days) || days < 1) throw usageError('--retention: whole days, at least 1d', '--retention 30d');
  return days;
}

async function ensureNamespace(
  session: Session,
  gateway: Gateway,
  days: number,
  isDryRun: boolean,
  patience: Patience,
): Promise<SetupItem> {
  const { namespace } = await session.settings();
  const item = { what: 'namespace', name: namespace.value };
  const found = await gateway.namespace();
  if (found !== undefined)
    return { ...item, was: 'present', now: `present, retention ${String(found.retentionDays)} d` };
  if (isDryRun) return { ...item, was: 'missing', now: `would be created, retention ${String(days)} d` };
  session.note(`creating namespace ${namespace.value} ...`);
  await gateway.createNamespace(days);
  await patience.until(`namespace ${namespace.value}`, async () => {
    await gateway.list("WorkflowType = 'lookup'", 1);
    return (await gateway.namespace()) !== undefined;
  });
  return { ...item, was: 'missing', now: `created, retention ${String(days)} d` };
}

async function ensureAttributes(gateway: Gateway, isDryRun: boolean, patience: Patience): Promise<SetupItem[]> {
  const found = await gateway.searchAttributes();
  const wanted = Object.entries(wantedAttributes);
  const missing = Object.fromEntries(wanted.filter(([name]) => found[name] === undefined));
  const different = wanted.filter(([name, type]) => found[name] !== undefined && found[name] !== type);
  const [first] = different;
  if (first !== undefined) throw wrongType(first[0], found[first[0]] ?? '', first[1]);
  if (!isDryRun && Object.keys(missing).length > 0) {
    await gateway.addSearchAttributes(missing);
    await patience.until('search attributes', () => areUsable(gateway));
  }
  return wanted.map(([name]) => attributeItem(name, missing[name] === undefined ? 'present' : 'missing', isDryRun));
}

function attributeItem(name: string, was: 'present' | 'missing', isDryRun: boolean): SetupItem {
  const now = was === 'present' ? 'present' : isDryRun ? 'would be registered' : 'registered';
  return { what: 'search attribute', name, was, now };
}

/** Registered is not yet usable: every frontend reads the list again after a while. A query over all of them shows it. */
async function areUsable(gateway: Gateway): Promise<boolean> {
  const samples: Readonly<Record<string, string>> = {
    KEYWORD: "'x'",
    BOOL: 'true',
    DATETIME: "'2000-01-01T00:00:00Z'",
    DOUBLE: '0.5',
  };
  const query = Object.entries(wantedAttributes).map(([name, type]) => `${name} = ${samples[type] ?? "'x'"}`);
  await gateway.list(query.join(' AND '), 1);
  return true;
}

function wrongType(name: string, found: string, wanted: string): CliError {
  return new CliError({
    exit: 'refused',
    reason: 'SEARCH_ATTRIBUTE_TYPE',
    message: `can't set up: search attribute ${name} exists as ${found}, it must be ${wanted}`,
    state: 'a type can not be changed while attributes of it are in use',
    next: [`temporal operator search-attribute remove --name ${name}`, 'or use another namespace: --namespace NAME'],
  });
}

/** Waits for what the server does a little later; gives up at a time that was set. */
class Patience {
  readonly #session: Session;
  readonly #deadline: number;

  constructor(session: Session, timeoutMs: number) {
    this.#session = session;
    this.#deadline = session.runtime.now().getTime() + timeoutMs;
  }

  async until(what: string, isReady: () => Promise<boolean>): Promise<void> {
    const notYet: readonly string[] = [gatewayReasons.namespaceMissing, gatewayReasons.attributesMissing];
    for (;;) {
      try {
        if (await isReady()) return;
      } catch (error) {
        if (!(error instanceof CliError) || !notYet.includes(error.reason)) throw error;
      }
      if (this.#session.runtime.now().getTime() >= this.#deadline) throw lateError(what);
      await this.#session.runtime.sleep(pauseMs);
    }
  }
}

function lateError(what: string): CliError {
  return new CliError({
    exit: 'timeout',
    reason: 'NOT_USABLE_YET',
    message: `${what} was created but can't be used yet`,
    state: 'the server takes it up by itself, usually within a minute',
    next: 'vmflow admin setup',
  });
}
