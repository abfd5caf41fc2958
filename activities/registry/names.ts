import { RegistryError } from './port.ts';

/** The registry that most run answers 500 to longer ones. */
const longestRepository = 255;

const repository = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;
const tag = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const digest = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: string): boolean {
  return digest.test(text);
}

/** The repository of a VM below the prefix of its registry. */
export function repositoryOf(prefix: string, name: string): string {
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Why there can't be such a repository, to follow its name; undefined: there can. */
export function repositoryProblem(name: string): string | undefined {
  if (name.length > longestRepository)
    return `has ${name.length} characters, and no registry takes more than ${longestRepository}`;
  return repository.test(name) ? undefined : 'is no name that a registry takes';
}

/** Fails with `Invalid`. */
export function checkNames(name: string, reference?: string): void {
  const problem = repositoryProblem(name);
  if (problem !== undefined) throw new RegistryError('Invalid', `The repository "${name}" ${problem}.`);
  if (reference !== undefined && !tag.test(reference) && !digest.test(reference))
    throw new RegistryError('Invalid', `"${reference}" is neither a tag nor a sha256 digest.`);
}
