import { readFile, unlink, writeFile } from 'node:fs/promises';

/** A lock that nobody has changed for so long has an owner who is dead. Longer than any call to Temporal may take. Milliseconds. */
const patienceMs = 60_000;

/**
 * One writer of a file among processes that share it: `<file>.lock` names the owner, who changes it at each look. Whoever takes it from
 * a dead one writes only from its next look on, when another who took it in the same moment would have been seen. No clocks are compared.
 */
export class FileLease {
  readonly #path: string;
  readonly #owner: string;
  #beats = 0;
  readonly #patienceMs: number;
  #other: { readonly text: string; readonly since: number } | undefined;

  constructor(file: string, owner: string, patience = patienceMs) {
    this.#patienceMs = patience;
    this.#path = `${file}.lock`;
    this.#owner = owner;
  }

  /** Whether the file may be written now. To be asked again before each write. */
  async hold(): Promise<boolean> {
    const text = await this.#read();
    if (text === undefined) return await this.#create();
    if (text.startsWith(`${this.#owner} `)) {
      this.#other = undefined;
      await this.#beat('w');
      return true;
    }
    if (this.#other?.text !== text) this.#other = { text, since: performance.now() };
    else if (performance.now() - this.#other.since >= this.#patienceMs) await this.#beat('w');
    return false;
  }

  /** Lets the next one in at once. */
  async release(): Promise<void> {
    if ((await this.#read())?.startsWith(`${this.#owner} `) === true) await unlink(this.#path);
  }

  async #create(): Promise<boolean> {
    try {
      await this.#beat('wx');
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    }
  }

  async #beat(flag: 'w' | 'wx'): Promise<void> {
    this.#beats += 1;
    await writeFile(this.#path, `${this.#owner} ${String(this.#beats)}\n`, { flag });
  }

  async #read(): Promise<string | undefined> {
    try {
      return await readFile(this.#path, 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
