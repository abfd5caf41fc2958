import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PlanSummary } from '../../../workflows/contracts/template.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { Rig } from '../../support/rig.ts';

let rig: Rig;
let ova: BuiltOva;
before(async () => {
  rig = await Rig.start();
  ova = await (await rig.scenario()).ova();
});
after(() => rig.stop());

const importAndSwap = ['import', 'finalize', 'swap', 'destroyRollback'];

/** Every combination of the three names, prod old, temp ready, rollback good. */
const combinations: readonly { readonly there: string; readonly plan: PlanSummary }[] = [
  { there: '', plan: { row: '0', actions: [], problem: 'PROD_MISSING' } },
  { there: 'rollback', plan: { row: '1', actions: ['restore'] } },
  { there: 'temp', plan: { row: '2a', actions: ['promote'] } },
  { there: 'temp rollback', plan: { row: '3a', actions: ['promote', 'destroyRollback'] } },
  { there: 'prod', plan: { row: '4b', actions: importAndSwap } },
  { there: 'prod rollback', plan: { row: '5b', actions: ['destroyRollback', ...importAndSwap] } },
  { there: 'prod temp', plan: { row: '6b', actions: ['finalize', 'swap', 'destroyRollback'] } },
  {
    there: 'prod temp rollback',
    plan: { row: '7b', actions: ['destroyRollback', 'finalize', 'swap', 'destroyRollback'] },
  },
];

for (const { there, plan } of combinations) {
  test(`template/45 a dry run with ${there === '' ? 'nothing' : there} there tells row ${plan.row} and changes nothing`, async () => {
    const scenario = await rig.scenario();
    const { names } = scenario;
    if (there.includes('prod')) await scenario.template(names.prod, '416.94.1');
    if (there.includes('temp'))
      await scenario.template(names.temp, '417.94.2', scenario.marker('417.94.2', ova.sha256, 'ready'));
    if (there.includes('rollback'))
      await scenario.template(names.rollback, '415.92.0', scenario.marker('415.92.0', '', 'ready'));
    const before = await scenario.inventory();

    const swap = await scenario.start({ ova, options: { dryRun: true } });
    const result = await swap.result();
    assert.equal(result.outcome, 'planned');
    assert.deepEqual(result.plan, plan);
    assert.match((await swap.status()).message, new RegExp(`^row ${plan.row}: `));
    assert.deepEqual(rig.proxy.mutating(), []);
    assert.deepEqual(await scenario.inventory(), before);
  });
}
