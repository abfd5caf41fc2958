import pLimit from 'p-limit';

import { VimFault, VSphereError } from '../faults.ts';
import type { CallOptions, MoRef, ObjectContent, VSphereSession } from '../port.ts';
import { messageOf } from '../session-core.ts';
import { idOf, isGone } from './vm-ref.ts';

const limits = {
  /** So many failures without one success are the server's, not the objects'. */
  hopeless: 5,
} as const;

export interface ReadEachOptions extends CallOptions {
  /** Budget of an object that is read alone. */
  readonly eachMs: number;
  /** Objects that are read alone at the same time. */
  readonly parallel: number;
}

export interface ReadEach {
  readonly found: readonly ObjectContent[];
  /** There and not readable, with the reason. Objects that are gone are in neither list. */
  readonly unread: readonly { readonly ref: MoRef; readonly why: string }[];
}

/**
 * Reads properties of many objects in one call and, where that fails because of single ones, one by one: one object that is gone,
 * locked or broken must not hide the others. Throws what is no single object's fault.
 */
export async function readEach(
  session: VSphereSession,
  refs: readonly MoRef[],
  paths: readonly string[],
  options: ReadEachOptions,
): Promise<ReadEach> {
  const { signal } = options;
  try {
    return { found: await session.retrieve(refs, paths, signal === undefined ? {} : { signal }), unread: [] };
  } catch (error) {
    if (!isOfSingleObjects(error)) throw error;
    return await oneByOne(session, refs, paths, options);
  }
}

async function oneByOne(
  session: VSphereSession,
  refs: readonly MoRef[],
  paths: readonly string[],
  { signal, eachMs, parallel }: ReadEachOptions,
): Promise<ReadEach> {
  const limit = pLimit(parallel);
  const found: ObjectContent[] = [];
  const unread: { ref: MoRef; why: string }[] = [];
  let answers = 0;
  const read = async (ref: MoRef): Promise<void> => {
    signal?.throwIfAborted();
    try {
      const options = { timeoutMs: eachMs, ...(signal === undefined ? {} : { signal }) };
      found.push(...(await session.retrieve([ref], paths, options)));
      answers += 1;
    } catch (error) {
      if (isGone(error, ref)) answers += 1;
      else if (!isOfSingleObjects(error) || (answers === 0 && unread.length >= limits.hopeless)) throw error;
      else unread.push({ ref, why: `${idOf(ref)}: ${messageOf(error)}` });
    }
  };
  try {
    await Promise.all(refs.map((ref) => limit(read, ref)));
  } finally {
    limit.clearQueue();
  }
  return { found, unread };
}

/** A fault, or a read that didn't end in time: what one object in a bad state can bring about. */
function isOfSingleObjects(error: unknown): boolean {
  if (error instanceof VimFault) return error.faultType !== 'NotAuthenticated' && error.faultType !== 'InvalidLogin';
  return error instanceof VSphereError && error.code === 'TIMEOUT';
}
