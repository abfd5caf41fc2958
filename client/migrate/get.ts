import type { Action } from '../commands/command.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { resolveSet, type SetRef } from '../set/find.ts';
import type { PlaceFlags } from '../vm/place.ts';
import { renderMigration } from './render.ts';
import { loadMigration, type MigrationView } from './view.ts';

/** `migrate get SET`: its last migration. */
export const getMigration: Action<PlaceFlags> = async (session, [text = ''], flags) => {
  const ref = await resolveSet(session, text, flags);
  const view = await loadMigration(session, ref);
  if (view === undefined) throw neverMigrated(ref);
  await printMigration(session, view);
  return exitCodes.ok.code;
};

export async function printMigration(session: Session, view: MigrationView): Promise<void> {
  await session.print({
    kind: 'SetMigration',
    document: view,
    names: [`${view.namespace}/${view.set}`],
    ids: [view.id],
    text: renderMigration(session, view),
  });
}

function neverMigrated({ namespace, name }: SetRef): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'NO_MIGRATION',
    message: `Temporal remembers no migration of set ${namespace}/${name}`,
    next: [`vmflow set get ${name} -n ${namespace}`, `vmflow move set/${name} -n ${namespace} --to NODE`],
  });
}
