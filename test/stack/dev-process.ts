import { waitFor } from '../support/wait-for.ts';
import { startProcess, type SupervisedProcess } from './processes.ts';
// What it starts is found or built before, as for every test of these parts.
import './stack.ts';

/** `npm run dev` as a process of its own, and what it says of itself. */
export interface DevProcess {
  /** Address of the Web UI, without a path. */
  readonly uiUrl: string;
  readonly temporalAddress: string;
  readonly namespace: string;
  /** What its `alias` makes of `vmflow`. */
  readonly alias: string;
  /** Paths by the last part of their name: OVAs and the batch file. */
  readonly files: Readonly<Record<string, string>>;
  /** All that it has said. */
  readonly printed: string;
  isRunning(): boolean;
  /** Ctrl-C; resolves when all of it has ended. */
  interrupt(): Promise<void>;
}

/** Starts it in a directory of the project; resolves when it says that everything is up. */
export async function startDev(directory: string): Promise<DevProcess> {
  const lines: string[] = [];
  const child = await startProcess({
    name: 'npm run dev',
    // A process group, as a terminal makes one: Ctrl-C goes to all of it.
    command: 'setsid',
    args: ['npm', 'run', 'dev'],
    cwd: directory,
    onLine: (line) => lines.push(line),
    ready: (line) => line.startsWith('Ctrl-C ends'),
    readyWithinMs: 240_000,
  });
  try {
    return { ...read(lines.join('\n')), ...ending(child) };
  } catch (error) {
    await ending(child).interrupt();
    throw error;
  }
}

function read(printed: string): Omit<DevProcess, 'isRunning' | 'interrupt'> {
  const find = (pattern: RegExp): string => {
    const found = pattern.exec(printed)?.[1];
    if (found === undefined) throw new Error(`npm run dev did not print ${pattern.source}:\n${printed}`);
    return found;
  };
  const paths = [...printed.matchAll(/^ +(?:\w+ +)?(\/\S+\/([\w.-]+))(?=:|$)/gm)];
  return {
    uiUrl: find(/Web UI +(\S+)\/namespaces\//),
    temporalAddress: find(/Temporal +(\S+), namespace/),
    namespace: find(/, namespace (\S+)/),
    alias: find(/alias vmflow='(.+)'$/m),
    files: Object.fromEntries(paths.map(([, path = '', name = '']) => [name, path])),
    printed,
  };
}

function ending(child: SupervisedProcess): Pick<DevProcess, 'isRunning' | 'interrupt'> {
  return {
    isRunning: () => child.isRunning(),
    async interrupt() {
      if (child.isRunning()) process.kill(-child.pid, 'SIGINT');
      // npm ends at once, what it has started a little later.
      await waitFor('npm run dev and its children to end', () => !isThere(-child.pid));
    },
  };
}

/** Whether there is such a process, or for a negative number one of the group. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
