import {
  newQuickJSWASMModule,
  Scope,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSWASMModule,
  type VmCallResult,
} from 'quickjs-emscripten';
import { ChoiceError } from '../choice.ts';
import { stopwatch } from '../stopwatch.ts';
import { HostFunctions, unreadable, type Argument, type HostFunction } from './host-functions.ts';
import { limits } from './limits.ts';
import { prelude } from './prelude.ts';
import { ProgramError } from './program-error.ts';
import type { ProgramCall, ProgramProblem, ProgramResult } from './protocol.ts';

/** Name of the program's text in traces. */
const fileName = 'placement.js';

const memoryText = `${limits.memoryBytes / 2 ** 20} MiB`;

/** QuickJS in WebAssembly. */
export interface Interpreter {
  /**
   * Runs a program in a world of its own. Fails with `ProgramError` for what is the program's fault; after any other error the
   * interpreter can't be used any more.
   */
  run(call: ProgramCall): ProgramResult;
}

export async function loadInterpreter(): Promise<Interpreter> {
  const module = await newQuickJSWASMModule();
  return { run: (call) => runIn(module, call) };
}

function runIn(module: QuickJSWASMModule, { source, input }: ProgramCall): ProgramResult {
  return Scope.withScope((scope) => {
    const runtime = scope.manage(module.newRuntime());
    runtime.setMemoryLimit(limits.memoryBytes);
    runtime.setMaxStackSize(limits.stackBytes);
    const vm = scope.manage(runtime.newContext());
    const world = new World(vm, scope);
    const host = new HostFunctions(input?.placeable ?? { disks: [], nics: [] });
    const parse = world.prepare(host.all);
    const args = (input?.args ?? []).map((json) => world.call(parse, vm.newString(json)));
    const spentMs = stopwatch();
    runtime.setInterruptHandler(() => spentMs() > limits.timeMs);
    const placement = world.load(source);
    if (input !== undefined) world.place(placement, args);
    return host.result;
  });
}

class World {
  readonly #vm: QuickJSContext;
  readonly #scope: Scope;

  constructor(vm: QuickJSContext, scope: Scope) {
    this.#vm = vm;
    this.#scope = scope;
  }

  /** Gives the function that makes frozen values of JSON. */
  prepare(functions: Readonly<Record<string, HostFunction>>): QuickJSHandle {
    for (const [name, run] of Object.entries(functions)) {
      const handle = this.#scope.manage(this.#vm.newFunction(name, (...args) => this.#host(run, args)));
      this.#vm.setProp(this.#vm.global, name, handle);
    }
    return this.#evaluate(prelude(Object.keys(functions)), 'prelude.js');
  }

  call(called: QuickJSHandle, ...args: readonly QuickJSHandle[]): QuickJSHandle {
    for (const arg of args) this.#scope.manage(arg);
    return this.#value(this.#vm.callFunction(called, this.#vm.undefined, [...args]));
  }

  /** Runs the program and gives its function `placement`. */
  load(source: string): QuickJSHandle {
    this.#evaluate(source, fileName);
    const found = this.#evaluate("typeof placement === 'function' ? placement : undefined", 'lookup.js');
    if (this.#vm.typeof(found) === 'function') return found;
    throw new ProgramError({ message: 'there is no function placement(instance, batch, networks)' });
  }

  place(placement: QuickJSHandle, args: readonly QuickJSHandle[]): void {
    const type = this.#vm.typeof(this.#value(this.#vm.callFunction(placement, this.#vm.undefined, [...args])));
    if (type !== 'object' && type !== 'function') return;
    // A promise is an object too; nobody would wait for it.
    const message =
      'placement() returned an object, and must not: it says what it wants with set_target(…) and the others';
    throw new ProgramError({ message: `${message}, and can't be async` });
  }

  #evaluate(code: string, file: string): QuickJSHandle {
    return this.#value(this.#vm.evalCode(code, file, { type: 'global', strict: true }));
  }

  #value(result: VmCallResult<QuickJSHandle>): QuickJSHandle {
    if (result.error === undefined) return this.#scope.manage(result.value);
    throw new ProgramError(this.#problem(this.#scope.manage(result.error)));
  }

  #host(run: HostFunction, args: readonly QuickJSHandle[]): VmCallResult<QuickJSHandle> {
    try {
      run(...args.map((arg) => this.#argument(arg)));
      return { value: this.#vm.undefined };
    } catch (err) {
      if (!(err instanceof ChoiceError)) throw err;
      return { error: this.#vm.newError(err.message) };
    }
  }

  #argument(handle: QuickJSHandle): Argument {
    switch (this.#vm.typeof(handle)) {
      case 'string':
        return this.#vm.getString(handle);
      case 'number':
        return this.#vm.getNumber(handle);
      case 'boolean':
        return this.#vm.sameValue(handle, this.#vm.true);
      case 'undefined':
        return undefined;
      default:
        return this.#vm.sameValue(handle, this.#vm.null) ? null : unreadable;
    }
  }

  /** Reads what was thrown by its name and message alone: the program may have thrown anything. */
  #problem(thrown: QuickJSHandle): ProgramProblem {
    const plain = this.#argument(thrown);
    // Also when there is no memory left for an error.
    if (plain === null) return { message: `it threw null, or needs more than ${memoryText} of memory` };
    if (plain !== unreadable) return { message: `it threw ${String(plain)}`.slice(0, limits.messageCharacters) };
    const [name = 'Error', message = '', stack = ''] = ['name', 'message', 'stack'].map((key) =>
      this.#text(thrown, key),
    );
    const [, line, column] = new RegExp(`${fileName}:(\\d+)(?::(\\d+))?`).exec(stack) ?? [];
    return {
      message: words(name, message).slice(0, limits.messageCharacters),
      ...(line === undefined ? {} : { line: Number(line) }),
      ...(column === undefined ? {} : { column: Number(column) }),
    };
  }

  /** A property that is a text. Getters run under the same limits, and what they throw is nothing. */
  #text(object: QuickJSHandle, key: string): string | undefined {
    const value = this.#scope.manage(this.#vm.getProp(object, key));
    return this.#vm.typeof(value) === 'string' ? this.#vm.getString(value) : undefined;
  }
}

function words(name: string, message: string): string {
  switch (message) {
    case 'interrupted':
      return `it took longer than ${limits.timeMs} ms`;
    case 'out of memory':
      return `it needs more than ${memoryText} of memory`;
    case '':
      return `it threw an ${name} that says nothing`;
    default:
      return name === 'Error' ? message : `${name}: ${message}`;
  }
}
