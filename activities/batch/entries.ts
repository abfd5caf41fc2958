import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import type { MigrationRecord, MigrationView } from '../../workflows/contracts/batch.ts';
import { isAskAgain } from '../../workflows/contracts/ask-again.ts';
import { migrationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { whileBeating } from '../heartbeat.ts';
import { ifFound } from '../open-workflow.ts';

/** Entries that are asked, told or started at once. */
export const atOnce = 10;

/** The same for each of many, some at once; heartbeats. */
export async function forEach<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  return await whileBeating(
    () => ({}),
    () => pLimit(atOnce).map(all, work),
  );
}

/** Where an entry is; undefined: no workflow knows it. */
export async function viewOf(temporal: Client, uuid: string): Promise<MigrationView | undefined> {
  return await told<MigrationView>(temporal, uuid, messages.status);
}

/** The same with the record of its VM. */
export async function recordOf(temporal: Client, uuid: string): Promise<MigrationRecord | undefined> {
  return await told<MigrationRecord>(temporal, uuid, messages.record);
}

async function told<Answer>(temporal: Client, uuid: string, query: string): Promise<Answer | undefined> {
  try {
    return await ifFound(temporal.workflow.getHandle(migrationId(uuid)).query<Answer>(query));
  } catch (err) {
    if (isAskAgain(err)) return undefined;
    throw err;
  }
}
