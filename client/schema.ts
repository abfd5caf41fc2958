import type { Action } from './commands/command.ts';
import { usageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

/** `schema [KIND]`: the schema itself is the document, whatever `-o` says. */
export const printSchema: Action<object> = async (session, [kind]) => {
  const { jsonSchema, schemaKinds: kinds } = await import('./output/schemas.ts');
  if (kind === undefined) {
    session.runtime.stdout.write(kinds.map((name) => `${name}\n`).join(''));
    return exitCodes.ok.code;
  }
  const known = kinds.find((name) => name === kind);
  if (known === undefined) throw usageError(`there is no kind "${kind}"`, `kinds: ${kinds.join(', ')}`);
  session.runtime.stdout.write(`${JSON.stringify(jsonSchema(known), undefined, 2)}\n`);
  return exitCodes.ok.code;
};
