import { upsertSearchAttributes } from '@temporalio/workflow';
import { longestAttribute, searchKeys } from '../contracts/attributes.ts';
import { cutToBytes } from '../domain/text.ts';

type Published = Partial<Record<keyof typeof searchKeys, string | number | boolean | Date | null>>;

/** Publishes search attributes, one event for all that changed and none when nothing did. `null` removes one. */
export class Publisher {
  readonly #last = new Map<string, unknown>();

  publish(values: Published): void {
    const changed = Object.entries(values)
      .map(([name, value]): [string, typeof value] => [
        name,
        typeof value === 'string' ? cutToBytes(value, longestAttribute) : value,
      ])
      .filter(([name, value]) => this.#isNews(name, value));
    if (changed.length === 0) return;
    const pairs = changed.map(([name, value]) => ({ key: searchKeys[name as keyof typeof searchKeys], value }));
    upsertSearchAttributes(pairs as Parameters<typeof upsertSearchAttributes>[0]);
  }

  #isNews(name: string, value: unknown): boolean {
    const comparable = value instanceof Date ? value.getTime() : (value ?? null);
    if ((this.#last.get(name) ?? null) === comparable) return false;
    this.#last.set(name, comparable);
    return true;
  }
}
