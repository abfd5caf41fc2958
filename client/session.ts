import type { Gateway } from './gateway.ts';
import type { GlobalFlags } from './global-flags.ts';
import { hyperlink, knowsHyperlinks, workflowLink } from './links.ts';
import { createPaint, wantsColor, type Paint } from './output/colors.ts';
import { formatResult, type Result } from './output/result.ts';
import type { Runtime } from './runtime.ts';
import { traced } from './trace.ts';
import { profileReader, resolveSettings, type Settings } from './settings.ts';

/** One call of the command line: its flags, where its output goes, and the connection once it is needed. */
export class Session {
  readonly runtime: Runtime;
  readonly flags: GlobalFlags;
  /** Colour for the result and for everything else. */
  readonly paint: Paint;
  readonly paintErr: Paint;
  #settings: Promise<Settings> | undefined;
  #gateway: Promise<Gateway> | undefined;

  constructor(runtime: Runtime, flags: GlobalFlags) {
    this.runtime = runtime;
    this.flags = flags;
    this.paint = createPaint(wantsColor(flags.color, runtime.env, runtime.stdout.isTTY));
    this.paintErr = createPaint(wantsColor(flags.color, runtime.env, runtime.stderr.isTTY));
  }

  /** True when the result is meant for a program: nothing but one valid document may go to standard output. */
  get isMachineReadable(): boolean {
    return !['table', 'wide'].includes(this.flags.output);
  }

  settings(): Promise<Settings> {
    this.#settings ??= resolveSettings(this.flags, this.runtime.env, profileReader(this.runtime.env));
    return this.#settings;
  }

  gateway(): Promise<Gateway> {
    this.#gateway ??= this.#connect();
    return this.#gateway;
  }

  async #connect(): Promise<Gateway> {
    const gateway = await this.runtime.connect(await this.settings());
    const { verbose, debug } = this.flags;
    if (verbose !== true && debug !== true) return gateway;
    const write = (line: string): void => this.runtime.stderr.write(`${line}\n`);
    return traced(gateway, { write, now: this.runtime.now, withTimes: debug === true });
  }

  async close(): Promise<void> {
    const gateway = await this.#gateway?.catch(() => undefined);
    await gateway?.close();
  }

  /** Prints the result on standard output. */
  async print<Row>(result: Result<Row>): Promise<void> {
    const text = await formatResult(result, {
      output: this.flags.output,
      quiet: this.flags.quiet === true,
      headers: this.flags.headers,
      columns: this.flags.columns,
      width: this.runtime.stdout.isTTY ? this.runtime.stdout.columns : undefined,
      paintHeader: (header) => this.paint.bold(header),
    });
    this.runtime.stdout.write(text);
  }

  /** One line for the person, on standard error. Silent with `--quiet`. */
  note(line: string): void {
    if (this.flags.quiet !== true) this.runtime.stderr.write(`${line}\n`);
  }

  /** Web UI address of an execution. */
  async link(workflowId: string, runId?: string): Promise<string> {
    const settings = await this.settings();
    return workflowLink(settings.ui.value, settings.namespace.value, workflowId, runId);
  }

  /** The link as people see it: clickable where the terminal can. */
  showLink(url: string): string {
    return this.runtime.stdout.isTTY && knowsHyperlinks(this.runtime.env) ? hyperlink(url) : url;
  }
}
