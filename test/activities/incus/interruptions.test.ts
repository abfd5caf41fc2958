import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTarget } from '../../../activities/incus/incus-adapter.ts';
import type { Target } from '../../../activities/incus/port.ts';
import type { Effect } from '../../sim/incus/faults.ts';
import { IncusSim } from '../../sim/incus/incus-sim.ts';
import { waitFor } from '../../support/wait-for.ts';
import { finalConfiguration, marks, newInstance } from './builders.ts';

interface Step {
  readonly name: string;
  readonly run: (target: Target, options?: { readonly signal?: AbortSignal }) => Promise<unknown>;
}

/** What happens to an instance in its order. Each step may run twice. */
interface Life {
  readonly name: string;
  readonly steps: readonly Step[];
  /** Requests that change something, when nothing goes wrong. */
  readonly changes: number;
}

const nic = {
  hwaddr: '00:16:3e:00:00:01',
  network: 'incusbr0',
  nictype: 'managed',
  vlan_id: '',
  ipv4_address: '',
} as const;
const final = finalConfiguration({ tpm: true, nics: [nic] });
const create: Step = { name: 'create', run: (target, options) => target.create(newInstance(3), options) };
const start: Step = { name: 'start', run: (target, options) => target.start('default', 'web', options) };

const lives: readonly Life[] = [
  {
    name: 'that is handed over',
    steps: [
      create,
      { name: 'set the fence', run: (target, options) => target.setFence('default', 'web', 1, options) },
      { name: 'configure', run: (target, options) => target.configureFinal(final, options) },
      start,
      { name: 'stop', run: (target, options) => target.stop('default', 'web', { force: true, ...options }) },
      {
        name: 'release',
        run: (target, options) => target.release('default', 'web', marks(), '2026-08-01T00:00:00Z', options),
      },
    ],
    changes: 11,
  },
  {
    name: 'that is deleted',
    steps: [
      create,
      start,
      { name: 'delete', run: (target, options) => target.deleteOwned('default', 'web', marks(), options) },
    ],
    changes: 9,
  },
];

async function withSim(work: (sim: IncusSim, target: Target) => Promise<void>): Promise<void> {
  // Without the extension, so that volumes are deleted one by one.
  const sim = await IncusSim.start({ operationMs: 1, extensions: ['storage_volume_nbd'] });
  let target: Target | undefined;
  try {
    target = createTarget(sim.endpoint(), { allowInsecureTls: false });
    await work(sim, target);
  } finally {
    await sim.stop();
    await target?.close();
  }
}

/** What a life must leave, whatever came in between: everything once. */
function outcome(sim: IncusSim): unknown {
  const kinds = ['instance-created', 'instance-started', 'instance-stopped', 'instance-deleted'] as const;
  const volumeKinds = ['volume-created', 'volume-deleted'] as const;
  const left = {
    counted: [...kinds, ...volumeKinds].map((event) => [event, sim.journal.events(event).length]),
    instances: sim.instances().map(({ name, status, config, devices }) => ({ name, status, config, devices })),
    volumes: sim.volumes().map(({ pool, name, config }) => ({ pool, name, config })),
  };
  // What the somebody else of a race has written is another one each time.
  return JSON.parse(JSON.stringify(left, (key, value: unknown) => (key === 'user.race' ? undefined : value)));
}

/** Its outcome without trouble, and the methods of its requests in their order. */
async function undisturbed({
  steps,
}: Life): Promise<{ readonly outcome: unknown; readonly methods: readonly string[] }> {
  let found: Awaited<ReturnType<typeof undisturbed>> | undefined;
  await withSim(async (sim, target) => {
    for (const { run } of steps) await run(target);
    found = { outcome: outcome(sim), methods: sim.journal.requests().map(({ method }) => method) };
  });
  assert.ok(found);
  return found;
}

/** Some at a time: each has a server of its own. */
async function forEach(indexes: readonly number[], work: (index: number) => Promise<void>): Promise<void> {
  const left = [...indexes];
  const run = async (): Promise<void> => {
    for (let index = left.shift(); index !== undefined; index = left.shift()) await work(index);
  };
  await Promise.all(Array.from({ length: 8 }, run));
}

/** How a request goes wrong; `onlyChanges`: one that changes something. */
const troubles: readonly { readonly what: string; readonly onlyChanges: boolean; readonly effect: Effect }[] = [
  { what: 'its connection breaks before', onlyChanges: false, effect: { kind: 'drop', when: 'before' } },
  { what: 'its connection breaks after', onlyChanges: false, effect: { kind: 'drop', when: 'after' } },
  { what: 'it is answered 503 and not made', onlyChanges: true, effect: { kind: 'status', status: 503 } },
  { what: 'it is answered 500 and made', onlyChanges: true, effect: { kind: 'status', status: 500, isDone: true } },
  {
    what: 'it is answered by a proxy and made',
    onlyChanges: true,
    effect: { kind: 'page', status: 502, isDone: true },
  },
  { what: 'it meets a change of somebody else', onlyChanges: true, effect: { kind: 'etag-race' } },
  { what: 'it is answered as done and is not', onlyChanges: true, effect: { kind: 'no-effect' } },
];

for (const life of lives) {
  const { outcome: expected, methods } = await undisturbed(life);
  const all = methods.map((_method, index) => index);
  const changes = all.filter((index) => methods[index] !== 'GET');

  describe(`one request of the life of an instance ${life.name} goes wrong, each in turn, and all happens once`, () => {
    test('without trouble it has a known number of changes', () => {
      assert.equal(changes.length, life.changes);
    });

    for (const { what, onlyChanges, effect } of troubles)
      test(what, async () => {
        await forEach(onlyChanges ? changes : all, (index) =>
          withSim(async (sim, target) => {
            sim.faults.add({ path: /^/, skip: index, effect });
            for (const { run } of life.steps) await run(target);
            assert.deepEqual(sim.faults.unused(), []);
            assert.deepEqual(outcome(sim), expected, `request ${index}`);
          }),
        );
      });
  });

  describe(`the worker of an instance ${life.name} dies at any request, another one repeats the step, and all happens once`, () => {
    for (const [index, { name }] of life.steps.entries())
      test(name, async () => {
        const count = await requestsOf(life, index);
        const requests = Array.from({ length: count }, (_, request) => request);
        await forEach(requests, (request) =>
          withSim(async (sim, target) => {
            for (const { run } of life.steps.slice(0, index)) await run(target);
            await dieAt(request, life.steps[index]!, sim);
            for (const { run } of life.steps.slice(index)) await run(target);
            assert.deepEqual(outcome(sim), expected, `request ${request}`);
          }),
        );
      });
  });
}

async function requestsOf({ steps }: Life, index: number): Promise<number> {
  let count = 0;
  await withSim(async (sim, target) => {
    for (const { run } of steps.slice(0, index)) await run(target);
    sim.journal.clear();
    await steps[index]!.run(target);
    count = sim.journal.requests().length;
  });
  return count;
}

/** The request arrives and is acted on while its sender dies; what it has begun goes on for some time. */
async function dieAt(request: number, { run }: Step, sim: IncusSim): Promise<void> {
  sim.settings.operationMs = 40;
  const before = sim.journal.requests().length;
  sim.faults.add({ path: /^/, skip: request, effect: { kind: 'hold-answer', until: new Promise(() => undefined) } });
  const worker = new AbortController();
  const dying = createTarget(sim.endpoint(), { allowInsecureTls: false });
  const attempt = run(dying, { signal: worker.signal }).catch((error: unknown) => error);
  await waitFor('the request', () => sim.journal.requests().length > before + request);
  worker.abort(new Error('killed'));
  await attempt;
  await dying.close();
}
