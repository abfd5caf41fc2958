import { Command, CommanderError } from 'commander';
import { refuseSecrets, spellOutWait } from './argv-guard.ts';
import type { Register, Run } from './commands/command.ts';
import { toCliError, usageError, type CliError } from './errors.ts';
import { describeExits, exitCodes, type ExitCode, type ExitName } from './exit-codes.ts';
import { addGlobalFlags, outputFormats, type GlobalFlags } from './global-flags.ts';
import { createPaint, wantsColor } from './output/colors.ts';
import { formatError } from './output/error.ts';
import type { Runtime } from './runtime.ts';
import { Session } from './session.ts';

const firstDay = `
On a first day:
  vmflow doctor                                    is everything there and reachable?
  vmflow vm list                                   VMs of the cluster; stop, start, restart, move VM act on them
  vmflow op list                                   what is done to them; op watch follows one
  vmflow template update rhel9-base --ova FILE     bring a new version of a template; template list shows all
  vmflow open template rhel9-base                  the same in the browser`;

/** Runs one command line and answers its exit code. Everything is written through the runtime. */
export async function run(argv: readonly string[], nouns: readonly Register[], runtime: Runtime): Promise<ExitCode> {
  try {
    refuseSecrets(argv);
    return await dispatch(spellOutWait(versionAsCommand(argv)), nouns, runtime);
  } catch (thrown) {
    const error = toCliError(thrown);
    const color = choiceIn(argv, ['--color'], ['auto', 'always', 'never']) ?? 'auto';
    const output = choiceIn(argv, ['-o', '--output'], outputFormats) ?? 'table';
    const paint = createPaint(wantsColor(color, runtime.env, runtime.stderr.isTTY));
    runtime.stderr.write(formatError(error, output, paint, argv.includes('--debug')));
    return error.exit;
  }
}

/** `--version` is a command, because `template update --version` is a flag of its own. */
function versionAsCommand(argv: readonly string[]): readonly string[] {
  return argv[0] === '--version' || argv[0] === '-V' ? ['version', ...argv.slice(1)] : argv;
}

async function dispatch(argv: readonly string[], nouns: readonly Register[], runtime: Runtime): Promise<ExitCode> {
  let exit: ExitCode = exitCodes.ok.code;
  const runAction: Run = (load) =>
    async function (this: Command) {
      const session = new Session(runtime, this.optsWithGlobals<GlobalFlags>());
      exit = await runtime.trace(nameOf(this), async () => {
        try {
          const action = await load();
          return await action(session, this.args, this.opts());
        } finally {
          await session.close();
        }
      });
    };
  const help: string[] = [];
  const program = createProgram(nouns, runAction, runtime, (text) => help.push(text));
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.help') runtime.stdout.write(help.join(''));
    else if (error.exitCode !== 0) throw asUsageError(error);
  }
  return exit;
}

/** `template update`: the words of a command without its arguments. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent == null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

function asUsageError(error: CommanderError): CliError {
  const [message = error.message, ...hints] = error.message.replace(/^error: /, '').split('\n');
  return usageError(message, hints.length === 0 ? 'add --help for the flags and an example' : hints.join(' '));
}

/** The whole command tree; completion reads it too. `showHelp` gets the help of a noun that was called without a verb. */
export function createProgram(
  nouns: readonly Register[],
  run: Run,
  runtime: Runtime,
  showHelp: (text: string) => void,
): Command {
  const program = new Command('vmflow')
    .description('Durable operations on virtual machines: start them, follow them, decide their conflicts.')
    .configureHelp({ visibleOptions: (command) => command.options.filter((option) => !option.hidden) })
    .configureOutput({
      writeOut: (text) => runtime.stdout.write(text),
      writeErr: showHelp,
      outputError: () => undefined,
      getOutHelpWidth: () => runtime.stdout.columns ?? 100,
      getErrHelpWidth: () => runtime.stdout.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride()
    .helpCommand(false)
    .addHelpText('after', `${firstDay}\n\nExit codes:\n${describeExits(Object.keys(exitCodes) as ExitName[])}`);
  addGlobalFlags(program);
  for (const register of nouns) register(program, run);
  return program;
}

/** The value of a flag even when the command line can't be parsed. */
function choiceIn<T extends string>(
  argv: readonly string[],
  flags: readonly string[],
  choices: readonly T[],
): T | undefined {
  for (const [i, argument] of argv.entries()) {
    const flag = flags.find((name) => argument === name || argument.startsWith(`${name}=`));
    const value = argument === flag ? argv[i + 1] : argument.slice((flag?.length ?? 0) + 1);
    const choice = flag === undefined ? undefined : choices.find((candidate) => candidate === value);
    if (choice !== undefined) return choice;
  }
  return undefined;
}
