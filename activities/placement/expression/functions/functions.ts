import type { FunctionRule } from './function-rule.ts';
import { inventoryFunctions } from './inventory-functions.ts';
import { listFunctions } from './list-functions.ts';
import { numberFunctions } from './number-functions.ts';
import { textFunctions } from './text-functions.ts';
import { timeFunctions } from './time-functions.ts';

const all: Readonly<Record<string, FunctionRule>> = {
  ...textFunctions,
  ...listFunctions,
  ...numberFunctions,
  ...timeFunctions,
  ...inventoryFunctions,
};

export function functionNamed(name: string): FunctionRule | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined;
}

export const functionNames: readonly string[] = Object.keys(all);
