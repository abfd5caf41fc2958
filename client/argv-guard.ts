import { usageError } from './errors.ts';

/** Flags whose value would be a secret; they end up in process lists and shell histories. */
const secretFlag = /^--?(?:[a-z-]*(?:password|passwd|passphrase|secret|api-key|token))[a-z]*(?:$|[=-])/i;
const ovaWithQuery = /^(?:--ova=)?https?:\/\/[^\s?]*\?/i;
const urlWithUser = /[a-z][a-z0-9+.-]*:\/\/[^/?#\s@]+@/i;

/** Refuses secrets on the command line before anything else looks at it. The value is never repeated. */
export function refuseSecrets(argv: readonly string[]): void {
  for (const argument of argv) {
    if (secretFlag.test(argument)) {
      throw usageError(
        `${argument.split('=')[0] ?? argument}: secrets are not taken from the command line`,
        [
          'vCenter and download credentials belong to the workers: passwordFile or passwordEnv in vmflow.yaml',
          "Temporal's API key: the variable TEMPORAL_API_KEY or Temporal's profile file",
        ],
        'SECRET_IN_ARGUMENTS',
      );
    }
    if (ovaWithQuery.test(argument)) {
      throw usageError(
        'a URL with a query is not taken from the command line: it may be a signature',
        'put the query into sources.<name>.queryFile of vmflow.yaml on the workers, then use --headers-ref NAME',
        'SECRET_IN_ARGUMENTS',
      );
    }
    if (urlWithUser.test(argument)) {
      throw usageError(
        'a URL with user or password in it is not taken from the command line',
        'give the URL without them; workers read headers for a download from vmflow.yaml (--headers-ref NAME)',
        'SECRET_IN_ARGUMENTS',
      );
    }
  }
}

/** True for a URL that carries user info; for values that come from files. */
export function hasUserInfo(url: string): boolean {
  return urlWithUser.test(url);
}

/**
 * `--wait` takes its phase only as `--wait=PHASE`: otherwise `--wait rhel9-base` would swallow the name. The parser
 * can't express that, so a bare `--wait` gets an empty value here.
 */
export function spellOutWait(argv: readonly string[]): string[] {
  const end = argv.indexOf('--');
  return argv.map((argument, i) => (argument === '--wait' && (end === -1 || i < end) ? '--wait=' : argument));
}
