import { Context } from '@temporalio/activity';
import { snapshotTags } from '../../workflows/contracts/hibernate.ts';
import { vmNameOf } from '../../workflows/domain/hibernate/names.ts';
import type { SetFacts } from '../../workflows/domain/hibernate/observation.ts';
import type { SetLook } from '../../workflows/domain/hibernate/set-look.ts';
import { tagClassOf } from '../../workflows/domain/hibernate/situation.ts';
import { OperationError } from '../failures.ts';
import { pause } from '../heartbeat.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { RegistryError } from '../registry/port.ts';
import { dropTag, tagFactsOf } from '../registry/snapshot.ts';
import type { HibernateDeps } from './deps.ts';
import { warn } from './set-events.ts';

/** Tries per tag: a registry that is away must not keep a set from going for ever. */
const tries = 5;
const firstPauseMs = 200;

/**
 * Drops what a set has left in the registry: every hibernate tag, and `latest` where its policy doesn't keep it. What may be
 * another set's stays; what can't be dropped is told and left.
 */
export async function collect(
  deps: HibernateDeps,
  object: KubeObject,
  { set, snapshotPolicy }: SetLook,
  vmNames: readonly string[],
): Promise<void> {
  if (set === undefined) return;
  const mainVm = vmNameOf(set.namespace, set.name, 0);
  const leaked: string[] = [];
  for (const vmName of vmNames) {
    const keepsLatest = snapshotPolicy === 'always' || (snapshotPolicy === 'main-only' && vmName === mainVm);
    const tags = keepsLatest ? [snapshotTags.hibernate] : [snapshotTags.hibernate, snapshotTags.latest];
    for (const tag of tags) if (!(await isGone(deps, set, vmName, tag))) leaked.push(`${vmName}:${tag}`);
  }
  if (leaked.length > 0) await warn(deps, object, 'SnapshotLeaked', `left in the registry: ${leaked.join(', ')}`);
}

async function isGone(deps: HibernateDeps, set: SetFacts, vmName: string, tag: string): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await drop(deps, set, vmName, tag);
    } catch (err) {
      if (!(err instanceof RegistryError || err instanceof OperationError)) throw err;
      if (attempt === tries) return false;
      await pause(firstPauseMs * 2 ** attempt, Context.current().cancellationSignal);
    }
  }
}

async function drop(deps: HibernateDeps, set: SetFacts, vmName: string, tag: string): Promise<boolean> {
  const registry = await deps.registry();
  const manifest = await registry.manifest(vmName, tag);
  if (manifest === undefined) return true;
  const facts = tagFactsOf(manifest);
  const found = tagClassOf(facts, set, deps.settings.migration);
  if (found === 'foreign' || found === 'invalid') return false;
  const dropped = await dropTag(registry, vmName, tag, facts.digest);
  return dropped === 'dropped' || dropped === 'absent';
}
