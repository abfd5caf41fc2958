import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { before, describe, test, type TestContext } from 'node:test';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { parse } from 'yaml';
import { parseConfig } from '../../../activities/config.ts';
import { shutdown } from '../../../workers/process.ts';
import { codecOf } from '../../../activities/codec/codec.ts';
import { isTracingWanted } from '../../../activities/tracing/wanted.ts';
import { readSettings, type ProcessKind } from '../../../workers/settings.ts';
import {
  composeProject,
  envExample,
  projectDir,
  secretTarget,
  type ComposeProject,
  type ComposeService,
  type Profile,
} from './compose-file.ts';
import { filesNamedIn, namesRead, secondsOf, uncommented } from '../../activities/deploy/what-is-read.ts';
import { spanMs } from './native-project.ts';

const profiles: readonly Profile[] = ['server', 'laptop'];
const oneShots = ['temporal-schema', 'bootstrap'];
const processes: readonly ProcessKind[] = ['control', 'transfer', 'bridge'];
const ours = [...processes, 'bootstrap'];

const parsed = new Map<Profile, ComposeProject>();
before(async () => {
  for (const profile of profiles) parsed.set(profile, await composeProject(profile));
});

const servicesOf = (profile: Profile): readonly (readonly [name: string, service: ComposeService])[] =>
  Object.entries(parsed.get(profile)!.services);

/** A file of variables like the example but for these. */
async function changed(t: TestContext, variables: Readonly<Record<string, string>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-env-'));
  t.after(() => rm(dir, { recursive: true }));
  const file = join(dir, '.env');
  const more = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(file, `${await readFile(envExample, 'utf8')}\n${more.join('')}`);
  return file;
}

describe('the compose file', () => {
  test('has what its profiles promise', async (t) => {
    assert.deepEqual(
      profiles.map((profile) => servicesOf(profile).map(([name]) => name)),
      [[...ours, 'postgres', 'temporal', 'temporal-schema', 'temporal-ui'].sort(), [...ours, 'temporal-laptop'].sort()],
    );
    const example = await composeProject(undefined);
    assert.deepEqual(Object.keys(example.services), Object.keys(parsed.get('server')!.services));
    const envFile = await changed(t, { COMPOSE_PROFILES: '', TEMPORAL_ADDRESS: 'elsewhere:7233' });
    const { services } = await composeProject(undefined, { envFile });
    assert.deepEqual(Object.keys(services).sort(), [...ours].sort());
    assert.equal(services['control']?.environment?.['TEMPORAL_ADDRESS'], 'elsewhere:7233');
  });

  test('reads every variable of the example, and has the same without one', async (t) => {
    const text = await readFile(join(projectDir, 'docker-compose.yml'), 'utf8');
    const used = new Set([...text.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name));
    const example = [...(await readFile(envExample, 'utf8')).matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    assert.deepEqual(new Set(example), used.add('COMPOSE_PROFILES'));
    const dir = await mkdtemp(join(tmpdir(), 'vmflow-env-'));
    t.after(() => rm(dir, { recursive: true }));
    await writeFile(join(dir, '.env'), '');
    for (const profile of profiles)
      assert.deepEqual(await composeProject(profile, { envFile: join(dir, '.env') }), parsed.get(profile));
  });

  test('is refused with a key that compose does not know', async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'vmflow-compose-'));
    t.after(() => rm(dir, { recursive: true }));
    const file = join(dir, 'docker-compose.yml');
    const text = await readFile(join(projectDir, 'docker-compose.yml'), 'utf8');
    await writeFile(file, text.replace('stop_grace_period: 60s', 'stop_grace: 60s'));
    await assert.rejects(composeProject('server', { file }), /stop_grace/);
  });

  for (const profile of profiles)
    describe(`with the profile ${profile}`, () => {
      test('checks the health of everything that lasts, and lets nobody begin before what it needs', () => {
        for (const [name, { healthcheck, restart, depends_on: others = {} }] of servicesOf(profile)) {
          const isOneShot = oneShots.includes(name);
          assert.equal(healthcheck === undefined, isOneShot, name);
          assert.equal(restart, isOneShot ? 'on-failure' : 'unless-stopped', name);
          for (const [other, { condition }] of Object.entries(others))
            assert.equal(
              condition,
              oneShots.includes(other) ? 'service_completed_successfully' : 'service_healthy',
              `${name} needs ${other}`,
            );
        }
        const needs = Object.fromEntries(
          servicesOf(profile).map(([name, service]) => [name, Object.keys(service.depends_on ?? {})]),
        );
        const temporal = profile === 'server' ? 'temporal' : 'temporal-laptop';
        const there = (name: string): boolean => name in parsed.get(profile)!.services;
        assert.deepEqual(needs['bootstrap']?.filter(there), [temporal]);
        for (const kind of processes) assert.deepEqual(needs[kind], ['bootstrap']);
        if (profile === 'server') assert.deepEqual(needs['temporal'], ['postgres', 'temporal-schema']);
      });

      test('publishes Temporal and the Web UI on loopback, and nothing else', () => {
        const published = servicesOf(profile).flatMap(([name, { ports = [] }]) =>
          ports.map(({ host_ip: host = 'all', published: port, target }) => `${name} ${host}:${port}:${target}`),
        );
        assert.deepEqual(
          published.sort(),
          profile === 'server'
            ? ['temporal 127.0.0.1:7233:7233', 'temporal-ui 127.0.0.1:8233:8233']
            : ['temporal-laptop 127.0.0.1:7233:7233', 'temporal-laptop 127.0.0.1:8233:8233'],
        );
      });

      test('has images of certain versions, its own built from the Dockerfile', () => {
        for (const [name, { image, build }] of servicesOf(profile))
          if (ours.includes(name)) {
            assert.equal(image, 'vmflow:local');
            assert.equal(build?.context, projectDir);
            assert.ok(existsSync(join(build.context, build.dockerfile)));
          } else assert.match(image, /^[a-z/-]+:\d+\.\d+(\.\d+)?$/, name);
      });

      test('gives everything the time to end', () => {
        for (const [name, service] of servicesOf(profile)) {
          if (oneShots.includes(name)) continue;
          const leastS = name === 'control' || name === 'transfer' ? secondsOf(shutdown.force) + 1 : 10;
          assert.ok(spanMs(service.stop_grace_period) >= leastS * 1000, name);
        }
      });

      test('has its secrets in files: none is in a variable or on a command line', () => {
        for (const [name, { environment = {}, command, entrypoint, secrets = [], volumes = [] }] of servicesOf(
          profile,
        )) {
          for (const [variable, value] of Object.entries(environment))
            if (/PASSWORD|PWD|TOKEN|SECRET|API_KEY/.test(variable)) {
              assert.match(variable, /_FILE$/, name);
              assert.ok(secrets.map(secretTarget).includes(value), `${name} finds ${value}`);
            }
          for (const word of [...(entrypoint ?? []), ...(command ?? [])])
            assert.doesNotMatch(word, /(PASSWORD|PWD)=(?!"\$\(cat \/run\/secrets\/[\w-]+\)")/, name);
          for (const { type, target, read_only: isReadOnly } of volumes)
            if (type === 'bind') assert.deepEqual([target, isReadOnly], ['/etc/vmflow-secrets', true], name);
        }
        for (const secret of Object.values(parsed.get(profile)?.secrets ?? {}))
          assert.ok(relative(projectDir, secret.file ?? '').startsWith('secrets/'));
      });

      test('keeps our processes from all that they do not need', () => {
        for (const [name, service] of servicesOf(profile).filter(([one]) => ours.includes(one))) {
          assert.deepEqual(
            [service.read_only, service.cap_drop, service.security_opt, Object.keys(service.networks)],
            [true, ['ALL'], ['no-new-privileges:true'], ['default']],
            name,
          );
        }
      });
    });

  test('lets nobody but Temporal and its schema reach the database', () => {
    const { networks } = parsed.get('server')!;
    assert.equal(networks['database']?.internal, true);
    const there = servicesOf('server').filter(([, service]) => 'database' in service.networks);
    assert.deepEqual(
      there.map(([name]) => name),
      ['postgres', 'temporal', 'temporal-schema'],
    );
    assert.deepEqual(Object.keys(parsed.get('server')!.services['postgres']!.networks), ['database']);
  });

  test('tells the development server what the file of the server says', async () => {
    const { file = '' } = parsed.get('server')!.configs['temporal-dynamic']!;
    const values = parse(await readFile(file, 'utf8')) as Record<string, [{ value: number }]>;
    const told = (parsed.get('laptop')!.services['temporal-laptop']!.command ?? []).filter((word) =>
      word.startsWith('--dynamic-config-value='),
    );
    assert.deepEqual(
      told,
      Object.entries(values).map(([key, [{ value }]]) => `--dynamic-config-value=${key}=${value}`),
    );
  });
});

for (const kind of processes)
  describe(`${kind} of the compose file`, () => {
    const service = (): ComposeService => parsed.get('server')!.services[kind]!;
    const settings = () => readSettings(kind, service().environment);

    test('is started by a file that the build makes', () => {
      assert.deepEqual(service().command, ['node', `dist/workers/${kind}.js`]);
      assert.ok(existsSync(join(projectDir, `workers/${kind}.ts`)));
    });

    test('is given no variable that the code does not read', () => {
      const read = new Set([
        ...namesRead((env) => readSettings(kind, env)),
        ...namesRead((overrideEnvVars) => loadClientConnectConfig({ overrideEnvVars, disableFile: true })),
        ...namesRead((env) => void codecOf(env)),
        ...namesRead(isTracingWanted),
      ]);
      assert.deepEqual(
        Object.keys(service().environment ?? {}).filter((name) => !read.has(name)),
        [],
      );
    });

    test('is asked for its health where it serves it', () => {
      const { host, port } = settings().healthAddress;
      assert.deepEqual([host, port], ['0.0.0.0', readSettings(kind, {}).healthAddress.port]);
    });

    test('finds its configuration, and in it the places that it may write to and the secrets it may name', async () => {
      const project = parsed.get('server')!;
      const config = service().configs?.find(({ target }) => target === settings().configPath);
      const text = await readFile(project.configs[config?.source ?? '']?.file ?? '', 'utf8');
      const file = parseConfig(text, 'vmflow.yaml');
      const volumes = (service().volumes ?? []).filter(({ type }) => type === 'volume').map(({ target }) => target);
      const written: Readonly<Record<ProcessKind, readonly string[]>> = {
        control: [],
        transfer: [file.cacheDir],
        bridge: [dirname(file.history?.file ?? '')],
      };
      assert.deepEqual(volumes, written[kind]);
      const dockerfile = await readFile(join(projectDir, 'workers/deploy/Dockerfile'), 'utf8');
      for (const path of volumes) assert.match(dockerfile, new RegExp(`install -d -o 1000 -g 1000 .*${path}`));

      const filled = parseConfig(uncommented(text), 'vmflow.yaml');
      const files = filesNamedIn(filled);
      assert.equal(files.length, 7);
      const mount = service().volumes?.find(({ type }) => type === 'bind')?.target ?? '';
      for (const path of files) assert.ok(path.startsWith(`${mount}/`), path);
    });
  });
