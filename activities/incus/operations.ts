import { z } from 'zod';
import type { Call } from './call.ts';
import { operationFailure } from './classify.ts';
import { pathOf, type Change, type IncusClient } from './client.ts';

/** Waits are cut into slices, so that a dead connection is noticed. */
const slice = { seconds: 10, graceMs: 15_000 } as const;

const operation = z.object({
  id: z.string(),
  status_code: z.number(),
  err: z.string().default(''),
  resources: z.record(z.string(), z.array(z.string()).nullable()).nullish(),
});

type Operation = z.infer<typeof operation>;

/** From 200 on an operation is over: 200 success, 400 failure, 401 cancelled. */
const isOver = ({ status_code }: Operation): boolean => status_code >= 200;

/** What the server does in the background. */
export class Operations {
  readonly #client: IncusClient;

  constructor(client: IncusClient) {
    this.#client = client;
  }

  /** Makes a change and waits for its end, whether the server makes it at once or in the background. */
  async run(change: Change, call: Call): Promise<void> {
    const id = await this.#client.change(change, call);
    if (id === undefined) return;
    call.onOperation(id);
    const ended = await this.#end(id, call);
    if (ended !== undefined && ended.status_code !== 200) throw operationFailure(ended.err, call);
  }

  /** Lets the operation of an earlier attempt end. How it ended shows in the object. */
  async resume(call: Call): Promise<void> {
    if (call.operationId === undefined) return;
    call.onOperation(call.operationId);
    await this.#end(call.operationId, call);
  }

  /** Lets everything end that the server does with an instance: its state before that says nothing. */
  async settle(project: string, name: string, call: Call): Promise<void> {
    const path = pathOf(['operations'], { recursion: '1', project });
    const groups = await this.#client.read(z.record(z.string(), z.array(operation).nullable()), path, call);
    const all = Object.values(groups?.value ?? {}).flatMap((group) => group ?? []);
    for (const { id } of all.filter((known) => !isOver(known) && isAbout(known, name))) await this.#end(id, call);
  }

  /** Undefined: the server knows it no more; it ended, or the server was restarted. */
  async #end(id: string, call: Call): Promise<Operation | undefined> {
    for (;;) {
      call.check();
      const seconds = Math.max(1, Math.min(slice.seconds, Math.ceil(call.remainingMs() / 1_000)));
      const path = pathOf(['operations', id, 'wait'], { timeout: String(seconds) });
      const found = await this.#client.read(operation, path, call, seconds * 1_000 + slice.graceMs);
      if (found === undefined || isOver(found.value)) return found?.value;
    }
  }
}

function isAbout({ resources }: Operation, name: string): boolean {
  const urls = Object.values(resources ?? {}).flatMap((list) => list ?? []);
  return urls.some((url) => nameOf(url, 'instances') === name || nameOf(url, 'virtual-machines') === name);
}

/** Name in a URL such as `/1.0/instances/web?project=p2`; undefined: it is of something else. */
export function nameOf(url: string, kind: string): string | undefined {
  const [, version, found, name] = (url.split('?')[0] ?? '').split('/');
  return version === '1.0' && found === kind && name !== undefined ? decodeURIComponent(name) : undefined;
}
