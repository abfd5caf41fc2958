import type { DiskRecord, InstanceRecord, NicRecord, PlacementRule } from '../../workflows/domain/batch/records.ts';
import { ChoiceError, chooseNetwork, choosePool, chooseProject, chooseTarget, type Choice } from './choice.ts';
import type { Chosen } from './chosen.ts';
import { compileExpression, ExpressionError, type Subject, type Subjects } from './expression/expression.ts';
import { PlacementError } from './placement-error.ts';

/** An instance that rules look at, the overrides of its batch applied. */
export interface RuleContext {
  readonly instance: InstanceRecord;
  readonly now: Date;
}

/** What the rules choose, in their order. Fails with `PlacementError`. */
export function chooseByRules(rules: readonly PlacementRule[], context: RuleContext): readonly Chosen[] {
  return rules.flatMap((rule, i) => new RuleTurn(rule, i, context).choices());
}

/** One rule at one instance. */
class RuleTurn {
  readonly #rule: PlacementRule;
  readonly #context: RuleContext;
  readonly #path: string;
  readonly #title: string;

  constructor(rule: PlacementRule, index: number, context: RuleContext) {
    this.#rule = rule;
    this.#context = context;
    this.#path = `placement_rules[${index}]`;
    this.#title = `placement rule ${index + 1}`;
  }

  choices(): readonly Chosen[] {
    const { when, set } = this.#rule;
    const { instance } = this.#context;
    if (!this.#holds('when', when, 'instance', instance)) return [];
    const { target, project } = set;
    return [
      ...(target === undefined ? [] : [this.#choose('set.target', () => chooseTarget(target))]),
      ...(project === undefined ? [] : [this.#choose('set.project', () => chooseProject(project))]),
      ...instance.disks.filter(({ supported }) => supported).flatMap((disk) => this.#pools(disk)),
      ...instance.nics.flatMap((nic) => this.#networks(nic)),
    ];
  }

  #pools(disk: DiskRecord): readonly Chosen[] {
    const { default: usual, by_disk = [] } = this.#rule.set.pool ?? {};
    const pool = (path: string, name: string, which: string): Chosen =>
      this.#choose(path, () => choosePool(this.#context.instance, disk.name, name), which);
    return [
      ...(usual === undefined ? [] : [pool('set.pool.default', usual, ', for all disks')]),
      ...by_disk.flatMap(({ when_disk, pool: name }, i) => {
        const path = `set.pool.by_disk[${i}]`;
        return this.#holds(`${path}.when_disk`, when_disk, 'disk', disk)
          ? [pool(`${path}.pool`, name, `, where ${when_disk}`)]
          : [];
      }),
    ];
  }

  #networks(nic: NicRecord): readonly Chosen[] {
    return (this.#rule.set.network ?? []).flatMap(({ when_nic, network, nictype = '', vlan_id = '' }, i) => {
      const path = `set.network[${i}]`;
      if (!this.#holds(`${path}.when_nic`, when_nic, 'nic', nic)) return [];
      const choose = (): Choice =>
        chooseNetwork(this.#context.instance, nic.hardware_address, { network, nictype, vlan_id });
      return [this.#choose(path, choose, `, where ${when_nic}`)];
    });
  }

  #holds<S extends Subject>(path: string, text: string, subject: S, record: Subjects[S]): boolean {
    try {
      return compileExpression(text, subject).evaluate(record, { now: this.#context.now });
    } catch (err) {
      throw err instanceof ExpressionError ? this.#failure(path, err) : err;
    }
  }

  #choose(path: string, choose: () => Choice, which = ''): Chosen {
    try {
      return { choice: choose(), why: `${this.#title}${which}` };
    } catch (err) {
      throw err instanceof ChoiceError ? this.#failure(path, err) : err;
    }
  }

  #failure(path: string, cause: Error): PlacementError {
    return new PlacementError(`${this.#path}.${path}: ${cause.message}`, { cause });
  }
}
