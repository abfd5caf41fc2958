import { metricMeter, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { longestAttribute, searchKeys } from '../contracts/attributes.ts';
import { cutToBytes } from '../domain/text.ts';

type Published = Partial<Record<keyof typeof searchKeys, string | number | boolean | Date | null>>;

/** Made where it is used: modules are evaluated outside of workflows. */
const entered = (): ReturnType<typeof metricMeter.createCounter> =>
  metricMeter.createCounter('vmflow_operation_entered', '1', 'Operations that came into a status');

/** Of the workflow that this runs in, as lists show it. One without a kind is called by its type. */
export function kindAndStatus(): { readonly kind: string; readonly status?: string } {
  const { typedSearchAttributes: known, workflowType } = workflowInfo();
  const status = known.get(searchKeys.status);
  return { kind: known.get(searchKeys.kind) ?? workflowType, ...(status === undefined ? {} : { status }) };
}

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
    const before = kindAndStatus();
    upsertSearchAttributes(pairs as Parameters<typeof upsertSearchAttributes>[0]);
    const { kind, status } = kindAndStatus();
    // A run that goes on from another one publishes anew what was known.
    if (status !== undefined && status !== before.status) entered().add(1, { kind, status });
  }

  #isNews(name: string, value: unknown): boolean {
    const comparable = value instanceof Date ? value.getTime() : (value ?? null);
    if ((this.#last.get(name) ?? null) === comparable) return false;
    this.#last.set(name, comparable);
    return true;
  }
}
