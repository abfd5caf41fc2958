import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';
import type { RequestMigrationInput } from '../../workflows/contracts/hibernate.ts';
import { migrationRequestId } from '../../workflows/contracts/ids.ts';
import { code, codeBlock, pane, plain } from '../../workflows/domain/markdown.ts';
import { cutToBytes } from '../../workflows/domain/text.ts';
import type { StartRequest } from '../gateway.ts';
import type { Session } from '../session.ts';
import type { SetRef } from './find.ts';

/** What is wanted of a set. */
export interface MoveWish {
  /** Absent: any other node. */
  readonly to?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** Values of search attributes end at 255 bytes, summaries at 200. */
const longestAttribute = 255;
const longestSummary = 200;

/** The request to move a set. A dry run has an id of its own: it must not be taken for a real one. */
export function moveStart(session: Session, { namespace, name }: SetRef, flags: MoveWish): StartRequest {
  const { to, reason, dryRun } = flags;
  const requestId = dryRun === true ? `dry-run-${session.runtime.random()}` : requestIdOf(flags);
  const by = session.runtime.user();
  const input: RequestMigrationInput = {
    ...{ namespace, name, requestId, by },
    ...(to === undefined ? {} : { to }),
    ...(reason === undefined ? {} : { reason }),
    ...(dryRun === true ? { dryRun } : {}),
  };
  const kind: OperationKind = 'migration-request';
  const where = to ?? 'another node';
  return {
    type: 'requestMigration',
    workflowId: migrationRequestId(namespace, name, requestId),
    args: [input],
    summary: cutToBytes(`move ${namespace}/${name} to ${where}${dryRun === true ? ' (dry run)' : ''}`, longestSummary),
    details: pane([
      `Moves the main VM of set ${code(`${namespace}/${name}`)} to ${plain(where)}, asked by ${plain(by)}.`,
      ...(reason === undefined ? [] : [plain(reason)]),
      codeBlock([`vmflow set get ${name} -n ${namespace}`, `vmflow set watch ${name} -n ${namespace}`].join('\n')),
    ]),
    memo: {},
    attributes: [
      { key: searchKeys.kind, value: kind },
      { key: searchKeys.vm, value: cutToBytes(`${namespace}/${name}`, longestAttribute) },
      ...(to === undefined ? [] : [{ key: searchKeys.target, value: cutToBytes(to, longestAttribute) }]),
    ],
  };
}

/** The same wish is the same request. */
export function requestIdOf({ to }: Pick<MoveWish, 'to'>): string {
  return to === undefined ? 'anywhere' : `to-${to}`;
}
