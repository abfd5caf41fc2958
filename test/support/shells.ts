import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What a shell makes of a line when somebody presses Tab after it: the words that it offers for the last one. */
export interface CompletingShell {
  readonly name: 'bash' | 'zsh' | 'fish';
  /** Debian packages without which it can't be asked. */
  readonly packages: readonly string[];
  offers(script: string, line: string, env: Readonly<Record<string, string>>): Promise<string[]>;
}

/** As readline calls a completion function; what it could only say within one goes to standard error. */
const askBash = `
source /usr/share/bash-completion/bash_completion
source "$1"
read -ra COMP_WORDS <<<"$2"
case $2 in *' ') COMP_WORDS+=('') ;; esac
COMP_LINE=$2 COMP_POINT=\${#2} COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) COMPREPLY=()
$(complete -p vmflow | sed 's/.* -F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "\${COMPREPLY[@]}"`;

const askFish = `
source $argv[1]
complete --do-complete $argv[2] | string split --fields 1 \\t`;

/**
 * Its completion runs in its line editor only, and that on a terminal only. Ctrl-X writes the line as it then is to a file; what the terminal
 * shows is read, or the shell would stop, and thrown away.
 */
const askZsh = `
zmodload zsh/zpty
out=$(mktemp)
zpty shell zsh -f -i
zpty -w shell "autoload -Uz compinit; compinit -u -D; source $1"
zpty -w shell 'tell() { print -r -- "$BUFFER" >| '$out'; BUFFER=exit; zle accept-line }; zle -N tell; bindkey "^X" tell; bindkey "^I" complete-word'
zpty -w -n shell "$2"$'\\t\\x18'
while zpty -r shell shown; do :; done
line=$(<$out)
rm $out
print -r -- \${\${(z)line}[-1]}`;

function asking(command: string, ...options: readonly string[]): CompletingShell['offers'] {
  return async (script, line, env) => {
    const { stdout } = await run(command, [...options, script, line], { env, timeout: 60_000 });
    return stdout.split('\n').filter((word) => word !== '');
  };
}

export const completingShells: readonly CompletingShell[] = [
  { name: 'bash', packages: ['bash', 'bash-completion'], offers: asking('bash', '--norc', '-c', askBash, 'ask') },
  { name: 'zsh', packages: ['zsh'], offers: asking('zsh', '-f', '-c', askZsh, 'ask') },
  { name: 'fish', packages: ['fish'], offers: asking('fish', '--no-config', '-c', askFish) },
];
