import assert from 'node:assert/strict';
import { after, beforeEach } from 'node:test';
import { createTarget } from '../../../activities/incus/incus-adapter.ts';
import type {
  FinalConfiguration,
  NewDisk,
  NewInstance,
  OwnershipMarks,
  Target,
  TargetEndpoint,
  TargetErrorCode,
} from '../../../activities/incus/port.ts';
import { TargetError } from '../../../activities/incus/target-error.ts';
import { IncusSim, type IncusSimOptions } from '../../sim/incus/incus-sim.ts';

export const MiB = 2 ** 20;

export const uuid = '4210a1b2-0000-4000-8000-00000000abcd';

export function marks(more: Partial<OwnershipMarks> = {}): OwnershipMarks {
  return { uuid, batch: 'b1', attempt: 1, running: true, source: 'vc1', ...more };
}

export function disk(index: number, more: Partial<NewDisk> = {}): NewDisk {
  return { disk: `[ds] web/web_${index}.vmdk`, pool: 'default', size: 4 * MiB, ...more };
}

/** `web` in project `default` with this many disks of 4 MiB. */
export function newInstance(disks = 1, more: Partial<NewInstance> = {}): NewInstance {
  return {
    project: 'default',
    name: 'web',
    description: 'a web server',
    architecture: 'x86_64',
    marks: marks(),
    config: { 'image.os': 'Debian', 'image.release': '13' },
    cpus: 2,
    memory: 4 * 2 ** 30,
    disks: Array.from({ length: disks }, (_, index) => disk(index)),
    ...more,
  };
}

export function finalConfiguration(more: Partial<FinalConfiguration> = {}): FinalConfiguration {
  return {
    project: 'default',
    name: 'web',
    marks: marks(),
    cpus: 4,
    memory: 8 * 2 ** 30,
    legacyBoot: false,
    secureBoot: true,
    tpm: false,
    nics: [],
    description: 'as it stays',
    config: {},
    ...more,
  };
}

export interface Rig {
  readonly sim: IncusSim;
  readonly target: Target;
  /** Another client of the same server. */
  connect(more?: Partial<TargetEndpoint>): Target;
}

/** A fresh server for each test of a file, with a client of it. */
export function useSim(options: IncusSimOptions = {}): Rig {
  let sim: IncusSim | undefined;
  let targets: Target[] = [];
  const end = async (): Promise<void> => {
    await sim?.stop();
    await Promise.all(targets.map((target) => target.close()));
    targets = [];
  };
  const rig = {
    get sim() {
      assert.ok(sim);
      return sim;
    },
    get target() {
      return targets[0] ?? rig.connect();
    },
    connect(more: Partial<TargetEndpoint> = {}) {
      const target = createTarget(rig.sim.endpoint(more), { allowInsecureTls: false });
      targets.push(target);
      return target;
    },
  };
  beforeEach(async () => {
    await end();
    sim = await IncusSim.start(options);
  });
  after(end);
  return rig;
}

/** The failure that must follow. */
export async function failure(attempt: Promise<unknown>, code: TargetErrorCode): Promise<TargetError> {
  const error = await attempt.then(
    (answer) => assert.fail(`answered ${JSON.stringify(answer)}`),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof TargetError, error instanceof Error ? error.stack : String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

/** Custom volumes as `pool/project/name`. */
export function volumeNames(sim: IncusSim): string[] {
  return sim.volumes().map(({ pool, project, name }) => `${pool}/${project}/${name}`);
}

/** A promise and what resolves it. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
