import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { ProgramError } from '../../../activities/placement/program/program-error.ts';
import { ProgramRunner } from '../../../activities/placement/program/program-runner.ts';
import type { ProgramInput, ProgramResult } from '../../../activities/placement/program/protocol.ts';

const runner = new ProgramRunner();
after(() => runner.close());

const input: ProgramInput = {
  placeable: {
    disks: [
      { name: '[ds1] web/web.vmdk', supported: true },
      { name: '[ds1] web/raw.vmdk', supported: false },
    ],
    nics: [{ hardware_address: '00:50:56:00:00:aa' }],
  },
  args: [
    JSON.stringify({ name: 'web', cpus: 2, disks: [{ name: '[ds1] web/web.vmdk' }], config: { 'tag.a': 'b' } }),
    JSON.stringify({ name: 'b1' }),
    '[]',
  ],
};

const run = (source: string): Promise<ProgramResult> => runner.run({ source, input });
const place = (body: string): Promise<ProgramResult> =>
  run(`function placement(instance, batch, networks) {\n${body}\n}`);

async function failsWith(running: Promise<unknown>, message: RegExp): Promise<ProgramError> {
  const err = await running.then(
    (result) => assert.fail(`it gave ${JSON.stringify(result)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(err instanceof ProgramError, String(err));
  assert.match(err.message, message);
  return err;
}

suite('a placement program', () => {
  test('says where the VM goes', async () => {
    const { choices, log } = await place(`
      set_target('t1');
      if (instance.cpus > 1) set_project('big');
      for (const disk of instance.disks) set_pool(disk.name, 'fast');
      set_network('00:50:56:00:00:AA', 'br0', 'bridged', '10,20');
      log_info('placed', instance.name, 'of', batch.name, instance.disks.length, networks);
      log_warn('careful');
      log_error('bad');
    `);
    assert.deepEqual(choices, [
      { kind: 'target', name: 't1' },
      { kind: 'project', name: 'big' },
      { kind: 'pool', disk: '[ds1] web/web.vmdk', pool: 'fast' },
      { kind: 'network', mac: '00:50:56:00:00:aa', network: { network: 'br0', nictype: 'bridged', vlan_id: '10,20' } },
    ]);
    assert.deepEqual(log, [
      { level: 'info', text: 'placed web of b1 1 []' },
      { level: 'warn', text: 'careful' },
      { level: 'error', text: 'bad' },
    ]);
  });

  test('may be any function of that name, and may say nothing', async () => {
    for (const source of ['const placement = () => 5', 'var placement = function () {}', 'function placement() {}'])
      assert.deepEqual(await run(source), { choices: [], log: [] });
  });

  test('the last thing that it says about the same counts, and stands last', async () => {
    const { choices } = await place("set_target('a'); set_project('p'); set_target('b');");
    assert.deepEqual(choices, [
      { kind: 'project', name: 'p' },
      { kind: 'target', name: 'b' },
    ]);
  });

  test('a NIC is managed unless it says otherwise; a VLAN may be a number', async () => {
    const network = async (args: string): Promise<unknown> =>
      (await place(`set_network('00:50:56:00:00:aa', ${args})`)).choices[0];
    const mac = '00:50:56:00:00:aa';
    const managed = { kind: 'network', mac, network: { network: 'n', nictype: 'managed', vlan_id: '' } };
    assert.deepEqual(await network("'n'"), managed);
    assert.deepEqual(await network("'n', '', ''"), managed);
    assert.deepEqual(await network("'n', null, null"), managed);
    const tagged = { network: 'n', nictype: 'physical', vlan_id: '100-200' };
    assert.deepEqual(await network("'n', 'physical', '100-200'"), { kind: 'network', mac, network: tagged });
    const single = { network: 'n', nictype: 'bridged', vlan_id: '10' };
    assert.deepEqual(await network("'n', 'bridged', 10"), { kind: 'network', mac, network: single });
  });

  const refused: readonly (readonly [string, RegExp])[] = [
    ["set_target('')", /name of the target is empty \(line 2/],
    ["set_project('')", /name of the project is empty/],
    ["set_target('a b')", /"a b" can't be the name of a target/],
    ['set_target()', /set_target: name must be a text, it is missing/],
    ['set_target({ toString() { return "t"; } })', /must be a text, it is an object/],
    ['set_target(Object("t"))', /it is an object/],
    ['set_target(5)', /it is 5/],
    ["set_pool('[ds1] nosuch', 'p')", /no disk "\[ds1\] nosuch"; it has "\[ds1\] web\/web\.vmdk"/],
    ["set_pool('[ds1] web/raw.vmdk', 'p')", /is not migrated/],
    ["set_pool('[ds1] web/web.vmdk', '')", /name of the pool is empty/],
    ["set_network('00:00:00:00:00:00', 'n')", /no NIC "00:00:00:00:00:00"; it has "00:50:56:00:00:aa"/],
    ["set_network('00:50:56:00:00:aa', '')", /name of the network is empty/],
    ["set_network('00:50:56:00:00:aa', 'a/b')", /can't be the name of a network/],
    ["set_network('00:50:56:00:00:aa', 'n', 'ovn')", /"ovn" is no type of NIC/],
    ["set_network('00:50:56:00:00:aa', 'n', 'managed', '10')", /only for bridged and physical/],
    ["set_network('00:50:56:00:00:aa', 'n', '', '10')", /only for bridged and physical/],
    ...['0', '10,0', '10,', 'a', '4095', '1.5', '20-10', ' 1'].map(
      (vlan) => [`set_network('00:50:56:00:00:aa', 'n', 'bridged', '${vlan}')`, /is no VLAN/] as const,
    ),
    ["try { set_target('') } catch (err) { throw new TypeError(err.message) }", /TypeError: the name of the target/],
  ];
  for (const [body, message] of refused)
    test(`is told what it did wrong: ${body}`, async () => {
      const { problem } = await failsWith(place(body), message);
      assert.equal(problem.line, 2);
    });

  test('may catch what it did wrong', async () => {
    const { choices } = await place("try { set_pool('nosuch', 'p'); } catch { set_target('t'); }");
    assert.deepEqual(choices, [{ kind: 'target', name: 't' }]);
  });

  test('is refused with its line when it is none', async () => {
    const rows: readonly (readonly [string, RegExp, number | undefined])[] = [
      ['function placement() {\n  let = ;\n}', /SyntaxError/, 2],
      ['function place() {}', /no function placement\(instance, batch, networks\)/, undefined],
      ['const placement = 5;', /no function placement/, undefined],
      ['', /no function placement/, undefined],
      ['function placement() {}\nnull.x;', /TypeError: cannot read property 'x' of null/, 2],
      ['function placement() {}\nthrow new Error("not today")', /^not today/, 2],
      ['for (;;) {}', /took longer than 200 ms/, 1],
      ['export function placement() {}', /SyntaxError/, 1],
      ['import fs from "node:fs"; function placement() {}', /SyntaxError/, 1],
      ['with ({}) {}', /SyntaxError/, 1],
    ];
    for (const [source, message, line] of rows) {
      const problem = await runner.check(source);
      assert.match(problem?.message ?? '', message, source);
      assert.equal(problem?.line, line, source);
    }
    assert.equal(await runner.check('function placement() { nosuch(); }'), undefined);
  });

  test('has 64 KiB, as they are sent', async () => {
    const filled = (bytes: number): string => `function placement() {}//${'x'.repeat(bytes - 25)}`;
    assert.equal(await runner.check(filled(64 * 1024)), undefined);
    assert.match((await runner.check(filled(64 * 1024 + 1)))?.message ?? '', /longer than 64 KiB/);
    assert.match((await runner.check(`//${'é'.repeat(33 * 1024)}`))?.message ?? '', /longer than 64 KiB/);
  });

  test('whatever it throws is told in a few words', async () => {
    await failsWith(place('throw "boo"'), /^it threw boo$/);
    await failsWith(place('throw null'), /^it threw null/);
    await failsWith(place('throw undefined'), /^it threw undefined$/);
    await failsWith(place('throw {}'), /says nothing/);
    await failsWith(place('throw { get message() { throw 1; } }'), /says nothing/);
    await failsWith(place('throw { message: { toString() { return "x"; } } }'), /says nothing/);
    await failsWith(place('throw { get message() { for (;;); } }'), /./);
    await failsWith(place('throw () => 1'), /./);
    const { message } = await failsWith(place('throw new Error("x".repeat(100000))'), /^x+/);
    assert.ok(message.length < 1_100);
  });

  test('gives nothing back, least of all a promise', async () => {
    await failsWith(place('return { target: "t" }'), /returned an object/);
    await failsWith(place('return set_target'), /returned an object/);
    await failsWith(run('async function placement() { set_target("t"); }'), /can't be async/);
    await failsWith(run('function* placement() {}'), /returned an object/);
  });

  test('says 100 lines at most, each cut', async () => {
    const { log } = await place('log_info("x".repeat(5000)); for (let i = 0; i < 200; i += 1) log_info(i);');
    assert.equal(log.length, 100);
    assert.equal(log[0]!.text.length, 1_000);
    assert.deepEqual(log.at(-1), { level: 'warn', text: 'the program says more than this' });
  });
});

suite('a program reaches nothing but its functions', () => {
  test('the names that it has', async () => {
    const { log } = await place('log_info(Object.getOwnPropertyNames(globalThis).sort().join(" "))');
    assert.equal(
      log[0]!.text,
      'AggregateError Array BigInt Boolean Error EvalError Infinity InternalError Iterator JSON Map Math NaN Number Object ' +
        'RangeError ReferenceError RegExp Set String Symbol SyntaxError TypeError URIError decodeURI decodeURIComponent ' +
        'encodeURI encodeURIComponent globalThis isFinite isNaN log_error log_info log_warn parseFloat parseInt placement ' +
        'set_network set_pool set_project set_target undefined',
    );
  });

  const absent = [
    'require',
    'process',
    'fetch',
    'console',
    'setTimeout',
    'Date',
    'eval',
    'Function',
    'Promise',
    'std',
    'os',
  ];
  for (const name of [
    ...absent,
    'WebAssembly',
    'SharedArrayBuffer',
    'Atomics',
    'performance',
    'Math.random',
    'import.meta',
  ])
    test(`there is no ${name}`, async () => {
      if (name === 'import.meta') await failsWith(place('import.meta.url'), /SyntaxError/);
      else assert.deepEqual((await place(`log_info(typeof ${name})`)).log[0]?.text, 'undefined');
    });

  test('no way back to what makes code of texts', async () => {
    const ways = [
      '(() => {}).constructor("return 1")',
      '(async () => {}).constructor("return 1")',
      '(function* () {}).constructor("return 1")',
      '(async function* () {}).constructor("return 1")',
      'set_target.constructor("return 1")',
      'Object.constructor("return 1")',
      'instance.constructor.constructor("return globalThis")',
      'Iterator.prototype.constructor.constructor("return 1")',
      '[].map.constructor("return 1")',
      'Object.getOwnPropertyDescriptor(Object.getPrototypeOf(() => {}), "constructor").value("return 1")',
    ];
    for (const way of ways) await failsWith(place(way), /TypeError/);
    await failsWith(
      place('Object.defineProperty(Object.getPrototypeOf(() => {}), "constructor", { value: 1 })'),
      /TypeError: property is not configurable/,
    );
  });

  test('an import gives nothing', async () => {
    const { log } = await place(`
      import('node:fs').then(() => set_target('stolen'), () => set_target('stolen'));
      import('data:text/javascript,export default 1');
      log_info('still here');
    `);
    assert.deepEqual(log, [{ level: 'info', text: 'still here' }]);
  });

  test('what it is given can not be changed, and is data only', async () => {
    for (const change of [
      'instance.name = 1',
      'instance.disks.push(1)',
      'instance.disks[0].name = 1',
      'batch.x = 1',
      'delete instance.cpus',
    ])
      await failsWith(place(change), /TypeError/);
    const { log } = await runner.run({
      source:
        'function placement(i) { log_info(i.x, i.__proto__.polluted, Object.getPrototypeOf(i) === Object.prototype); }',
      input: { ...input, args: ['{"__proto__": {"polluted": "own"}}'] },
    });
    assert.equal(log[0]?.text, 'undefined own true');
  });

  test('one call knows nothing of another', async () => {
    await run(`
      globalThis.leak = 1;
      Object.prototype.leak = 1;
      Array.prototype.map = () => ['leak'];
      JSON.parse = () => ({ name: 'leak' });
      String.prototype.toLowerCase = () => 'leak';
      globalThis.set_target = () => {};
      function placement() { set_project('first'); }
    `);
    const { choices, log } = await place(`
      log_info(typeof leak, typeof ({}).leak, [1].map((x) => x), instance.name, 'A'.toLowerCase());
      set_target('t');
    `);
    assert.equal(log[0]?.text, 'undefined undefined [1] web a');
    assert.deepEqual(choices, [{ kind: 'target', name: 't' }]);
  });

  test('what it changes of its language harms only itself', async () => {
    const { choices } = await place(`
      JSON.parse = JSON.stringify = Object.freeze = null;
      Object.prototype.error = { value: 1 };
      Object.prototype.kind = 'pool';
      set_target('t');
    `);
    assert.deepEqual(choices, [{ kind: 'target', name: 't' }]);
  });
});

suite('a program that does not end is ended', () => {
  const bombs: readonly (readonly [string, RegExp])[] = [
    ['for (;;) {}', /took longer than 200 ms/],
    ['try { for (;;) {} } catch { set_target("t"); } finally { for (;;) {} }', /took longer than 200 ms/],
    ['const f = () => f(); f();', /stack overflow/],
    ['const f = () => { try { f(); } catch { f(); } }; f();', /took longer|stack overflow|broke/],
    ['const all = []; for (;;) all.push(new Array(10000).fill(all.length));', /16 MiB|took longer/],
    ['const m = new Map(); for (;;) m.set(m.size, {});', /16 MiB|took longer/],
    ['let s = "x"; for (;;) s += s;', /16 MiB|took longer|string too long/],
    ['"x".repeat(2 ** 29)', /16 MiB|string|RangeError|invalid/],
    ['/^(a+)+$/.test("a".repeat(50) + "b")', /took longer than 200 ms/],
    ['const s = "a".repeat(2 ** 20), t = "a".repeat(2 ** 19) + "b"; for (;;) s.indexOf(t);', /took longer than 200 ms/],
    ['const a = []; a[4294967290] = 1; for (;;) a.indexOf(3);', /took longer than 200 ms/],
    ['Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 3)', /took longer than 200 ms/],
    ['new Array(2 ** 32 - 1).fill(0)', /16 MiB|took longer/],
    ['instance.toJSON = 1', /TypeError/],
    ['log_info({ toJSON() { for (;;) {} } })', /took longer than 200 ms/],
    ['const o = []; o.push(o); log_info(o)', /TypeError: circular/],
    [
      'let deep = []; for (let i = 0; i < 100000; i += 1) deep = [deep]; log_info(deep)',
      /stack overflow|16 MiB|took longer/,
    ],
    ['set_target("x".repeat(5000000))', /can't be the name of a target/],
    ['(2n ** 2000000n) ** 100n', /./],
    ['[].concat.apply([], new Array(1000000))', /./],
  ];
  for (const [body, message] of bombs)
    test(body, async () => {
      await failsWith(place(body), message);
      assert.deepEqual((await place("set_target('after')")).choices, [{ kind: 'target', name: 'after' }]);
    });

  test('a thread that broke is replaced', async () => {
    const broken = { ...input, args: 5 as never };
    await failsWith(runner.run({ source: 'function placement() {}', input: broken }), /it broke the interpreter: /);
    assert.deepEqual((await place("set_target('after')")).choices, [{ kind: 'target', name: 'after' }]);
  });

  test('those that wait for their turn have theirs', async () => {
    const results = await Promise.allSettled([
      place("set_target('a')"),
      place('Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 3)'),
      place("set_target('b')"),
      place('for (;;) {}'),
      place("set_target('c')"),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    );
  });
});
