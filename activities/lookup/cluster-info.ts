import type { Page, VmInfo, VmopInfo } from '../../workflows/contracts/cluster-lookup.ts';
import { vmopKeys, type OperationName, type VmopPhase } from '../../workflows/contracts/vmop.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { annotation, conditionOf, vmOf, vmopOf, type Vmop } from '../vmop/objects.ts';
import { pageBy } from './page.ts';

export function vmInfo(object: KubeObject): VmInfo {
  const { uid, phase, runPolicy } = vmOf(object);
  const { nodeName, ipAddress, restartAwaitingChanges } = (object.status ?? {}) as {
    readonly nodeName?: string;
    readonly ipAddress?: string;
    readonly restartAwaitingChanges?: readonly unknown[];
  };
  return {
    namespace: object.metadata.namespace,
    name: object.metadata.name,
    ...{ uid, phase, runPolicy },
    ...(nodeName ? { nodeName } : {}),
    ...(ipAddress ? { ipAddress } : {}),
    ...((restartAwaitingChanges ?? []).length === 0 ? {} : { restartPending: true }),
    createdAt: new Date(object.metadata.creationTimestamp).toISOString(),
  };
}

export function vmopInfo(object: KubeObject): VmopInfo {
  const vmop = vmopOf(object);
  const { namespace, name, uid, vmName, type, force, createdAt, by } = vmop.ref;
  const completed = conditionOf(vmop.conditions, 'Completed');
  const { progress } = (object.status ?? {}) as { readonly progress?: string };
  const { migrate } = (object.spec ?? {}) as { readonly migrate?: { nodeSelector?: Record<string, string> } };
  const [supersededBy] = namesIn(annotation(object, vmopKeys.supersededBy));
  const phase = shownPhase(vmop, completed?.reason);
  const why = annotation(object, vmopKeys.reason);
  return {
    ...{ namespace, name, uid, vmName, type, createdAt },
    supersedes: namesIn(annotation(object, vmopKeys.supersedes)),
    ...(force === undefined ? {} : { force }),
    ...(phase === undefined ? {} : { phase }),
    ...(completed === undefined ? {} : { reason: completed.reason, message: completed.message }),
    ...(progress === undefined ? {} : { progress }),
    ...(vmop.seq === undefined ? {} : { seq: vmop.seq }),
    ...(supersededBy === undefined ? {} : { supersededBy }),
    ...(by === undefined ? {} : { by }),
    ...(why === undefined ? {} : { why }),
    ...(migrate?.nodeSelector === undefined ? {} : { nodeSelector: migrate.nodeSelector }),
    ...(vmop.isTerminal && completed !== undefined
      ? { endedAt: new Date(completed.lastTransitionTime).toISOString() }
      : {}),
    ...(vmop.isDeleting ? { deleting: true } : {}),
  };
}

/** The phase may be `Completed` by the configuration; what happened is said by the condition in both modes. */
function shownPhase({ phase }: Vmop, reason: string | undefined): VmopPhase | undefined {
  return reason === 'Superseded' ? 'Superseded' : phase;
}

/** `name/uid,name/uid`, as annotations hold it. */
function namesIn(text: string | undefined): OperationName[] {
  return (text ?? '').split(',').flatMap((entry) => {
    const [name = '', uid = ''] = entry.split('/');
    return name === '' ? [] : [{ name, uid }];
  });
}

/** Newest first: by time of creation, then by the order of their acceptance. */
export function newestFirst(a: VmopInfo, b: VmopInfo): number {
  return b.createdAt.localeCompare(a.createdAt) || (b.seq ?? 0) - (a.seq ?? 0) || b.name.localeCompare(a.name);
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** As many as fit, in the order of namespace and name, from behind `after` on. */
export function pageOf<Item extends Named>(all: readonly Item[], after?: string): Page<Item> {
  return pageBy(all, keyOf, after);
}

/** `/` is in neither part. */
function keyOf({ namespace, name }: Named): string {
  return `${namespace}/${name}`;
}
