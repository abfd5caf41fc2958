import type { Command } from 'commander';
import type { ColorMode } from './output/colors.ts';
import type { TimeStyle } from './output/units.ts';
import { usageError } from './errors.ts';

export const outputFormats = ['table', 'wide', 'json', 'jsonl', 'yaml', 'name'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Flags that every command takes, before or after its name. */
export interface GlobalFlags {
  readonly output: OutputFormat;
  readonly columns?: string;
  readonly headers: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly debug?: boolean;
  readonly color: ColorMode;
  readonly time: TimeStyle;
  readonly profile?: string;
  readonly address?: string;
  readonly namespace?: string;
  readonly configFile?: string;
  readonly ui?: string;
  readonly taskQueue?: string;
  readonly ackTimeout?: string;
}

const colorModes = ['auto', 'always', 'never'] as const;
const timeStyles = ['relative', 'iso'] as const;

export function addGlobalFlags(program: Command): void {
  const choice =
    (flag: string, choices: readonly string[]) =>
    (value: string): string => {
      if (!choices.includes(value)) throw usageError(`${flag} ${value}: not one of ${choices.join(', ')}`);
      return value;
    };
  program
    .option(
      '-o, --output <format>',
      `how to print: ${outputFormats.join(', ')}`,
      choice('--output', outputFormats),
      'table',
    )
    .option('--columns <a,b>', 'columns of the table, by header')
    .option('--no-headers', 'leave out the header row')
    .option('-q, --quiet', 'print ids only')
    .option('-v, --verbose', 'say what is asked of Temporal')
    .option('--debug', 'the same with times, and the stack of an error')
    .option(
      '--color <when>',
      `colour: ${colorModes.join(', ')} (also NO_COLOR, FORCE_COLOR)`,
      choice('--color', colorModes),
      'auto',
    )
    .option('--time <style>', `times in tables: ${timeStyles.join(', ')}`, choice('--time', timeStyles), 'relative')
    .option('--profile <name>', "profile of Temporal's configuration file")
    .option('--address <host:port>', 'Temporal server (default localhost:7233)')
    .option('--namespace <name>', 'Temporal namespace (default vmflow)')
    .option('--config-file <path>', "Temporal's configuration file")
    .option('--ui <url>', 'base of the Web UI for links (VMFLOW_UI_URL, default http://localhost:8233)')
    .option('--task-queue <name>', 'queue of the workers (VMFLOW_TASK_QUEUE, default vmflow)')
    .option('--ack-timeout <duration>', 'wait this long for the first reaction of a worker (default 10s)');
}
